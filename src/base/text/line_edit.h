/*
 * struct line_edit: one change of a text: it removes lines and inserts others in their place. A
 * diff of two texts without context lines is a list of them, sorted by `at`.
 */
#ifndef BASE_TEXT_LINE_EDIT_H
#define BASE_TEXT_LINE_EDIT_H

#include <stddef.h>

struct line {
    const char *s; /* without the newline */
    size_t len;
};

struct lines {
    const struct line *v;
    size_t n;
};

struct line_edit {
    size_t at; /* number of lines of the old text before the edit */
    struct lines removed, inserted;
};

#endif
