/*
 * Colours. We use them on a terminal that is not dumb, unless NO_COLOR is set; --color decides
 * otherwise.
 */
#ifndef CLI_FRAME_COLOR_H
#define CLI_FRAME_COLOR_H

#include <stdbool.h>
#include <stdio.h>

enum color_when { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

enum color {
    COLOR_NONE,
    COLOR_BOLD,
    COLOR_DIM,
    COLOR_RED,
    COLOR_GREEN,
    COLOR_YELLOW,
    COLOR_COUNT_
};

void color_set(enum color_when when);
bool color_wanted(FILE *stream);

/* Returns the escape sequence that switches to a colour (COLOR_NONE: to normal), or "" if we use no
 * colours. */
const char *color_on(FILE *stream, enum color color);

#endif
