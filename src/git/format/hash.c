#include "git/format/hash.h"

#include "base/text/hash.h"

static int parse_digit(char c)
{
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

void git_hash_pack(struct buf *out, const char *id)
{
    for (; *id; id += 2)
        buf_addch(out, (char)(parse_digit(id[0]) << 4 | parse_digit(id[1])));
}

void git_hash_add(struct buf *out, const void *bytes, size_t len, size_t digits)
{
    unsigned char id[HASH_SHA256_DIGITS / 2];
    struct hash h;
    hash_init(&h, digits);
    hash_add(&h, bytes, len);
    hash_end(&h, id);
    buf_add(out, id, digits / 2);
}
