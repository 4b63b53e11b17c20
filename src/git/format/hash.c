#include "git/format/hash.h"

#include "base/text/sha1.h"
#include "base/text/sha256.h"

static void hash(const void *bytes, size_t len, size_t digits, char ret_hex[GIT_HASH_MAX + 1])
{
    if (digits == GIT_HASH_SHA1)
        sha1_hex(bytes, len, ret_hex);
    else
        sha256_hex(bytes, len, ret_hex);
}

static int digit(char c)
{
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

void git_hash_pack(struct buf *out, const char *id)
{
    for (; *id; id += 2)
        buf_addch(out, (char)(digit(id[0]) << 4 | digit(id[1])));
}

void git_hash_add(struct buf *out, const void *bytes, size_t len, size_t digits)
{
    char hex[GIT_HASH_MAX + 1];
    hash(bytes, len, digits, hex);
    git_hash_pack(out, hex);
}

void git_hash_hex(struct buf *out, const void *bytes, size_t len, size_t digits)
{
    char hex[GIT_HASH_MAX + 1];
    hash(bytes, len, digits, hex);
    buf_addstr(out, hex);
}
