/*
 * What an agent printed, as a person would read it: its words, what it did, what went wrong. Lines
 * of engines that speak plain text are shown as they are.
 */
#ifndef RUN_TRANSCRIPT_H
#define RUN_TRANSCRIPT_H

#include "run/dialect.h"
#include "run/secrets.h"

/* What an engine, by its name in the store, prints on its standard output; NULL: plain text. */
const struct dialect *transcript_dialect(const char *engine);

struct transcript {
    struct agent_report report;
    struct dialect_reader reader;
    struct buf *out; /* of the line that is read */
    struct secrets secrets;
};

/* It must not be moved from then on. */
void transcript_init(struct transcript *t, const struct dialect *dialect);
void transcript_done(struct transcript *t);

/* From now on what is secret in the run whose folder that is does not show. */
void transcript_mask(struct transcript *t, const char *run_dir);

/* Appends what a line of the output comes to, which may be nothing: whole lines, each harmless. */
void transcript_line(struct transcript *t, const char *line, size_t len, struct buf *out);

#endif
