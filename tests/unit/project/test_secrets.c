#include "project/secrets.h"

#include "base/node/node_build.h"
#include "doc/doc.h"

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
    assert_int_equal(setenv("GEMINI_API_KEY", "none", 1), 0);
    collect(&s, NULL, 0);
    assert_masked(&s, "token ghp_made-up.", "token [MASKED].");
    assert_masked(&s, "none of it", "none of it");
    secrets_done(&s);
    assert_int_equal(unsetenv("GITHUB_TOKEN"), 0);
    assert_int_equal(unsetenv("OPENAI_API_KEY"), 0);
    assert_int_equal(unsetenv("GEMINI_API_KEY"), 0);
}

static void test_overlaps(void **state)
{
    struct env_var vars[] = {{.name = "A", .value = "abcdef", .secret = true},
                             {.name = "B", .value = "defghi", .secret = true},
                             {.name = "C", .value = "xyxy", .secret = true}};
    struct secrets s;
    (void)state;
    collect(&s, vars, 3);
    assert_masked(&s, "-abcdefghi-", "-[MASKED]-");
    assert_masked(&s, "abcdefgh", "[MASKED]gh");
    assert_masked(&s, "xyxyxyx", "[MASKED]x");
    assert_masked(&s, "xyxyabcdef", "[MASKED][MASKED]");
    secrets_done(&s);
}

/* A key of several lines is hidden line by line as well, in JSON in each of its forms, and with or
 * without the blanks around it; names that are known need no mark. */
static void test_forms(void **state)
{
    struct env_var vars[] = {
        {.name = "A", .value = "-- BEGIN --\nfirst-part\nshort\nlast-part\n", .secret = true},
        {.name = "B", .value = "p\xc3\xa4ss/w\xf0\x9f\x94\x91rd", .secret = true},
        {.name = "OPENAI_API_KEY", .value = "sk-in-the-plan"}};
    struct secrets s;
    (void)state;
    collect(&s, vars, 3);
    assert_masked(&s, "x last-part y", "x [MASKED] y");
    assert_masked(&s, "short", "short");
    assert_masked(&s, "\"-- BEGIN --\\nfirst-part\\nshort\\nlast-part\"", "\"[MASKED]\"");
    assert_masked(&s, "p\xc3\xa4ss/w\xf0\x9f\x94\x91rd", "[MASKED]");
    assert_masked(&s, "p\\u00e4ss/w\\ud83d\\udd11rd", "[MASKED]");
    assert_masked(&s, "p\xc3\xa4ss\\/w\xf0\x9f\x94\x91rd", "[MASKED]");
    assert_masked(&s, "key=sk-in-the-plan", "key=[MASKED]");
    secrets_done(&s);
}

static void assert_masked_cut(const struct secrets *s, const char *text, bool front, bool end,
                              const char *expected)
{
    autobuf struct buf out = BUF_INIT;
    secrets_mask_cut(s, text, strlen(text), (struct secrets_cut){front, end}, &out);
    assert_string_equal(out.s, expected);
}

static void test_cut(void **state)
{
    struct env_var vars[] = {{.name = "A", .value = "0123456789", .secret = true},
                             {.name = "B", .value = "89abcdef", .secret = true}};
    struct secrets s;
    (void)state;
    collect(&s, vars, 2);
    assert_masked_cut(&s, "456789 is it", true, false, "[MASKED] is it");
    assert_masked_cut(&s, "456789 is it", false, false, "456789 is it");
    assert_masked_cut(&s, "789 is it", true, false, "789 is it");
    assert_masked_cut(&s, "it is 01234567", true, true, "it is [MASKED]");
    assert_masked_cut(&s, "it is 01234567", true, false, "it is 01234567");
    assert_masked_cut(&s, "it is 012", true, true, "it is 012");
    assert_masked_cut(&s, "012345678", true, true, "[MASKED]");
    assert_masked_cut(&s, "456789abcd", true, true, "[MASKED]");
    assert_masked_cut(&s, "0123456789abcd", false, true, "[MASKED]");
    assert_masked_cut(&s, "", true, true, "");
    secrets_done(&s);
}

