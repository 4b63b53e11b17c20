#include "base/text/sha.h"

#include <string.h>

enum { BLOCK = 64, LENGTH_AT = 56 };

void sha_blocks(uint32_t *state, sha_add_fn *add, const void *bytes, size_t len)
{
    const unsigned char *p = bytes;
    unsigned char last[2 * BLOCK] = {0};
    size_t rest = len % BLOCK, end = rest < LENGTH_AT ? BLOCK : 2 * BLOCK;
    for (size_t i = 0; i + BLOCK <= len; i += BLOCK)
        add(state, p + i);
    if (rest)
        memcpy(last, p + len - rest, rest);
    last[rest] = 0x80;
    for (size_t i = 0; i < 8; i++)
        last[end - 1 - i] = (unsigned char)((uint64_t)len * 8 >> 8 * i);
    for (size_t i = 0; i < end; i += BLOCK)
        add(state, last + i);
}

void sha_words(const unsigned char *block, uint32_t *ret_words)
{
    for (size_t i = 0; i < 16; i++)
        ret_words[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
                       (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
}

void sha_hex(const uint32_t *state, size_t words, char *ret_hex)
{
    for (size_t i = 0; i < 8 * words; i++)
        ret_hex[i] = "0123456789abcdef"[state[i / 8] >> (28 - 4 * (i % 8)) & 15];
    ret_hex[8 * words] = '\0';
}
