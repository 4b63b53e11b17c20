#include "view/redraw.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void assert_paint(struct redraw *r, const char *text, size_t columns, size_t rows,
                         const char *expected)
{
    autobuf struct buf out = BUF_INIT;
    redraw_paint(r, text, columns, rows, &out);
    assert_string_equal(out.s, expected);
}

static void paints_in_place_what_has_changed(void **state)
{
    autoredraw struct redraw r = REDRAW_INIT;
    (void)state;
    assert_paint(&r, "one\ntwo\n", 80, 24, "one\ntwo\n");
    assert_paint(&r, "one\ntwo\n", 80, 24, "");
    assert_paint(&r, "one\n", 80, 24, "\033[2A\r\033[Jone\n");
}

static void cuts_lines_and_counts_what_has_no_row(void **state)
{
    autoredraw struct redraw r = REDRAW_INIT;
    (void)state;
    assert_paint(&r, "abcdefghij\n", 6, 24, "abcde\n");
    assert_paint(&r, "a\nb\nc\nd\n", 40, 3, "\033[1A\r\033[Ja\n... and 3 more lines\n");
}

/* A wide row has become two rows. */
static void knows_what_a_narrower_screen_did(void **state)
{
    autoredraw struct redraw r = REDRAW_INIT;
    (void)state;
    assert_paint(&r, "abcdefgh\n", 20, 24, "abcdefgh\n");
    assert_paint(&r, "abcdefgh\n", 6, 24, "\033[2A\r\033[Jabcde\n");
}

static void news_are_lines_that_were_not_there(void **state)
{
    autobuf struct buf out = BUF_INIT;
    (void)state;
    redraw_news("a  1\nb  2\n\n", "a    1\nb    3\n\nc\n", &out);
    assert_string_equal(out.s, "b    3\nc\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paints_in_place_what_has_changed),
        cmocka_unit_test(cuts_lines_and_counts_what_has_no_row),
        cmocka_unit_test(knows_what_a_narrower_screen_did),
        cmocka_unit_test(news_are_lines_that_were_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
