/*
 * struct text_pos: a cursor in a text that only moves forward and knows its line and column. Lines
 * end with LF; columns count UTF-8 characters. Walking a whole text takes one pass.
 */
#ifndef BASE_NODE_TEXT_POS_H
#define BASE_NODE_TEXT_POS_H

#include "base/node/node.h"

struct text_pos {
    const char *text;
    size_t len, offset;
    struct pos pos; /* of the character at offset */
};

/* Moves to offset, but not beyond the end of the text. Does not move back: if offset is before the
 * cursor, the cursor stays. Returns the new position. */
struct pos text_pos_seek(struct text_pos *c, size_t offset);

#endif
