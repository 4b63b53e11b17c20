/*
 * struct canvas: lines of styled text, none wider than the screen. The screens write to it;
 * ncurses or a test reads it. It escapes control characters.
 */
#ifndef VIEW_DASHBOARD_CANVAS_H
#define VIEW_DASHBOARD_CANVAS_H

#include "base/buf.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>

enum style {
    STYLE_PLAIN,
    STYLE_DIM,
    STYLE_BOLD,
    STYLE_GOOD, /* success */
    STYLE_BAD,  /* failure */
    STYLE_WARN, /* needs attention */
    STYLE_BUSY, /* running */
    STYLE_COUNT_,
};

struct canvas_span {
    size_t at; /* start of the span, as a byte of the text */
    enum style style;
};

struct canvas_line {
    struct buf text;
    VEC(struct canvas_span) spans;
    bool marked; /* highlight the whole line up to the screen's edge */
};

struct canvas {
    size_t columns;
    VEC(struct canvas_line) lines;
};

void canvas_init(struct canvas *c, size_t columns);
void canvas_done(struct canvas *c);
#define autocanvas own_cleanup(canvas_done)

/* Starts a plain line; all that follows goes there. */
void canvas_line(struct canvas *c);
void canvas_mark(struct canvas *c); /* marks the current line */
void canvas_style(struct canvas *c, enum style style);

/* Text beyond the edge is cut. */
void canvas_add(struct canvas *c, const char *s);
void canvas_addf(struct canvas *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void canvas_text(struct canvas *c, enum style style, const char *s);

/* Pads with blanks up to that column. */
void canvas_to(struct canvas *c, size_t column);

/* A field of that width and a blank; a longer text ends with a tilde. */
void canvas_field(struct canvas *c, const char *s, size_t width);
void canvas_right(struct canvas *c, const char *s, size_t width); /* right-aligned */

size_t canvas_width(const struct canvas *c); /* of the current line */

#endif
