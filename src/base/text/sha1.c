#include "base/text/sha1.h"

#include "base/text/sha.h"
#include "base/text/sha1_fast.h"

#include <string.h>

enum { WORDS = 5 };

static uint32_t turn(uint32_t x, int n)
{
    return x << n | x >> (32 - n);
}

/* The word of a round: one of the block's sixteen, or what follows from the last sixteen. */
static inline uint32_t word(uint32_t w[16], size_t round)
{
    uint32_t *at = &w[round % 16];
    if (round >= 16)
        *at = turn(w[(round + 13) % 16] ^ w[(round + 8) % 16] ^ w[(round + 2) % 16] ^ *at, 1);
    return *at;
}

/* What a round makes of three of the words; it changes every twenty rounds. */
static inline uint32_t mix(int twenty, uint32_t b, uint32_t c, uint32_t d)
{
    switch (twenty) {
    case 0:
        return (d ^ (b & (c ^ d))) + 0x5a827999;
    case 1:
        return (b ^ c ^ d) + 0x6ed9eba1;
    case 2:
        return ((b & c) | (d & (b | c))) + 0x8f1bbcdc;
    default:
        return (b ^ c ^ d) + 0xca62c1d6;
    }
}

static inline void step(int twenty, uint32_t a, uint32_t *b, uint32_t c, uint32_t d, uint32_t *e,
                        uint32_t word)
{
    *e += turn(a, 5) + mix(twenty, *b, c, d) + word;
    *b = turn(*b, 30);
}

/* Twenty rounds, five at a time: after so many each word is back in its place, and none need be
 * moved. Whole indexes of large repositories come through here. */
static inline void add_twenty(int twenty, uint32_t s[WORDS], uint32_t w[16])
{
    uint32_t a = s[0], b = s[1], c = s[2], d = s[3], e = s[4];
    size_t begin = (size_t)twenty * 20;
    for (size_t i = begin; i < begin + 20; i += 5) {
        step(twenty, a, &b, c, d, &e, word(w, i));
        step(twenty, e, &a, b, c, &d, word(w, i + 1));
        step(twenty, d, &e, a, b, &c, word(w, i + 2));
        step(twenty, c, &d, e, a, &b, word(w, i + 3));
        step(twenty, b, &c, d, e, &a, word(w, i + 4));
    }
    s[0] = a, s[1] = b, s[2] = c, s[3] = d, s[4] = e;
}

static void add_block(uint32_t *state, const unsigned char *block)
{
    uint32_t w[16], s[WORDS];
    sha_words(block, w);
    memcpy(s, state, sizeof(s));
    for (int twenty = 0; twenty < 4; twenty++)
        add_twenty(twenty, s, w);
    for (size_t i = 0; i < WORDS; i++)
        state[i] += s[i];
}

static void hex_by(sha_add_fn *add, const void *bytes, size_t len, char ret_hex[41])
{
    uint32_t state[WORDS] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    sha_blocks(state, add, bytes, len);
    sha_hex(state, WORDS, ret_hex);
}

void sha1_hex(const void *bytes, size_t len, char ret_hex[41])
{
    hex_by(sha1_fast_there() ? sha1_fast_add : add_block, bytes, len, ret_hex);
}

void sha1_hex_plain(const void *bytes, size_t len, char ret_hex[41])
{
    hex_by(add_block, bytes, len, ret_hex);
}
