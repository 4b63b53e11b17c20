/*
 * struct redraw: a text that is shown again in place on a terminal each time that it has changed.
 * It makes the escape sequences; writing them is the caller's. The cursor rests below the text, so
 * a program that is killed leaves a terminal that is as good as before.
 */
#ifndef VIEW_REDRAW_H
#define VIEW_REDRAW_H

#include "base/buf.h"

#include <stddef.h>

struct redraw {
    struct buf painted; /* what is on the screen */
    size_t columns;     /* of the screen, then */
};

#define REDRAW_INIT                                                                                \
    {                                                                                              \
        .painted = BUF_INIT                                                                        \
    }
void redraw_done(struct redraw *r);
#define autoredraw own_cleanup(redraw_done)

/* Appends what brings a screen of that size up to date, or nothing where it is. The text is
 * harmless and ends with a newline; lines are cut to the screen's width, and those that it has no
 * rows for are counted. */
void redraw_paint(struct redraw *r, const char *text, size_t columns, size_t rows, struct buf *out);

/* Appends the lines of a text that another one has not, however many blanks are in them: what is
 * new, for who has no screen. */
void redraw_news(const char *before, const char *now, struct buf *out);

#endif
