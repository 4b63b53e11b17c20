#include "run/secrets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void collect(struct secrets *s, struct env_var *vars, size_t n)
{
    struct task task = {.env = {.v = vars, .n = n}};
    struct plan plan = {.tasks = &task, .task_count = 1};
    *s = (struct secrets){0};
    secrets_collect(s, &plan);
}

static void assert_masked(const struct secrets *s, const char *text, const char *expected)
{
    autobuf struct buf out = BUF_INIT;
    secrets_mask(s, text, strlen(text), &out);
    assert_string_equal(out.s, expected);
}

static void test_mask(void **state)
{
    struct env_var vars[] = {{.name = "A", .value = "abcd", .secret = true},
                             {.name = "B", .value = "abcdefgh", .secret = true},
                             {.name = "C", .value = "shown"},
                             {.name = "D", .value = "abc", .secret = true},
                             {.name = "E", .value = "two\nlines \"quoted\"", .secret = true},
                             {.name = "F", .from = "UNSET_IN_THIS_TEST", .secret = true}};
    struct secrets s;
    (void)state;
    collect(&s, vars, 6);
    assert_masked(&s, "", "");
    assert_masked(&s, "abcd", "[MASKED]");
    assert_masked(&s, "xabcdefghabcdx", "x[MASKED][MASKED]x");
    assert_masked(&s, "abcdefg", "[MASKED]efg");
    assert_masked(&s, "abcxshown", "abcxshown");
    assert_masked(&s, "<two\nlines \"quoted\">", "<[MASKED]>");
    assert_masked(&s, "{\"k\":\"two\\nlines \\\"quoted\\\"\"}", "{\"k\":\"[MASKED]\"}");
    secrets_done(&s);
}

static void test_known_variables(void **state)
{
    struct secrets s;
    (void)state;
    assert_int_equal(setenv("GITHUB_TOKEN", "ghp_made-up", 1), 0);
    assert_int_equal(setenv("OPENAI_API_KEY", "", 1), 0);
    collect(&s, NULL, 0);
    assert_masked(&s, "token ghp_made-up.", "token [MASKED].");
    secrets_done(&s);
    assert_int_equal(unsetenv("GITHUB_TOKEN"), 0);
    assert_int_equal(unsetenv("OPENAI_API_KEY"), 0);
}

/* Text that comes in two pieces, cut anywhere, is masked as if it came in one. */
static void test_parts(void **state)
{
    static const char text[] = "..abcdefgh.abcd.abcdefg.abcdabcdefgh";
    struct env_var vars[] = {{.name = "A", .value = "abcd", .secret = true},
                             {.name = "B", .value = "abcdefgh", .secret = true}};
    struct secrets s;
    (void)state;
    collect(&s, vars, 2);
    for (size_t cut = 0; cut <= strlen(text); cut++) {
        autobuf struct buf out = BUF_INIT;
        size_t done = secrets_mask_part(&s, text, cut, &out);
        assert_true(done <= cut);
        secrets_mask(&s, text + done, strlen(text) - done, &out);
        assert_string_equal(out.s, "..[MASKED].[MASKED].[MASKED]efg.[MASKED][MASKED]");
    }
    secrets_done(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mask),
        cmocka_unit_test(test_known_variables),
        cmocka_unit_test(test_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
