#include "agent/reset_time.h"
#include "base/mem.h"
#include "base/text/timestamp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static int64_t at(const char *iso)
{
    int64_t ms;
    if (timestamp_parse(iso, &ms))
        fail_msg("%s", iso);
    return ms;
}

static void use_zone(const char *zone)
{
    assert_int_equal(setenv("TZ", zone, 1), 0);
    tzset();
}

struct sample {
    const char *text, *reset; /* NULL: it is not said */
};

static void check(const char *now, const struct sample *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int64_t got = reset_time(cases[i].text, at(now));
        int64_t want = cases[i].reset ? at(cases[i].reset) : 0;
        autobuf struct buf shown = BUF_INIT;
        timestamp_format(&shown, got);
        if (got != want)
            fail_msg("'%s' is %s", cases[i].text, shown.s);
    }
}
#define CHECK(now, cases) check(now, cases, ARRAY_LEN(cases))

static void test_forms(void **state)
{
    (void)state;
    static const struct sample cases[] = {
        {"Claude AI usage limit reached|1717171717", "2024-05-31T16:08:37Z"},
        {"Claude AI usage limit reached|1717171717000", "2024-05-31T16:08:37Z"},
        {"{\"resets_at\":1717171717}", "2024-05-31T16:08:37Z"},
        {"You've hit your limit \xc2\xb7 resets 3pm (Europe/Berlin)", "2024-05-31T13:00:00Z"},
        {"resets at 14:30", "2024-05-31T14:30:00Z"},
        {"Your limit resets 3:15 PM", "2024-05-31T15:15:00Z"},
        {"resets 12am (UTC)", "2024-06-01T00:00:00Z"},
        {"resets 12pm (UTC)", "2024-05-31T12:00:00Z"},
        {"resets Jun 3, 9am (UTC)", "2024-06-03T09:00:00Z"},
        {"resets Jun 3 at 9am (Asia/Tokyo)", "2024-06-03T00:00:00Z"},
        {"resets June 3", "2024-06-03T00:00:00Z"},
        {"Try again at Jun 3rd, 2024 9:41 PM.", "2024-06-03T21:41:00Z"},
        {"Retry-After: Mon, 03 Jun 2024 07:28:00 GMT", "2024-06-03T07:28:00Z"},
        {"Please try again in 20s", "2024-05-31T10:00:20Z"},
        {"Please try again in 1m30s.", "2024-05-31T10:01:30Z"},
        {"try again in 6m0.12s", "2024-05-31T10:06:00.120Z"},
        {"try again in 850ms", "2024-05-31T10:00:00.850Z"},
        {"Try again in 3 hours.", "2024-05-31T13:00:00Z"},
        {"try again in 2 days 3 hours 5 minutes", "2024-06-02T13:05:00Z"},
        {"try again in 1 hour and 5 minutes", "2024-05-31T11:05:00Z"},
        {"retry after 30 seconds", "2024-05-31T10:00:30Z"},
        {"retry-after: 30", "2024-05-31T10:00:30Z"},
        {"Please retry in 36.5s", "2024-05-31T10:00:36.500Z"},
        {"429, wait 2 min", "2024-05-31T10:02:00Z"},
        {"limit reached until 2024-05-31T12:00:00Z", "2024-05-31T12:00:00Z"},
        {"limit reached until 2024-05-31T12:00:00.250+02:00", "2024-05-31T10:00:00Z"},
        {"resets 2024-05-31 12:00 (America/New_York)", "2024-05-31T16:00:00Z"},
        {"resets 2024-06-01T12:00:00-0530", "2024-06-01T17:30:00Z"},
    };
    use_zone("UTC");
    CHECK("2024-05-31T10:00:00Z", cases);
}

