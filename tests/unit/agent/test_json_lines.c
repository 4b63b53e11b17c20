#include "agent/output/json_lines.h"

#include "base/mem.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { TYPE, MESSAGE, BLOCK, BLOCK_TEXT, COUNT, FLAG, LIST, DEEP, EACH, NAMED };

static const struct json_field fields[] = {
    {"type", TYPE},
    {"message", MESSAGE},
    {"message.content[]", BLOCK},
    {"message.content[].text", BLOCK_TEXT},
    {"count", COUNT},
    {"flag", FLAG},
    {"list[]", LIST},
    {"a.b.c.d", DEEP},
    {"use.*.n", EACH},
    {"use.own.n", NAMED},
};

static void note(void *ctx, int id, enum json_kind kind, const char *text, size_t len)
{
    static const char *const kinds[] = {"null", "false", "true", "number", "string",
                                        "open", "close", "line", "junk"};
    struct buf *trace = ctx;
    if (id >= 0)
        buf_addf(trace, "%d ", id);
    buf_addf(trace, "%s", kinds[kind]);
    if (len)
        buf_addf(trace, " <%.*s>", (int)len, text);
    buf_addstr(trace, "; ");
}

/* Returns the lines that the reader passes on if the text arrives in pieces of this size. */
static char *trace(const char *text, size_t len, size_t piece)
{
    struct buf out = BUF_INIT;
    struct json_lines j;
    json_lines_init(&j, fields, ARRAY_LEN(fields), note, &out);
    for (size_t at = 0; at < len; at += piece)
        json_lines_feed(&j, text + at, len - at < piece ? len - at : piece);
    json_lines_end(&j);
    json_lines_done(&j);
    return buf_steal(&out);
}

static void check(const char *text, const char *expected)
{
    size_t len = strlen(text);
    autofree char *whole = trace(text, len, len + 1);
    assert_string_equal(whole, expected);
    for (size_t piece = 1; piece < 8; piece++) {
        autofree char *pieces = trace(text, len, piece);
        assert_string_equal(pieces, expected);
    }
}

static void wanted_fields_are_handed_over(void **state)
{
    (void)state;
    check("{}\n", "line; ");
    check(" { } \r\n\n  \n{}", "line; line; ");
    check("{\"type\":\"a\",\"count\":-1.5e3,\"flag\":true}\n{\"flag\":false,\"type\":null}\n",
          "0 string <a>; 4 number <-1.5e3>; 5 true <true>; line; 5 false <false>; 0 null <null>; "
          "line; ");
    check("{\"message\":{\"content\":[{\"text\":\"x\"},{\"other\":{\"text\":1}},\"s\"]}}\n",
          "1 open; 2 open; 3 string <x>; 2 close; 2 open; 2 close; 2 string <s>; 1 close; line; ");
    check("{\"list\":[1,[2,3],{\"x\":4},\"five\"],\"a\":{\"b\":{\"c\":{\"d\":7}}}}\n",
          "6 number <1>; 6 open; 6 close; 6 open; 6 close; 6 string <five>; 7 number <7>; line; ");
    check("{\"use\":{\"[1m]\":{\"n\":1},\"own\":{\"n\":2},\"*\":{\"n\":3,\"m\":4},\"x\":5},\"n\":6}"
          "\n",
          "8 number <1>; 9 number <2>; 8 number <3>; line; ");
}

static void all_else_is_passed_over(void **state)
{
    (void)state;
    check("{\"x\":\"\\\\\",\"y\":[[[{\"type\":\"no\",\"q\":\"]}\\\"\"}]]],\"type\":\"yes\"}\n",
          "0 string <yes>; line; ");
    /* A list where an object is looked for, and the other way round. */
    check("{\"message\":[{\"content\":1}],\"list\":{\"[\":1,\"x\":2},\"type\":[\"t\"]}\n",
          "1 open; 1 close; 0 open; 0 close; line; ");
}

