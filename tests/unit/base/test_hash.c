#include "base/text/hash.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* So many times the letter a; the lengths are those around the ends of blocks. */
static const struct {
    size_t len;
    const char *sha1, *sha256;
} cases[] = {
    {0, "da39a3ee5e6b4b0d3255bfef95601890afd80709",
     "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {1, "86f7e437faa5a7fce15d1ddcb9eaeaea377667b8",
     "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"},
    {55, "c1c8bbdc22796e28c0e15163d20899b65621d65a",
     "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"},
    {64, "0098ba824b5c16427bd7a1122a5a442a25ec644d",
     "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"},
    {1000, "291e9a6c66994949b57ba5e650361e98fc36b1ba",
     "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3"},
};

static void hash_parts(size_t digits, const char *bytes, size_t len, size_t part, char *ret_hex)
{
    struct hash h;
    hash_init(&h, digits);
    for (size_t i = 0; i < len; i += part)
        hash_add(&h, bytes + i, len - i < part ? len - i : part);
    hash_end_hex(&h, ret_hex);
}

static void hashes_are_the_known_ones(void **state)
{
    (void)state;
    char bytes[1000], hex[HASH_SHA256_DIGITS + 1];
    memset(bytes, 'a', sizeof(bytes));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        for (size_t part = 1; part <= sizeof(bytes); part *= 10) {
            hash_parts(HASH_SHA1_DIGITS, bytes, cases[i].len, part, hex);
            assert_string_equal(hex, cases[i].sha1);
            hash_parts(HASH_SHA256_DIGITS, bytes, cases[i].len, part, hex);
            assert_string_equal(hex, cases[i].sha256);
        }
        sha256_hex(bytes, cases[i].len, hex);
        assert_string_equal(hex, cases[i].sha256);
    }
}

static void bytes_are_those_of_the_digits(void **state)
{
    (void)state;
    unsigned char bytes[HASH_SHA256_DIGITS / 2];
    struct hash h;
    hash_init(&h, HASH_SHA1_DIGITS);
    hash_add(&h, "abc", 3);
    hash_end(&h, bytes);
    assert_memory_equal(bytes, "\xa9\x99\x3e\x36\x47\x06\x81\x6a\xba\x3e", 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes_are_the_known_ones),
        cmocka_unit_test(bytes_are_those_of_the_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