static void test_not_said(void **state)
{
    (void)state;
    static const struct sample cases[] = {
        {"", NULL},
        {"usage limit reached", NULL},
        {"rate limit", NULL},
        {"2024-05-31T09:59:58Z ERROR rate limit", NULL}, /* when it was said */
        {"request 1717171717 failed", NULL},
        {"retry limit reached after trying 5 times", NULL},
        {"gave up, no more retry after 5 attempts", NULL},
        {"resets 25:00", NULL},
        {"resets 13pm", NULL},
        {"resets 14:75", NULL},
        {"resets 3", NULL},
        {"resets Smarch 3", NULL},
        {"resets Jun 32", NULL},
        {"resets 2024-13-01T00:00:00Z", NULL},
        {"try again in a while", NULL},
        {"try again in 99999999 weeks", NULL},
        {"usage limit reached|1234567890", NULL}, /* years ago */
        {"usage limit reached|99999999999999999999", NULL},
        {"reset", NULL},
        {"|", NULL},
        {"try again in", NULL},
        {"presets 3pm", NULL},
    };
    use_zone("UTC");
    CHECK("2024-05-31T10:00:00Z", cases);
}

static void test_what_has_passed(void **state)
{
    (void)state;
    static const struct sample cases[] = {
        {"resets 9am", "2024-06-01T09:00:00Z"},
        {"resets 9am (Asia/Tokyo)", "2024-06-01T00:00:00Z"},
        {"resets 10:00", "2024-05-31T10:00:00Z"}, /* seconds ago: it is over, not tomorrow's */
        {"resets 9:58", "2024-06-01T09:58:00Z"},
        {"resets May 31, 9am", "2024-05-31T09:00:00Z"}, /* a date is what it is */
    };
    static const struct sample turn_of_year[] = {
        {"resets Jan 2, 9am", "2025-01-02T09:00:00Z"},
        {"resets 1am", "2025-01-01T01:00:00Z"},
    };
    use_zone("UTC");
    CHECK("2024-05-31T10:00:30Z", cases);
    CHECK("2024-12-31T22:00:00Z", turn_of_year);
}

/* The time of day counts on the clocks there, also where they are put forward or back until then.
 */
static void test_summer_time(void **state)
{
    (void)state;
    static const struct sample spring[] = {
        {"resets 3am (Europe/Berlin)", "2024-03-31T01:00:00Z"},
        {"resets 9pm (Europe/Berlin)", "2024-03-31T19:00:00Z"},
        {"resets Apr 1, 9am (Europe/Berlin)", "2024-04-01T07:00:00Z"},
    };
    static const struct sample autumn[] = {
        {"resets 9am (America/New_York)", "2024-11-03T14:00:00Z"},
        {"resets 9am (PST)", "2024-11-03T17:00:00Z"},
    };
    use_zone("UTC");
    CHECK("2024-03-30T21:00:00Z", spring); /* 22:00 in Berlin */
    CHECK("2024-11-02T20:00:00Z", autumn);
}

static void test_our_own_zone(void **state)
{
    (void)state;
    static const struct sample cases[] = {
        {"resets 3pm", "2024-05-31T19:00:00Z"},
        {"resets 3pm (UTC)", "2024-05-31T15:00:00Z"},
        {"resets 3pm (Nowhere/Atlantis)", "2024-05-31T19:00:00Z"},
        {"resets 3pm (../../etc/passwd)", "2024-05-31T19:00:00Z"},
        {"resets 3pm (/etc/localtime)", "2024-05-31T19:00:00Z"},
    };
    use_zone("America/New_York");
    CHECK("2024-05-31T10:00:00Z", cases);
    assert_string_equal(getenv("TZ"), "America/New_York");
    assert_int_equal(unsetenv("TZ"), 0);
    (void)reset_time("resets 3pm (Europe/Berlin)", at("2024-05-31T10:00:00Z"));
    assert_null(getenv("TZ"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),           cmocka_unit_test(test_not_said),
        cmocka_unit_test(test_what_has_passed), cmocka_unit_test(test_summer_time),
        cmocka_unit_test(test_our_own_zone),
    };
    return cmocka_run_group_tests_name("reset_time", tests, NULL, NULL);
}
