/*
 * struct text_pos: a place in a text that only moves forward, and knows its line and column. Lines
 * end in LF; columns count characters of UTF-8. Walking a whole text costs one pass over it.
 */
#ifndef BASE_NODE_TEXT_POS_H
#define BASE_NODE_TEXT_POS_H

#include "base/node/node.h"

struct text_pos {
    const char *text;
    size_t len, offset;
    struct pos pos; /* of the character at offset */
};

/* Moves to offset, or to the end of the text where that is nearer; an offset behind the cursor
 * leaves it where it is. Returns the position there. */
struct pos text_pos_seek(struct text_pos *c, size_t offset);

#endif
