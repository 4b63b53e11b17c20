#include "base/mem.h"
#include "base/text/glob.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct glob *must(const char *pattern, bool fold)
{
    struct glob *g = glob_new(pattern, fold);
    if (!g)
        fail_msg("'%s' was refused", pattern);
    return g;
}

static void test_match(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *path;
        bool matches;
    } cases[] = {
        {"", "a", true},
        {"", "a/.b/c", true},
        {"src", "src", true},
        {"src", "src/a/b", true},
        {"src", "src2", false},
        {"src", "lib/src", false},
        {"src/", "src/a", true},
        {"src/", "src", false},
        {"*", "a", true},
        {"*", ".hidden", true},
        {"*", "a/b", false},
        {"*.c", ".c", true},
        {"a?c", "abc", true},
        {"a?c", "a/c", false},
        {"a?c", "ac", false},
        {"**", "a/b/c", true},
        {"**/x", "x", true},
        {"**/x", "a/b/x", true},
        {"**/x", "ax", false},
        {"**/x", "x/a", false},
        {"a/**", "a/b/c", true},
        {"a/**", "a", false},
        {"a/**/b", "a/b", true},
        {"a/**/b", "a/x/y/b", true},
        {"a/**/b", "a/xb", false},
        {"a/**b", "a/xb", true},
        {"a/**b", "a/x/b", false},
        {"?**/b", "ax/b", true},
        {"?**/b", "a/x/b", false},
        {"a**/b", "ab", true}, /* as git has it behind a part without wildcards */
        {"a**/b", "ax/y/b", true},
        {"a**", "ab/c", true},
        {"**a", "x/a", false},
        {"**\\/x", "x", false},
        {"**\\/x", "a/b/x", true},
        {"**/**/x", "x", true},
        {"[a-c]x", "bx", true},
        {"[c-a]", "c", true}, /* the range is empty, its first byte is not */
        {"[c-a]", "b", false},
        {"[!a-c]x", "bx", false},
        {"[^a-c]x", "dx", true},
        {"a[!b]c", "a/c", false},
        {"[]-]", "]", true},
        {"[]-]", "-", true},
        {"[!]]", "]", false},
        {"[a\\]]", "]", true},
        {"[[:digit:]_]", "7", true},
        {"[[:digit:]_]", "a", false},
        {"[[:]", ":", true},
        {"\\*", "*", true},
        {"\\*", "a", false},
        {"\\a\\b", "ab", true},
        {"\xc3?", "\xc3\xa9", true},
        {"*/page", "*/page", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct glob *g = must(cases[i].pattern, false);
        if (glob_match(g, cases[i].path) != cases[i].matches)
            fail_msg("'%s' and '%s'", cases[i].pattern, cases[i].path);
        glob_free(g);
    }
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "[",   "[]", "[a",     "a[!]",  "[[:alpha:]", "[[:nope:]]", "[[::]]", "\\",
        "a\\", "/",  "/a",     "a//b",  "*//",        "./a",        "a/../b", "..",
        ".",   "*/", "[.][.]", "a/./*", "[/]",        "[a\\",
    };
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        if (glob_new(wrong[i], false))
            fail_msg("'%s' was taken", wrong[i]);
    }
    glob_free(NULL);
}

static void test_length(void **state)
{
    (void)state;
    char pattern[4098];
    memset(pattern, 'a', sizeof(pattern));
    pattern[4097] = '\0';
    assert_null(glob_new(pattern, false));
    pattern[4096] = '\0';
    struct glob *g = must(pattern, false);
    assert_true(glob_match(g, pattern));
    glob_free(g);
}

static void test_fold(void **state)
{
    (void)state;
    struct glob *g = must("SRC/[A-B]*.\\C", true), *strict = must("src/[!a]", true);
    assert_true(glob_match(g, "src/Ax.c"));
    assert_true(glob_match(g, "sRc/b.C"));
    assert_false(glob_match(g, "src/c.c"));
    assert_false(glob_match(strict, "src/A"));
    assert_string_equal(glob_prefix(g), "src/");
    struct glob *plain = must("Src/b.c", false);
    assert_true(glob_overlap(g, plain, NULL));
    assert_false(glob_covers(plain, g));
    glob_free(g);
    glob_free(strict);
    glob_free(plain);
}

static void test_prefix(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", ""},     {"src/a.c", "src/a.c"}, {"src/*.c", "src/"},
        {"**/x", ""}, {"a\\b*", "a"},         {"a[b]", "a"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct glob *g = must(cases[i][0], false);
        assert_string_equal(glob_prefix(g), cases[i][1]);
        glob_free(g);
    }
}

