#include "base/sha1.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK = 64, LENGTH_AT = 56, WORDS = 5 };

static uint32_t turn(uint32_t x, int n)
{
    return x << n | x >> (32 - n);
}

/* The sixteen words of a block, and the sixty-four that follow from them. */
static void expand(const unsigned char *block, uint32_t w[80])
{
    for (size_t i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
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

static void add_block(uint32_t state[WORDS], const unsigned char *block)
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
    const unsigned char *p = bytes;
    unsigned char last[2 * BLOCK] = {0};
    size_t rest = len % BLOCK, end = rest < LENGTH_AT ? BLOCK : 2 * BLOCK;
    for (size_t i = 0; i + BLOCK <= len; i += BLOCK)
        add_block(state, p + i);
    if (rest)
        memcpy(last, p + len - rest, rest);
    last[rest] = 0x80;
    for (size_t i = 0; i < 8; i++)
        last[end - 1 - i] = (unsigned char)((uint64_t)len * 8 >> 8 * i);
    for (size_t i = 0; i < end; i += BLOCK)
        add_block(state, last + i);
    for (size_t i = 0; i < WORDS; i++)
        (void)snprintf(ret_hex + 8 * i, 9, "%08x", state[i]);
}
