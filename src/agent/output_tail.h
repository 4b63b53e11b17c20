/*
 * struct output_tail: reads an agent's output, a file that grows, as far as it is written.
 */
#ifndef AGENT_OUTPUT_TAIL_H
#define AGENT_OUTPUT_TAIL_H

#include "agent/output/dialect.h"

struct output_tail {
    int fd; /* -1: there is nothing to read */
    struct dialect_reader reader;
};

/* Reads nothing if the file does not exist or `dialect` is NULL. Do not move the tail after this
 * call. */
void output_tail_open(struct output_tail *tail, const char *path, const struct dialect *dialect,
                      struct agent_report *report);
/* Reads the next piece; false if there is none yet. */
bool output_tail_more(struct output_tail *tail);
/* Call this when the output has ended: reads the rest. */
void output_tail_end(struct output_tail *tail);
/* Does nothing if the struct is all zero. */
void output_tail_close(struct output_tail *tail);

/* Reads an agent's standard error line by line. Cuts lines longer than AGENT_LINE_MAX. */
enum { AGENT_LINE_MAX = 4096 };
struct agent_errors {
    int fd; /* -1: we do not read it */
    enum agent_engine engine;
    struct agent_report *report;
    struct buf line; /* so far */
};

/* Opens nothing if we understand nothing of the engine's standard error. */
void agent_errors_open(struct agent_errors *errors, const char *path, enum agent_engine engine,
                       struct agent_report *report);
/* Reads what was written since the last call; at most a megabyte, as an agent can write faster than
 * we read. */
void agent_errors_read(struct agent_errors *errors);
/* Call this when the agent has ended: reads the rest. */
void agent_errors_end(struct agent_errors *errors);
/* Does nothing if the struct is all zero. */
void agent_errors_close(struct agent_errors *errors);

#endif
