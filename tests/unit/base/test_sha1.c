#include "base/text/sha1.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_standard_vector(void **state)
{
    (void)state;
    char hex[41];
    sha1_hex("abc", 3, hex);
    assert_string_equal(hex, "a9993e364706816aba3e25717850c26c9cd0d89d");
}

/* Lengths around the places where the padding takes another block. */
static void test_padding(void **state)
{
    (void)state;
    static const struct {
        size_t len;
        const char *hex;
    } cases[] = {
        {0, "da39a3ee5e6b4b0d3255bfef95601890afd80709"},
        {1, "86f7e437faa5a7fce15d1ddcb9eaeaea377667b8"},
        {55, "c1c8bbdc22796e28c0e15163d20899b65621d65a"},
        {56, "c2db330f6083854c99d4b5bfb6e8f29f201be699"},
        {63, "03f09f5b158a7a8cdad920bddc29b81c18a551f5"},
        {64, "0098ba824b5c16427bd7a1122a5a442a25ec644d"},
        {65, "11655326c708d70319be2610e8a57d9a5b959d3b"},
        {119, "ee971065aaa017e0632a8ca6c77bb3bf8b1dfc56"},
        {120, "f34c1488385346a55709ba056ddd08280dd4c6d6"},
        {1000, "291e9a6c66994949b57ba5e650361e98fc36b1ba"},
    };
    char bytes[1000], hex[41];
    memset(bytes, 'a', sizeof(bytes));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sha1_hex(bytes, cases[i].len, hex);
        assert_string_equal(hex, cases[i].hex);
    }
}

/* Every way of computing it gives the same, of bytes of all kinds and at any place in memory. */
static void test_ways(void **state)
{
    (void)state;
    unsigned char bytes[5000];
    char hex[41], plain[41];
    uint32_t x = 1;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)((x = x * 1664525 + 1013904223) >> 24);
    for (size_t i = 0; i < 300; i++) {
        size_t len = i < 200 ? i : i * 16;
        sha1_hex(bytes + i % 17, len, hex);
        sha1_hex_plain(bytes + i % 17, len, plain);
        assert_string_equal(hex, plain);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_standard_vector),
        cmocka_unit_test(test_padding),
        cmocka_unit_test(test_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
