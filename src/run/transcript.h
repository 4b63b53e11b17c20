/*
 * What an agent printed, as a person would read it: its words, what it did, what went wrong. Lines
 * of engines that speak plain text are shown as they are.
 */
#ifndef RUN_TRANSCRIPT_H
#define RUN_TRANSCRIPT_H

#include "base/buf.h"
#include "core/plan.h"

struct transcript {
    enum engine engine;
    struct buf last; /* words that were shown last: a result may only say them again */
};
#define TRANSCRIPT_INIT(e)                                                                         \
    {                                                                                              \
        .engine = (e), .last = BUF_INIT                                                            \
    }
void transcript_done(struct transcript *t);

/* Appends what a line of the output comes to, which may be nothing: whole lines, each harmless. */
void transcript_line(struct transcript *t, const char *line, size_t len, struct buf *out);

#endif
