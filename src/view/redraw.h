/*
 * struct redraw: a text that is redrawn in place on a terminal when it changes. It makes the
 * escape sequences; the caller writes them. The cursor stays below the text, so a killed program
 * leaves the terminal usable.
 */
#ifndef VIEW_REDRAW_H
#define VIEW_REDRAW_H

#include "base/buf.h"

#include <stddef.h>

struct redraw {
    struct buf painted; /* the text on the screen */
    size_t columns;     /* the width of the screen at that time */
};

#define REDRAW_INIT                                                                                \
    {                                                                                              \
        .painted = BUF_INIT                                                                        \
    }
void redraw_done(struct redraw *r);
#define autoredraw own_cleanup(redraw_done)

/* Appends the sequences that update a screen of that size, or nothing if it is up to date. The
 * text must be harmless and end with a newline. Lines are cut to the screen's width; if rows are
 * missing, the last line gives the number of lines left out. */
void redraw_paint(struct redraw *r, const char *text, size_t columns, size_t rows, struct buf *out);

/* Moves to the start of a painted text, clears the screen from there, and empties the text. */
void redraw_erase(struct buf *painted, size_t columns, size_t rows, struct buf *out);

/* For output without a terminal: appends the lines of `now` that `before` does not contain;
 * ignores the number of blanks. */
void redraw_news(const char *before, const char *now, struct buf *out);

#endif
