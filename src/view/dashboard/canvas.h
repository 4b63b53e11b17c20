/*
 * struct canvas: lines of text with their looks, none wider than the screen. What makes a screen
 * writes on it; what shows it (ncurses, a test) reads it. Text is made harmless as it is written.
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
    STYLE_GOOD, /* what went well */
    STYLE_BAD,  /* what did not */
    STYLE_WARN, /* what a person may want to know */
    STYLE_BUSY, /* what is under way */
    STYLE_COUNT_,
};

struct canvas_span {
    size_t at; /* byte of the line's text from where on it counts */
    enum style style;
};

struct canvas_line {
    struct buf text;
    VEC(struct canvas_span) spans;
    bool marked; /* all of it, up to the screen's edge */
};

struct canvas {
    size_t columns;
    VEC(struct canvas_line) lines;
};

void canvas_init(struct canvas *c, size_t columns);
void canvas_done(struct canvas *c);
#define autocanvas own_cleanup(canvas_done)

/* Begins a line, plain; all that follows goes there. */
void canvas_line(struct canvas *c);
void canvas_mark(struct canvas *c); /* the line that was begun last */
void canvas_style(struct canvas *c, enum style style);

/* What does not fit on the line is left out. */
void canvas_add(struct canvas *c, const char *s);
void canvas_addf(struct canvas *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void canvas_text(struct canvas *c, enum style style, const char *s);

/* Blanks up to that column; nothing where the line is there already. */
void canvas_to(struct canvas *c, size_t column);

/* A field of that width, with a blank behind it; what is too long ends with a tilde. */
void canvas_field(struct canvas *c, const char *s, size_t width);
void canvas_right(struct canvas *c, const char *s, size_t width); /* at its right edge */

size_t canvas_width(const struct canvas *c); /* of the line that was begun last */

#endif
