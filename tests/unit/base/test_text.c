#include "base/text/text.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_decode_boundaries(void **state)
{
    (void)state;
    static const struct {
        const char *s;
        size_t len;
        uint32_t c;
    } chars[] = {
        {"\0", 1, 0},
        {"\x7f", 1, 0x7f},
        {"\xc2\x80", 2, 0x80},
        {"\xdf\xbf", 2, 0x7ff},
        {"\xe0\xa0\x80", 3, 0x800},
        {"\xed\x9f\xbf", 3, 0xd7ff},
        {"\xee\x80\x80", 3, 0xe000},
        {"\xef\xbf\xbf", 3, 0xffff},
        {"\xf0\x90\x80\x80", 4, 0x10000},
        {"\xf4\x8f\xbf\xbf", 4, 0x10ffff},
    };
    for (size_t i = 0; i < ARRAY_LEN(chars); i++) {
        uint32_t c = 1;
        assert_int_equal(text_decode(chars[i].s, chars[i].len, &c), chars[i].len);
        assert_int_equal(c, chars[i].c);
        autobuf struct buf b = BUF_INIT;
        text_encode(&b, c);
        assert_int_equal(b.len, chars[i].len);
        assert_memory_equal(b.s, chars[i].s, b.len);
        for (size_t cut = 1; cut < chars[i].len; cut++)
            assert_int_equal(text_decode(chars[i].s, cut, &c), 0);
    }
}

static void test_decode_refuses(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "\x80",
        "\xbf",
        "\xc0\x80",
        "\xc1\xbf",
        "\xc2 ",
        "\xe0\x9f\xbf",
        "\xed\xa0\x80",
        "\xed\xbf\xbf",
        "\xe2\x82 ",
        "\xf0\x8f\xbf\xbf",
        "\xf0\x9f\x98",
        "\xf5\x80\x80\x80",
        "\xf4\x90\x80\x80",
        "\xf8\x88\x80\x80\x80",
        "\xfe",
        "\xff",
    };
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        uint32_t c = 42;
        assert_int_equal(text_decode(wrong[i], strlen(wrong[i]), &c), 0);
        assert_int_equal(c, 42);
    }
}

static void test_encode_replaces_what_is_no_character(void **state)
{
    (void)state;
    autobuf struct buf b = BUF_INIT;
    text_encode(&b, 0xd800);
    text_encode(&b, 0x110000);
    assert_string_equal(b.s, "\xef\xbf\xbd\xef\xbf\xbd");
}

static void test_every_character_comes_back(void **state)
{
    (void)state;
    for (uint32_t c = 0; c <= 0x10ffff; c += c < 0x900 ? 1 : 61) {
        if (c >= 0xd800 && c <= 0xdfff)
            continue;
        autobuf struct buf b = BUF_INIT;
        uint32_t back = ~c;
        text_encode(&b, c);
        assert_int_equal(text_decode(b.s, b.len, &back), b.len);
        assert_int_equal(back, c);
    }
}

static void test_valid(void **state)
{
    (void)state;
    assert_int_equal(text_valid("", 0), 0);
    assert_int_equal(text_valid("a\0\xc3\xa9", 4), 4);
    assert_int_equal(text_valid("ab\xff"
                                "c",
                                4),
                     2);
    assert_int_equal(text_valid("\xe2\x82\xac\xe2\x82", 5), 3);
    for (size_t bad = 0; bad < 20; bad++) {
        char text[] = "twenty bytes of text";
        assert_int_equal(text_valid(text, 20), 20);
        text[bad] = (char)0xff;
        assert_int_equal(text_valid(text, 20), bad);
    }
}

