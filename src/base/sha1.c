#include "base/sha1.h"

#include "base/sha.h"

#include <string.h>

enum { WORDS = 5 };

static uint32_t turn(uint32_t x, int n)
{
    return x << n | x >> (32 - n);
}

/* The sixteen words of a block, and the sixty-four that follow from them. */
static void expand(const unsigned char *block, uint32_t w[80])
{
    sha_words(block, w);
    for (size_t i = 16; i < 80; i++)
        w[i] = turn(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
}

/* What a round makes of three of the words; it changes every twenty rounds. */
static uint32_t mix(size_t round, uint32_t b, uint32_t c, uint32_t d)
{
    switch (round / 20) {
    case 0:
        return ((b & c) | (~b & d)) + 0x5a827999;
    case 1:
        return (b ^ c ^ d) + 0x6ed9eba1;
    case 2:
        return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
    default:
        return (b ^ c ^ d) + 0xca62c1d6;
    }
}

static void add_block(uint32_t *state, const unsigned char *block)
{
    uint32_t w[80], s[WORDS];
    expand(block, w);
    memcpy(s, state, sizeof(s));
    for (size_t i = 0; i < 80; i++) {
        uint32_t next = turn(s[0], 5) + mix(i, s[1], s[2], s[3]) + s[4] + w[i];
        s[4] = s[3];
        s[3] = s[2];
        s[2] = turn(s[1], 30);
        s[1] = s[0];
        s[0] = next;
    }
    for (size_t i = 0; i < WORDS; i++)
        state[i] += s[i];
}

void sha1_hex(const void *bytes, size_t len, char ret_hex[41])
{
    uint32_t state[WORDS] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    sha_blocks(state, add_block, bytes, len);
    sha_hex(state, WORDS, ret_hex);
}
