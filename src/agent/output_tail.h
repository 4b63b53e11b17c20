/*
 * struct output_tail: an agent's output, a file that grows, read as far as it has come.
 */
#ifndef AGENT_OUTPUT_TAIL_H
#define AGENT_OUTPUT_TAIL_H

#include "agent/output/dialect.h"

struct output_tail {
    int fd; /* -1: there is nothing to read */
    struct dialect_reader reader;
};

/* A file that is not there, or says nothing that is understood (dialect NULL), is not read. The
 * tail must not be moved from then on. */
void output_tail_open(struct output_tail *tail, const char *path, const struct dialect *dialect,
                      struct agent_report *report);
/* Takes the next piece; false where there is none yet. */
bool output_tail_more(struct output_tail *tail);
/* The output has ended: all of it is read. */
void output_tail_end(struct output_tail *tail);
/* Also for one that was never opened and is all zero. */
void output_tail_close(struct output_tail *tail);

/* What it writes to its standard error, line by line. Lines longer than AGENT_LINE_MAX are cut. */
enum { AGENT_LINE_MAX = 4096 };
struct agent_errors {
    int fd; /* -1: nobody wants to know */
    enum engine engine;
    struct agent_report *report;
    struct buf line; /* so far */
};

/* Not opened where the engine says nothing there that we understand. */
void agent_errors_open(struct agent_errors *errors, const char *path, enum engine engine,
                       struct agent_report *report);
/* Takes what has come since. */
void agent_errors_read(struct agent_errors *errors);
/* Also for one that was never opened and is all zero. */
void agent_errors_close(struct agent_errors *errors);

#endif
