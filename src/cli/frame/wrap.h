/*
 * struct wrap: text laid out in lines that are not wider than wanted, without trailing spaces.
 *
 *     struct wrap w = {.out = &b, .width = 80, .indent = 20, .column = 12};
 */
#ifndef CLI_FRAME_WRAP_H
#define CLI_FRAME_WRAP_H

#include "base/buf.h"

#include <stddef.h>

struct wrap {
    struct buf *out;
    size_t width;  /* columns of a line, of which one word may take more */
    size_t indent; /* where lines begin */
    size_t column; /* where the next word may begin: what the caller has written on this line */
};

/* Adds one word, which may hold spaces, with a space or a new line before it. */
void wrap_word(struct wrap *w, const char *s, size_t len);

/* Adds the words of a text. Empty lines in it separate paragraphs, all other white space is alike.
 */
void wrap_text(struct wrap *w, const char *text);

/* Ends the line. */
void wrap_end(struct wrap *w);

#endif
