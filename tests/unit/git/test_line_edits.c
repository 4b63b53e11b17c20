/* Reads git's diff of two trees as edits of lines. */
#include "git/tree/line_edits.h"

#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

/* A string literal with NULs. */
#define TEXT(s) s, sizeof(s) - 1

/* Writes the edits of a file as "AT removed lines|inserted lines;". */
static const char *describe(const struct line_edits *edits, const char *path)
{
    static char out[256];
    struct file_edits file = line_edits_of(edits, path);
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < file.n; i++) {
        const struct lines *sides[] = {&file.v[i].removed, &file.v[i].inserted};
        used += (size_t)snprintf(out + used, sizeof(out) - used, "%zu ", file.v[i].at);
        for (size_t side = 0; side < 2; side++) {
            for (size_t k = 0; k < sides[side]->n; k++)
                used += (size_t)snprintf(out + used, sizeof(out) - used, "%s%s", k ? " " : "",
                                         sides[side]->v[k].s);
            used += (size_t)snprintf(out + used, sizeof(out) - used, side ? ";" : "|");
        }
    }
    return out;
}

static void the_output_of_git_is_parsed(void **state)
{
    static const struct {
        const char *what, *text;
        size_t len;
        const char *expected;
    } cases[] = {
        {"no difference", TEXT(""), ""},
        {"a changed line",
         TEXT(":1 1 a b M\0f\0\0diff --git a/f b/f\nindex a..b\n--- a/f\n+++ b/f\n"
              "@@ -2 +2 @@ one\n-two\n+TWO\n"),
         "1 two|TWO;"},
        {"added and removed lines",
         TEXT(":1 1 a b M\0f\0\0diff --git a/f b/f\n--- a/f\n+++ b/f\n"
              "@@ -0,0 +1,2 @@\n+a\n+b\n@@ -7,2 +8,0 @@ x\n-c\n-d\n"),
         "0 |a b;6 c d|;"},
        {"lines that look like headers",
         TEXT(":1 1 a b M\0f\0\0diff --git a/f b/f\n--- a/f\n+++ b/f\n"
              "@@ -1,2 +1 @@\n--- a/f\n-@@ -1 +1 @@\n+diff --git a/f b/f\n"),
         "0 -- a/f @@ -1 +1 @@|diff --git a/f b/f;"},
        {"no newline at the end",
         TEXT(":1 1 a b M\0f\0\0diff --git a/f b/f\n--- a/f\n+++ b/f\n"
              "@@ -3 +3,2 @@\n-x\n\\ No newline at end of file\n+y\n+z\n\\ No newline at end of "
              "file"),
         "2 x|y z;"},
        {"only the mode",
         TEXT(":1 2 a a M\0f\0\0diff --git a/f b/f\nold mode 100644\nnew mode 100755\n"), ""},
        {"another file before it",
         TEXT(":1 1 a b M\0e\0:1 1 a b M\0f\0\0diff --git a/e b/e\n@@ -1 +1 @@\n-1\n+2\n"
              "diff --git a/f b/f\n@@ -5 +5 @@\n-3\n+4\n"),
         "4 3|4;"},
        {"a symlink that became a file before it",
         TEXT(":120000 100644 a b T\0e\0:1 1 a b M\0f\0\0diff --git a/e b/e\n@@ -1 +0,0 @@\n-1\n"
              "diff --git a/e b/e\n@@ -0,0 +1 @@\n+2\ndiff --git a/f b/f\n@@ -5 +5 @@\n-3\n+4\n"),
         "4 3|4;"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct line_edits edits = LINE_EDITS_INIT;
        struct err err = {0};
        if (line_edits_parse(cases[i].text, cases[i].len, &edits, &err))
            fail_msg("%s: %s", cases[i].what, err.msg);
        if (strcmp(describe(&edits, "f"), cases[i].expected) != 0)
            fail_msg("%s: %s", cases[i].what, describe(&edits, "f"));
        assert_int_equal(line_edits_of(&edits, "g").n, 0);
        line_edits_done(&edits);
    }
}

static void what_is_cut_off_is_an_error(void **state)
{
    static const char *const patches[] = {
        "",
        "diff --git a/f b/f\n@@ -1 +1,2 @@\n-1\n+2\n",
        "diff --git a/f b/f\n@@ -1,3 +1 @@\n-1\n+2\n",
        "diff --git a/f b/f\n@@ -x +1 @@\n",
        "diff --git a/f b/f\n@@ -1 1 @@\n",
        "diff --git a/f b/f\n@@ -1, +1 @@\n",
        "other\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(patches) / sizeof(patches[0]); i++) {
        struct line_edits edits = LINE_EDITS_INIT;
        struct err err = {0};
        char text[256];
        int head = snprintf(text, sizeof(text), ":1 1 a b M%cf%c%c%s", 0, 0, 0, patches[i]);
        if (!line_edits_parse(text, (size_t)head, &edits, &err))
            fail_msg("'%s' was read", patches[i]);
        assert_non_null(strstr(err.msg, "git diff-tree printed"));
        line_edits_done(&edits);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_output_of_git_is_parsed),
        cmocka_unit_test(what_is_cut_off_is_an_error),
    };
    return cmocka_run_group_tests_name("line_edits", tests, NULL, NULL);
}
