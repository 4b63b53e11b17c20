#include "data/cursor.h"

struct pos cursor_seek(struct cursor *c, size_t offset)
{
    if (offset > c->len)
        offset = c->len;
    for (; c->offset < offset; c->offset++) {
        unsigned char byte = (unsigned char)c->text[c->offset];
        if (byte == '\n') {
            c->pos.line++;
            c->pos.col = 1;
        } else if ((byte & 0xc0) != 0x80) {
            c->pos.col++;
        }
    }
    return c->pos;
}
