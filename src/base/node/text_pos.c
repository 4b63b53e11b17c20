#include "base/node/text_pos.h"

#include <string.h>

struct pos text_pos_seek(struct text_pos *c, size_t offset)
{
    if (offset > c->len)
        offset = c->len;
    while (c->offset < offset) {
        const char *lf = memchr(c->text + c->offset, '\n', offset - c->offset);
        if (!lf)
            break;
        c->offset = (size_t)(lf - c->text) + 1;
        c->pos.line++;
        c->pos.col = 1;
    }
    for (; c->offset < offset; c->offset++)
        c->pos.col += ((unsigned char)c->text[c->offset] & 0xc0) != 0x80;
    return c->pos;
}