static void test_width(void **state)
{
    (void)state;
    static const struct {
        const char *s;
        size_t width;
    } texts[] = {
        {"", 0},
        {"plain", 5},
        {"\xc3\xa9", 1},                 /* e acute */
        {"e\xcc\x81", 1},                /* the same with a combining accent */
        {"\xe6\xbc\xa2\xe5\xad\x97", 4}, /* two Han characters */
        {"\xf0\x9f\x98\x80", 2},         /* a face */
        {"\xef\xbc\xa1", 2},             /* fullwidth A */
        {"\xef\xbd\xb1", 1},             /* halfwidth katakana */
        {"\xee\x80\x80", 1},             /* private use */
        {"a\xff\xfe", 3},                /* bytes that are no characters */
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_int_equal(text_width(texts[i].s, strlen(texts[i].s)), texts[i].width);
}

static void test_fit(void **state)
{
    (void)state;
    static const char s[] = "a\xe6\xbc\xa2"
                            "e\xcc\x81z"; /* widths 1, 2, 1, 0, 1 */
    static const size_t bytes[] = {0, 1, 1, 4, 7, 8, 8};
    for (size_t columns = 0; columns < ARRAY_LEN(bytes); columns++)
        assert_int_equal(text_fit(s, strlen(s), columns), bytes[columns]);
    assert_int_equal(text_fit("", 0, 0), 0);
}

static void test_harmless(void **state)
{
    (void)state;
    static const struct {
        const char *s, *shown;
    } texts[] = {
        {"", ""},
        {"plain \\ text", "plain \\ text"},
        {"a\nb\tc\rd\033[31m", "a\\nb\\tc\\rd\\e[31m"},
        {"\001\037\177", "\\x01\\x1F\\x7F"},
        {"\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0", "\\u{0080}\\u{009B}\\u{009F}\xc2\xa0"},
        {"\xc2\xad", "\\u{00AD}"},
        {"\xd8\x9c", "\\u{061C}"},
        {"\xe1\xa0\x8e", "\\u{180E}"},
        {"\xe2\x80\x8a\xe2\x80\x8b\xe2\x80\x8f\xe2\x80\x90",
         "\xe2\x80\x8a\\u{200B}\\u{200F}\xe2\x80\x90"},
        {"\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xae\xe2\x80\xaf",
         "\\u{2028}\\u{2029}\\u{202E}\xe2\x80\xaf"},
        {"\xe2\x81\xa0\xe2\x81\xa6\xe2\x81\xaf\xe2\x81\xb0",
         "\\u{2060}\\u{2066}\\u{206F}\xe2\x81\xb0"},
        {"\xef\xbb\xbfx", "\\u{FEFF}x"},
        {"\xef\xbf\xb9\xef\xbf\xbb\xef\xbf\xbc", "\\u{FFF9}\\u{FFFB}\xef\xbf\xbc"},
        {"\xf3\xa0\x80\x81\xf3\xa0\x81\xbf", "\\u{E0001}\\u{E007F}"},
        {"\xee\x80\x80\xf3\xa0\x82\x80", "\xee\x80\x80\xf3\xa0\x82\x80"},
        {"a\xff\xc3z\xed\xa0\x80", "a\\xFF\\xC3z\\xED\\xA0\\x80"},
        {"\xc3\xa9\xe6\xbc\xa2", "\xc3\xa9\xe6\xbc\xa2"},
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        autobuf struct buf b = BUF_INIT;
        text_harmless(&b, texts[i].s, strlen(texts[i].s));
        assert_string_equal(b.s, texts[i].shown);
    }
    autobuf struct buf b = BUF_INIT;
    text_harmless(&b, "a\0b", 3);
    assert_string_equal(b.s, "a\\x00b");
    buf_cut(&b, 0);
    text_harmless_tabs(&b, "\t\ta\033\tb\n", 7);
    assert_string_equal(b.s, "\t\ta\\e\tb\\n");
}

static void test_harmless_for_any_two_bytes(void **state)
{
    (void)state;
    for (unsigned n = 0; n < 65536; n++) {
        char bytes[2] = {(char)(n >> 8), (char)n};
        autobuf struct buf b = BUF_INIT;
        text_harmless(&b, bytes, 2);
        assert_int_equal(text_valid(b.s, b.len), b.len);
        for (size_t i = 0; i < b.len; i++)
            assert_true((unsigned char)b.s[i] >= 0x20 && b.s[i] != 0x7f);
    }
}

struct quantity {
    const char *s;
    int64_t n;
};

static void check_quantities(const struct quantity *list, size_t n,
                             int64_t (*parse)(const char *, size_t))
{
    for (size_t i = 0; i < n; i++) {
        int64_t value = parse(list[i].s, strlen(list[i].s));
        if (value != list[i].n)
            fail_msg("'%s' is read as %lld", list[i].s, (long long)value);
    }
}

static void test_parse_duration(void **state)
{
    (void)state;
    static const struct quantity list[] = {
        {"0", 0},
        {"90", 90000},
        {"90s", 90000},
        {"15m", 900000},
        {"2h", 7200000},
        {"1h30m", 5400000},
        {"500ms", 500},
        {"1.5h", 5400000},
        {"2d", 172800000},
        {"1d2h3m4s5ms", 93784005},
        {"1m500ms", 60500},
        {"0.001s", 1},
        {"1h0.5m", 3630000},
        {"1.500000000s", 1500},
        {"007s", 7000},
        {"9223372036854775", 9223372036854775000},
        {"9223372036854775807ms", INT64_MAX},
        /* and what is none */
        {"", -1},
        {"s", -1},
        {"-1s", -1},
        {"+1s", -1},
        {" 1s", -1},
        {"1s ", -1},
        {"1 s", -1},
        {"1.5", -1},
        {".5s", -1},
        {"1.s", -1},
        {"1.5h30m", -1},
        {"30m1h", -1},
        {"1h1h", -1},
        {"1h30", -1},
        {"5ms3s", -1},
        {"1S", -1},
        {"1w", -1},
        {"1sec", -1},
        {"1e3s", -1},
        {"0x10", -1},
        {"0.0005s", -1},
        {"0.5ms", -1},
        {"1.0000000000s", -1},
        {"1,5h", -1},
        {"9223372036854776", -1},
        {"9223372036854775808ms", -1},
        {"99999999999999999999", -1},
        {"106751991168d", -1},
        {"9223372036854775s808ms", -1},
    };
    check_quantities(list, ARRAY_LEN(list), text_parse_duration);
    assert_int_equal(text_parse_duration("5s", 1), 5000); /* no further than len */
    assert_int_equal(text_parse_duration("5\0s", 3), -1);
}

static void test_parse_count(void **state)
{
    (void)state;
    static const struct quantity list[] = {
        {"0", 0},
        {"200", 200},
        {"64k", 64000},
        {"64K", 64000},
        {"1.5M", 1500000},
        {"2G", 2000000000},
        {"64KiB", 65536},
        {"2GiB", 2147483648},
        {"1.5MiB", 1572864},
        {"0.0009765625KiB", -1},
        {"0.001k", 1},
        {"9223372036854775807", INT64_MAX},
        {"9223372036854775.807k", INT64_MAX},
        {"", -1},
        {"k", -1},
        {"1.5", -1},
        {"1.2345k", -1},
        {"-1", -1},
        {"1kB", -1},
        {"1kib", -1},
        {"1k1", -1},
        {"1m", -1},
        {"1T", -1},
        {"9223372036854775808", -1},
        {"9223372036854775.808k", -1},
        {"9223372037G", -1},
        {"8589934592GiB", -1},
    };
    check_quantities(list, ARRAY_LEN(list), text_parse_count);
}

static void check_format(void (*format)(struct buf *, int64_t), const struct quantity *list,
                         size_t n)
{
    for (size_t i = 0; i < n; i++) {
        autobuf struct buf b = BUF_INIT;
        format(&b, list[i].n);
        assert_string_equal(b.s, list[i].s);
    }
}

static void test_format_duration(void **state)
{
    (void)state;
    static const struct quantity list[] = {
        {"0ms", 0},
        {"999ms", 999},
        {"1s", 1000},
        {"1s", 1099},
        {"3.2s", 3299},
        {"59.9s", 59999},
        {"1m", 60000},
        {"1m 30s", 90999},
        {"59m 59s", 3599999},
        {"1h", 3600000},
        {"1h 5m", 3900000},
        {"23h 59m", 86399999},
        {"1d", 86400000},
        {"2d 3h", 183600000},
        {"-1m 30s", -90000},
        {"106751991167d 7h", INT64_MAX},
        {"-106751991167d 7h", INT64_MIN},
    };
    check_format(text_format_duration, list, ARRAY_LEN(list));
}

static void test_format_count_and_bytes(void **state)
{
    (void)state;
    static const struct quantity counts[] = {
        {"0", 0},          {"950", 950},        {"999", 999},
        {"1.0k", 1000},    {"12.3k", 12399},    {"999.9k", 999999},
        {"4.0M", 4000000}, {"9.2E", INT64_MAX}, {"-9.2E", INT64_MIN},
        {"-1.5k", -1500},
    };
    static const struct quantity bytes[] = {
        {"0 B", 0},           {"950 B", 950},         {"1023 B", 1023},
        {"1.0 KiB", 1024},    {"12.3 KiB", 12600},    {"1023.9 KiB", 1048575},
        {"1.0 MiB", 1048576}, {"7.9 EiB", INT64_MAX}, {"-8.0 EiB", INT64_MIN},
    };
    check_format(text_format_count, counts, ARRAY_LEN(counts));
    check_format(text_format_bytes, bytes, ARRAY_LEN(bytes));
}

static void test_nearest(void **state)
{
    (void)state;
    static const char *const words[] = {"tasks", "timeout", "retry", "retries", "id", "Env"};
    static const struct {
        const char *word, *meant;
    } cases[] = {
        {"task", "tasks"},   {"TASKS", "tasks"},    {"timeuot", "timeout"},
        {"retrys", "retry"}, {"retris", "retries"}, {"ids", "id"},
        {"env", "Env"},      {"i", "id"},           {"xyz", NULL},
        {"", NULL},          {"tme", NULL},         {"t_i_m_eout", "timeout"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *found = text_nearest(cases[i].word, words, ARRAY_LEN(words));
        if (!found || !cases[i].meant)
            assert_ptr_equal(found, cases[i].meant);
        else
            assert_string_equal(found, cases[i].meant);
    }
    static const char *const equals[] = {"bat", "cat"};
    assert_ptr_equal(text_nearest("rat", equals, 2), equals[0]);
    assert_null(text_nearest("rat", equals, 0));
    char word[66] = "";
    memset(word, 'x', sizeof(word) - 1);
    const char *const itself[] = {word};
    assert_null(text_nearest(word, itself, 1)); /* such a long word is never close */
    word[64] = '\0';
    assert_ptr_equal(text_nearest(word, itself, 1), word);
}

static void test_natural(void **state)
{
    (void)state;
    static const char *const sorted[] = {
        "",    "0",    "01", "1",   "2",   "10", "a",
        "a-2", "a-10", "a2", "a2b", "a10", "b",  "99999999999999999999999"};
    for (size_t i = 0; i < 13; i++) {
        for (size_t j = 0; j < 13; j++) {
            int order = text_natural(sorted[i], sorted[j]);
            bool right = i < j ? order < 0 : i > j ? order > 0 : order == 0;
            if (!right)
                fail_msg("'%s' and '%s': %d", sorted[i], sorted[j], order);
        }
    }
    assert_true(text_natural("99999999999999999999998", sorted[13]) < 0);
    assert_true(text_natural("thread-2", "thread-10") < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decode_boundaries),
        cmocka_unit_test(test_decode_refuses),
        cmocka_unit_test(test_encode_replaces_what_is_no_character),
        cmocka_unit_test(test_every_character_comes_back),
        cmocka_unit_test(test_valid),
        cmocka_unit_test(test_width),
        cmocka_unit_test(test_fit),
        cmocka_unit_test(test_harmless),
        cmocka_unit_test(test_harmless_for_any_two_bytes),
        cmocka_unit_test(test_parse_duration),
        cmocka_unit_test(test_parse_count),
        cmocka_unit_test(test_format_duration),
        cmocka_unit_test(test_format_count_and_bytes),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_natural),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
