/*
 * The output of an agent in readable form: its messages, its actions, its errors. Output of
 * engines without a structured format is shown unchanged.
 */
#ifndef VIEW_TRANSCRIPT_H
#define VIEW_TRANSCRIPT_H

#include "agent/output/dialect.h"
#include "project/secrets.h"

/* The output format of an engine, by its name in the store; NULL: plain text. */
const struct dialect *transcript_dialect(const char *engine);

struct transcript {
    struct agent_report report;
    struct dialect_reader reader;
    struct buf *out; /* receives the current line */
    struct buf line; /* the incomplete line so far */
    bool skips;      /* leave out the current line */
    struct secrets secrets;
};

/* Do not move it afterwards. */
void transcript_init(struct transcript *t, const struct dialect *dialect);
void transcript_done(struct transcript *t);

/* From now on masks the secrets of the run with this folder. */
void transcript_mask(struct transcript *t, const char *run_dir);

/* Appends the readable form of one line of the output: whole harmless lines, or nothing. */
void transcript_line(struct transcript *t, const char *line, size_t len, struct buf *out);

/* The same for a piece of the output, cut anywhere. A line of more than a mebibyte is shown in
 * pieces, so that memory stays bounded. */
void transcript_feed(struct transcript *t, const char *bytes, size_t n, struct buf *out);

/* The same for a last line without a line end. */
void transcript_end(struct transcript *t, struct buf *out);

/* The next bytes are the rest of a line: leave it out. */
void transcript_skip(struct transcript *t);

#endif