static void test_overlap(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b, *example; /* NULL: none */
    } cases[] = {
        {"src/auth/**", "**/*.c", "src/auth/.c"},
        {"src/auth/**", "src/core/**", NULL},
        {"src", "src/auth", "src/auth"},
        {"src/", "src", "src/a"},
        {"src", "srcs", NULL},
        {"a/b/", "a", "a/b/a"},
        {"a/b", "a/bc", NULL},
        {"", "", "a"},
        {"", "**", "a"},
        {"*.md", "**/*.c", NULL},
        {"*.c", "a*", "a.c"},
        {"?", "[!a-z]", "A"},
        {"?", "[!a-zA-Z]", "0"},
        {"?", "[!a-zA-Z0-9]", "!"},
        {"?", "[!-~]", "a"},
        {"?", "[\t]", "\t"},
        {"??", ".*", ".a"},
        {"???", "[.][.][.]", "..."},
        {"a*b", "a?c", NULL},
        {"**/a/**", "**/b/**", "b/a/a"},
        {"*/*", "**/x", "a/x"},
        {"a/**/b/**/c", "**/d/*", "a/b/d/c"},
        {"**/test_*", "src/**/*.py", "src/test_.py"},
        {"**/file1.c", "**/file2.c", NULL},
        {"**/file1.c", "**/1.c", NULL},
        {"**/*1.c", "**/file[0-9].c", "file1.c"},
        {"**/x/a", "**/a", "x/a"},
        {"x/**/a", "**/xa", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct glob *a = must(cases[i].a, false), *b = must(cases[i].b, false);
        autobuf struct buf example = BUF_INIT;
        assert_int_equal(glob_overlap(a, b, &example), cases[i].example != NULL);
        assert_string_equal(example.s, cases[i].example ? cases[i].example : "");
        assert_int_equal(glob_overlap(b, a, NULL), cases[i].example != NULL);
        glob_free(a);
        glob_free(b);
    }
}

static void test_example_is_appended(void **state)
{
    (void)state;
    struct glob *a = must("*.c", false), *b = must("x*", false);
    autobuf struct buf out = BUF_INIT;
    buf_addstr(&out, "such as ");
    assert_true(glob_overlap(a, b, &out));
    assert_string_equal(out.s, "such as x.c");
    glob_free(a);
    glob_free(b);
}

static void test_covers(void **state)
{
    (void)state;
    static const struct {
        const char *outer, *inner;
        bool covers;
    } cases[] = {
        {"", "**", true},
        {"**", "", true},
        {"src", "src/**", true},
        {"src/**", "src", false},
        {"src/", "src/**", true},
        {"src/**", "src/", true},
        {"src/**", "src/auth/*.c", true},
        {"**/*.c", "src/auth/*.c", true},
        {"src/auth/*.c", "**/*.c", false},
        {"*", "?", true},
        {"?", "*", false},
        {"?*", "*", true}, /* no path is empty */
        {"**/*", "**", true},
        {"[a-c]", "[ab]", true},
        {"[ab]", "[a-c]", false},
        {"*a*", "*b*a*", true},
        {"*a*", "*b*", false},
        {"**/b/**", "a/b/**", true},
        {"*.c", "a", false},
        {"[!.]*", "?", true}, /* "." is no path */
        {"[!.]*", "??", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct glob *outer = must(cases[i].outer, false), *inner = must(cases[i].inner, false);
        if (glob_covers(outer, inner) != cases[i].covers)
            fail_msg("'%s' and '%s'", cases[i].outer, cases[i].inner);
        glob_free(outer);
        glob_free(inner);
    }
}

/* Patterns made to be slow: the answers must come, and be right. */
static void test_longest_patterns(void **state)
{
    (void)state;
    char stars[1025], marks[1025];
    for (size_t i = 0; i < 1024; i += 2) {
        memcpy(stars + i, "*a", 2);
        memcpy(marks + i, "?*", 2);
    }
    stars[1024] = marks[1024] = '\0';
    struct glob *a = must(stars, false), *b = must(marks, false);
    autobuf struct buf example = BUF_INIT;
    assert_true(glob_overlap(a, b, &example));
    assert_int_equal(example.len, 512);
    assert_true(glob_match(a, example.s));
    assert_true(glob_match(b, example.s));
    assert_false(glob_covers(a, b));
    autofree char *path = mem_array(20001, 1);
    memset(path, 'a', 20000);
    path[19999] = 'b';
    assert_false(glob_match(a, path));
    path[19999] = 'a';
    assert_true(glob_match(a, path));
    glob_free(a);
    glob_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_match),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_length),
        cmocka_unit_test(test_fold),
        cmocka_unit_test(test_prefix),
        cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_example_is_appended),
        cmocka_unit_test(test_covers),
        cmocka_unit_test(test_longest_patterns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
