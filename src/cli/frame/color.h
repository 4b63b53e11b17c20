/*
 * Colour, where it is wanted: a terminal that is not dumb, no NO_COLOR, or --color=always.
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

/* The escape sequence that switches to a colour (COLOR_NONE: back), or "" where none is wanted. */
const char *color_on(FILE *stream, enum color color);

#endif
