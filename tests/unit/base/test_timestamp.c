#include "base/mem.h"
#include "base/text/timestamp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static const struct {
    int64_t ms;
    const char *text;
} times[] = {
    {0, "1970-01-01T00:00:00.000Z"},
    {1, "1970-01-01T00:00:00.001Z"},
    {-1, "1969-12-31T23:59:59.999Z"},
    {-1000, "1969-12-31T23:59:59.000Z"},
    {951782400000, "2000-02-29T00:00:00.000Z"},
    {1772366400123, "2026-03-01T12:00:00.123Z"},
    {253402300799999, "9999-12-31T23:59:59.999Z"},
    {-62167219200000, "0000-01-01T00:00:00.000Z"},
};

static void test_format(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(times); i++) {
        autobuf struct buf b = BUF_INIT;
        timestamp_format(&b, times[i].ms);
        assert_string_equal(b.s, times[i].text);
    }
}

static void test_format_extremes(void **state)
{
    (void)state;
    autobuf struct buf b = BUF_INIT;
    timestamp_format(&b, INT64_MAX);
    assert_string_equal(b.s, "292278994-08-17T07:12:55.807Z");
    buf_cut(&b, 0);
    timestamp_format(&b, INT64_MIN);
    assert_string_equal(b.s, "-292275055-05-16T16:47:04.192Z");
}

static void test_parse(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(times); i++) {
        int64_t ms = 42;
        assert_int_equal(timestamp_parse(times[i].text, &ms), 0);
        assert_int_equal(ms, times[i].ms);
    }
}

static void test_parse_fraction(void **state)
{
    (void)state;
    int64_t ms;
    assert_int_equal(timestamp_parse("1970-01-01T00:00:02Z", &ms), 0);
    assert_int_equal(ms, 2000);
    assert_int_equal(timestamp_parse("1970-01-01T00:00:02.5Z", &ms), 0);
    assert_int_equal(ms, 2500);
    assert_int_equal(timestamp_parse("1970-01-01T00:00:02.123456789Z", &ms), 0);
    assert_int_equal(ms, 2123);
}

static void test_parse_refuses(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        "2026",
        "2026-03-01",
        "2026-03-01T12:00:00",
        "2026-03-01 12:00:00Z",
        "2026-03-01T12:00:00.Z",
        "2026-03-01T12:00:00.1234567890Z",
        "2026-03-01T12:00:00Z ",
        " 2026-03-01T12:00:00Z",
        "2026-03-01T12:00:00+00:00",
        "2026-3-01T12:00:00Z",
        "+026-03-01T12:00:00Z",
        "2026-00-01T12:00:00Z",
        "2026-13-01T12:00:00Z",
        "2026-02-29T12:00:00Z",
        "1900-02-29T12:00:00Z",
        "2026-04-31T12:00:00Z",
        "2026-04-00T12:00:00Z",
        "2026-03-01T24:00:00Z",
        "2026-03-01T12:60:00Z",
        "2016-12-31T23:59:60Z",
        "2026-03-01T12:00:-1Z",
    };
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        int64_t ms = 42;
        if (timestamp_parse(wrong[i], &ms) != -1)
            fail_msg("'%s' was read", wrong[i]);
        assert_int_equal(ms, 42);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_format),        cmocka_unit_test(test_format_extremes),
        cmocka_unit_test(test_parse),         cmocka_unit_test(test_parse_fraction),
        cmocka_unit_test(test_parse_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
