/*
 * struct wrap: breaks text into lines of a given width, without trailing spaces.
 *
 *     struct wrap w = {.out = &b, .width = 80, .indent = 20, .column = 12};
 */
#ifndef CLI_FRAME_WRAP_H
#define CLI_FRAME_WRAP_H

#include "base/buf.h"

#include <stddef.h>

struct wrap {
    struct buf *out;
    size_t width;  /* columns of a line; a single longer word may exceed it */
    size_t indent; /* the first column of each line */
    size_t column; /* the columns that the caller has already written on this line */
};

/* Adds one word, which may contain spaces, after a space or on a new line. */
void wrap_word(struct wrap *w, const char *s, size_t len);

/* Adds the words of a text. Empty lines separate paragraphs. */
void wrap_text(struct wrap *w, const char *text);

/* Ends the line. */
void wrap_end(struct wrap *w);

#endif