static void test_tree(void **state)
{
    struct env_var vars[] = {{.name = "A", .value = "hush-hush", .secret = true},
                             {.name = "B", .value = "word", .secret = true}};
    struct secrets s;
    struct arena a = {0}, b = {0};
    struct node *root = node_new_map(&a), *list;
    autobuf struct buf out = BUF_INIT;
    (void)state;
    collect(&s, vars, 2);
    node_put_int(&a, root, "n", 1);
    list = node_put_list(&a, root, "list");
    node_add_string(&a, list, "/a/word/in/a/path");
    assert_ptr_equal(secrets_mask_tree(&s, root, &b), root);
    node_add_string(&a, list, "a hush-hush b");
    doc_write_line(&out, secrets_mask_tree(&s, root, &b));
    assert_string_equal(out.s, "{\"n\":1,\"list\":[\"/a/word/in/a/path\",\"a [MASKED] b\"]}");
    arena_done(&a);
    arena_done(&b);
    secrets_done(&s);
}

/* Text in pieces */

/* Computes the expected text in another way: finds every place of a secret, then joins those that
 * overlap. */
static void mask_by_places(const struct env_var *vars, size_t n, const char *text, struct buf *out)
{
    size_t len = strlen(text), end = 0;
    for (size_t at = 0; at < len; at++) {
        size_t most = 0;
        for (size_t i = 0; i < n; i++) {
            size_t l = strlen(vars[i].value);
            if (strncmp(text + at, vars[i].value, l) == 0 && l > most)
                most = l;
        }
        if (most && at >= end)
            buf_addstr(out, "[MASKED]");
        end = most && at + most > end ? at + most : end;
        if (at >= end)
            buf_addch(out, text[at]);
    }
}

static void feed(const struct secrets *s, const char *text, size_t step, size_t first,
                 struct buf *out)
{
    struct secrets_stream stream = SECRETS_STREAM_INIT(s);
    size_t len = strlen(text), at = first < len ? first : len;
    secrets_feed(&stream, text, at, out);
    for (; at < len; at += step)
        secrets_feed(&stream, text + at, step < len - at ? step : len - at, out);
    secrets_end(&stream, out);
    secrets_stream_done(&stream);
}

/* Text that comes in two pieces, cut anywhere, byte by byte, or in three, is masked as if it came
 * in one; of random secrets, of few letters so that they overlap and begin alike. */
static void test_pieces(void **state)
{
    enum { ROUNDS = 3000, SECRETS = 3, TEXT = 40 };
    uint32_t random = 12345;
    size_t masks = 0;
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        char values[SECRETS][9] = {0}, text[TEXT + 1] = {0};
        struct env_var vars[SECRETS];
        struct secrets s;
        for (size_t i = 0; i < SECRETS; i++) {
            size_t len = 4 + (random = random * 1664525 + 1013904223) % 5;
            for (size_t k = 0; k < len; k++)
                values[i][k] = "ab"[(random = random * 1664525 + 1013904223) >> 24 & 1];
            vars[i] = (struct env_var){.name = "A", .value = values[i], .secret = true};
        }
        for (size_t k = 0; k < TEXT; k++)
            text[k] = "abab\n"[((random = random * 1664525 + 1013904223) >> 16) % 5];
        autobuf struct buf expected = BUF_INIT;
        mask_by_places(vars, SECRETS, text, &expected);
        masks += strchr(expected.s, '[') != NULL;
        collect(&s, vars, SECRETS);
        assert_masked(&s, text, expected.s);
        for (size_t cut = 0; cut <= TEXT; cut++) {
            autobuf struct buf two = BUF_INIT, more = BUF_INIT;
            feed(&s, text, TEXT, cut, &two);
            assert_string_equal(two.s, expected.s);
            feed(&s, text, cut + 1, 0, &more);
            assert_string_equal(more.s, expected.s);
        }
        secrets_done(&s);
    }
    assert_true(masks > ROUNDS / 4);
}

/* A reader who follows a log sees at once all that cannot be part of a secret. */
static void test_held_back(void **state)
{
    struct env_var vars[] = {{.name = "A", .value = "a-very-long-secret-of-mine", .secret = true}};
    struct secrets s;
    autobuf struct buf out = BUF_INIT;
    (void)state;
    collect(&s, vars, 1);
    struct secrets_stream stream = SECRETS_STREAM_INIT(&s);
    secrets_feed(&stream, "shown a-ver", strlen("shown a-ver"), &out);
    assert_string_equal(out.s, "shown ");
    secrets_feed(&stream, "age", strlen("age"), &out);
    assert_string_equal(out.s, "shown a-verage");
    secrets_end(&stream, &out);
    assert_string_equal(out.s, "shown a-verage");
    secrets_stream_done(&stream);
    secrets_done(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mask),     cmocka_unit_test(test_known_variables),
        cmocka_unit_test(test_overlaps), cmocka_unit_test(test_forms),
        cmocka_unit_test(test_cut),      cmocka_unit_test(test_tree),
        cmocka_unit_test(test_pieces),   cmocka_unit_test(test_held_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