static void strings_are_decoded(void **state)
{
    (void)state;
    check("{\"type\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\u20AC\\ud83d\\ude00\"}\n",
          "0 string <\"\\/\b\f\n\r\tA\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80>; line; ");
    check("{\"type\":\"\\ud83dx\\ude00\\ud83d\"}\n",
          "0 string <\xef\xbf\xbdx\xef\xbf\xbd\xef\xbf\xbd>; line; ");
    check("{\"typ\\u0065\":\"\xff\xfe\"}\n", "0 string <\xff\xfe>; line; ");
}

static void what_is_no_object_is_junk(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "npm warn something",
        "[1]",
        "\"type\"",
        "{\"type\":\"a\"",
        "{\"type\":\"a\"}}",
        "{\"type\":\"a\"]",
        "{\"type\" \"a\"}",
        "{\"type\":}",
        "{\"type\":tru}",
        "{\"type\":\"\\x\"}",
        "{\"type\":\"\\u12g4\"}",
        "{,}",
        "{\"type\":\"a\",}",
        "{\"list\":[1,,2]}",
        "{\"list\":[1}",
        "{\"type\":\"a\" \"count\":1}",
        "{\"type\":\"cut in the mid",
        "{\"x\":{\"y\":[1,",
        "{\"count\":12",
        "{\"count\":--1}",
    };
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        autofree char *text = mem_printf("%s\n{\"type\":\"next\"}\n", lines[i]);
        for (size_t piece = 1; piece < 40; piece++) {
            autofree char *got = trace(text, strlen(text), piece);
            const char *rest = strstr(got, "line; ");
            assert_non_null(strstr(got, "0 string <next>; line; "));
            assert_true(rest && !strstr(rest + 1, "line; ")); /* the next one alone counts */
        }
    }
}

static void a_line_that_is_cut_does_not_count(void **state)
{
    (void)state;
    static const char line[] =
        "{\"type\":\"a\\u00e9\",\"message\":{\"content\":[{\"text\":\"\\\"\"}]"
        "},\"count\":12,\"y\":[{\"z\":\"}\"}]}";
    for (size_t len = 0; len < strlen(line); len++) {
        autofree char *got = trace(line, len, 3);
        assert_null(strstr(got, "line; "));
    }
    autofree char *whole = trace(line, strlen(line), 3);
    assert_non_null(strstr(whole, "line; "));
}

static void keep_longest(void *ctx, int id, enum json_kind kind, const char *text, size_t len)
{
    (void)id;
    (void)text;
    size_t *longest = ctx;
    if (kind == JSON_STRING && len > *longest)
        *longest = len;
}

static void memory_is_bounded(void **state)
{
    (void)state;
    struct json_lines j;
    size_t longest = 0;
    char bytes[4096];
    memset(bytes, 'x', sizeof(bytes));
    json_lines_init(&j, fields, ARRAY_LEN(fields), keep_longest, &longest);
    for (int wanted = 0; wanted < 2; wanted++) {
        const char *begin = wanted ? "{\"type\":\"" : "{\"other\":\"";
        json_lines_feed(&j, begin, strlen(begin));
        for (int i = 0; i < 1000; i++)
            json_lines_feed(&j, bytes, sizeof(bytes));
        json_lines_feed(&j, "\"}\n", 3);
    }
    memset(bytes, '[', sizeof(bytes)); /* and so is the depth */
    json_lines_feed(&j, "{\"list\":", 8);
    for (int i = 0; i < 1000; i++)
        json_lines_feed(&j, bytes, sizeof(bytes));
    assert_int_equal(longest, JSON_TEXT_MAX);
    assert_true(j.text.cap <= 4 * JSON_TEXT_MAX);
    json_lines_done(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wanted_fields_are_handed_over),
        cmocka_unit_test(all_else_is_passed_over),
        cmocka_unit_test(strings_are_decoded),
        cmocka_unit_test(what_is_no_object_is_junk),
        cmocka_unit_test(a_line_that_is_cut_does_not_count),
        cmocka_unit_test(memory_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
