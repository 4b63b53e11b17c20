/*
 * What an agent printed, as a person would read it: its words, what it did, what went wrong. Lines
 * of engines that speak plain text are shown as they are.
 */
#ifndef VIEW_TRANSCRIPT_H
#define VIEW_TRANSCRIPT_H

#include "agent/output/dialect.h"
#include "project/secrets.h"

/* What an engine, by its name in the store, prints on its standard output; NULL: plain text. */
const struct dialect *transcript_dialect(const char *engine);

struct transcript {
    struct agent_report report;
    struct dialect_reader reader;
    struct buf *out; /* of the line that is read */
    struct buf line; /* what was fed of one that goes on */
    bool skips;      /* that one is left out */
    struct secrets secrets;
};

/* It must not be moved from then on. */
void transcript_init(struct transcript *t, const struct dialect *dialect);
void transcript_done(struct transcript *t);

/* From now on what is secret in the run whose folder that is does not show. */
void transcript_mask(struct transcript *t, const char *run_dir);

/* Appends what a line of the output comes to, which may be nothing: whole lines, each harmless. */
void transcript_line(struct transcript *t, const char *line, size_t len, struct buf *out);

/* The same for the lines that end in these bytes, which may be cut anywhere. A line of more than a
 * mebibyte is shown in pieces: memory is bounded, whatever an agent prints. */
void transcript_feed(struct transcript *t, const char *bytes, size_t n, struct buf *out);

/* The same for the last line, where nothing follows that would end it. */
void transcript_end(struct transcript *t, struct buf *out);

/* What is fed next is the rest of a line that is not to be shown. */
void transcript_skip(struct transcript *t);

#endif
