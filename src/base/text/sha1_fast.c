#include "base/text/sha1_fast.h"

#include <stdlib.h>

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>
#include <stdatomic.h>

enum { UNKNOWN, NO, YES };
enum { SSSE3 = 1 << 9, SSE41 = 1 << 19, SHA = 1 << 29 }; /* bits that say what there is */

static bool ask(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & SSSE3) || !(c & SSE41))
        return false;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & SHA;
}

/* In a virtual machine to ask takes as long as to hash some kilobytes. */
bool sha1_fast_there(void)
{
    static atomic_int known;
    int there = atomic_load_explicit(&known, memory_order_relaxed);
    if (there == UNKNOWN) {
        there = ask() ? YES : NO;
        atomic_store_explicit(&known, there, memory_order_relaxed);
    }
    return there == YES;
}

#define FAST __attribute__((target("sha,ssse3,sse4.1")))

/* Four rounds; what is done in one changes every twenty, and is part of the instruction. */
FAST static inline __m128i four_rounds(__m128i abcd, __m128i e, int twenty)
{
    switch (twenty) {
    case 0:
        return _mm_sha1rnds4_epu32(abcd, e, 0);
    case 1:
        return _mm_sha1rnds4_epu32(abcd, e, 1);
    case 2:
        return _mm_sha1rnds4_epu32(abcd, e, 2);
    default:
        return _mm_sha1rnds4_epu32(abcd, e, 3);
    }
}

/* The words of the next four rounds: of the block, or what follows from the last sixteen. The first
 * of them is the highest part. */
FAST static inline __m128i four_words(__m128i w[4], int four, const unsigned char *block)
{
    const __m128i turned = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    __m128i *at = &w[four % 4];
    if (four < 4)
        *at = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)block + four), turned);
    else
        *at = _mm_sha1msg2_epu32(
            _mm_xor_si128(_mm_sha1msg1_epu32(*at, w[(four + 1) % 4]), w[(four + 2) % 4]),
            w[(four + 3) % 4]);
    return *at;
}

FAST void sha1_fast_add(uint32_t *state, const unsigned char *block)
{
    __m128i w[4];
    const __m128i e = _mm_set_epi32((int)state[4], 0, 0, 0);
    const __m128i abcd = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)state), 0x1b);
    __m128i before = abcd, now = four_rounds(abcd, _mm_add_epi32(e, four_words(w, 0, block)), 0);
#pragma GCC unroll 20
    for (int four = 1; four < 20; four++) {
        __m128i next = _mm_sha1nexte_epu32(before, four_words(w, four, block));
        before = now;
        now = four_rounds(now, next, four / 5);
    }
    state[4] = (uint32_t)_mm_extract_epi32(_mm_sha1nexte_epu32(before, e), 3);
    _mm_storeu_si128((__m128i *)state, _mm_shuffle_epi32(_mm_add_epi32(now, abcd), 0x1b));
}

#else

bool sha1_fast_there(void)
{
    return false;
}

void sha1_fast_add(uint32_t *state, const unsigned char *block)
{
    (void)state, (void)block;
    abort();
}

#endif
