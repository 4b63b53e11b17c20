/*
 * doc_parse() and doc_load(): the values and positions that they read, and the errors for
 * everything else.
 */
#include "base/mem.h"
#include "doc/doc.h"

#include "base/text/text.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* One line of text in, one line "line:col: message | hint" out. */
struct refusal {
    const char *text, *expected;
};

static void assert_refused(const char *name, const char *text, size_t len, const char *expected)
{
    autoproblems struct problems ps;
    autobuf struct buf got = BUF_INIT;
    struct doc doc;
    problems_init(&ps, "x");
    int result = doc_parse(&doc, name, text, len, NULL, &ps);
    doc_done(&doc);
    if (result == 0)
        fail_msg("%s was not refused: %s", name, text);
    assert_int_equal(ps.errors, 1);
    const struct problem *p = &ps.list.v[0];
    buf_addf(&got, "%u:%u: %s", p->pos.line, p->pos.col, p->message);
    if (p->hint)
        buf_addf(&got, " | %s", p->hint);
    assert_string_equal(got.s, expected);
}

static void assert_all_refused(const char *name, const struct refusal *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_refused(name, list[i].text, strlen(list[i].text), list[i].expected);
}

#define assert_table_refused(name, ...)                                                            \
    do {                                                                                           \
        static const struct refusal list_[] = {__VA_ARGS__};                                       \
        assert_all_refused(name, list_, ARRAY_LEN(list_));                                         \
    } while (0)

static void show(struct buf *out, const struct node *n)
{
    static const char kinds[] = "0bifstLM";
    if (n->key)
        buf_addf(out, "%s@%u:%u=", n->key, n->key_pos.line, n->key_pos.col);
    buf_addf(out, "%c@%u:%u", kinds[n->kind], n->pos.line, n->pos.col);
    if (n->kind < NODE_LIST) {
        buf_addch(out, n->plain ? '\'' : '"');
        text_harmless(out, n->text, n->len);
        return;
    }
    buf_addch(out, '(');
    node_each (child, n) {
        if (child != n->first)
            buf_addch(out, ' ');
        assert_ptr_equal(child->parent, n);
        show(out, child);
    }
    buf_addch(out, ')');
}

static void assert_read(const char *name, const char *text, const char *expected)
{
    autoproblems struct problems ps;
    autobuf struct buf got = BUF_INIT;
    struct doc doc;
    problems_init(&ps, "x");
    if (doc_parse(&doc, name, text, strlen(text), NULL, &ps) < 0)
        fail_msg("%s: %u:%u: %s", name, ps.list.v[0].pos.line, ps.list.v[0].pos.col,
                 ps.list.v[0].message);
    show(&got, doc.root);
    assert_string_equal(got.s, expected);
    doc_done(&doc);
}

static void test_json_tree(void **state)
{
    (void)state;
    assert_read("x.json",
                "{\"z\": [1, -2.5e3, \"é\\n\", \"x\"],\r\n  \"a\": {\"c\": null, \"d\": true}}",
                "M@1:1(z@1:2=L@1:7(i@1:8\"1 f@1:11\"-2.5e3 s@1:19\"é\\n s@1:26\"x)"
                " a@2:3=M@2:8(c@2:9=0@2:14\"null d@2:20=b@2:25\"true))");
    assert_read("x.json", "\"a\\u0000b\"", "s@1:1\"a\\x00b");
    assert_read("x.json", "\xef\xbb\xbf[]", "L@1:1()");
    assert_read("x.json", "[\"]\", \"\\\"}\", {\"\": {}}]",
                "L@1:1(s@1:2\"] s@1:7\"\"} M@1:14(@1:15=M@1:19()))");
}

static void test_json_refused(void **state)
{
    (void)state;
    assert_table_refused(
        "x.json",
        {"{\"a\": 1, \"a\": 2}",
         "1:10: duplicate key \"a\", first on line 1 | rename or remove one of the two"},
        {"{\"a\": {\"é\": 1},\n \"é\": 2,\n \"é\": 3}",
         "3:2: duplicate key \"é\", first on line 2 | rename or remove one of the two"},
        {"{\"b\":\n\"a\",\n\"a\": 1,\n\"a\": 2}",
         "4:1: duplicate key \"a\", first on line 3 | rename or remove one of the two"},
        {"{\"a\": 1,}", "1:8: a comma before '}' | JSON has no comma after the last item: "
                        "remove it"},
        {"[1, 2,\n]", "1:6: a comma before ']' | JSON has no comma after the last item: "
                      "remove it"},
        {"// x\n{}",
         "1:1: JSON has no comments | remove the comment, or write the plan in YAML or TOML"},
        {"{\"a\": 1 /* x */}",
         "1:9: JSON has no comments | remove the comment, or write the plan in YAML or TOML"},
        {"{\"a\": \"x\n\"}", "1:7: this string is not closed"},
        {"{\"a\": \"x", "1:7: this string is not closed"},
        {"{\"a\": 1\n", "1:1: this '{' is never closed"},
        {"[1, [2\n", "1:5: this '[' is never closed"}, {"[", "1:1: this '[' is never closed"},
        {"", "1:1: the JSON text is empty"}, {" \n", "1:1: the JSON text is empty"},
        {"{a: 1}", "1:2: string or '}' expected near 'a' | write keys in double quotes"},
        {"{'a': 1}", "1:2: string or '}' expected near ''' | write strings in double quotes"},
        {"{\"a\" 1}", "1:6: ':' expected near '1'"},
        {"{\"é\": 1 \"b\": 2}", "1:9: '}' expected near '\"b\"' | is a comma missing before it?"},
        {"[1\n 2]", "2:2: ']' expected near '2' | is a comma missing before it?"},
        {"{\"a\": tru}", "1:7: invalid token near 'tru'"},
        {"{\"a\": \"é\\q\"}", "1:9: not a JSON escape: write a backslash as two"},
        {"{\"a\": \"é\tx\"}", "1:9: a control character in a string must be escaped"},
        {"{} x", "1:4: end of file expected near 'x'"},
        {"[99999999999999999999]", "1:2: too big integer near '99999999999999999999'"},
        {"\r\n{\"a\":\r\n  nul}", "3:3: invalid token near 'nul'"},
        {"{\"a\\u0000\": 1}", "1:2: NUL byte in object key not supported near '\"a\\u0000\"'"});
}

static void test_yaml_tree(void **state)
{
    (void)state;
    assert_read("x.yaml", "z: 1\na:\n  - é x\n  - \"q\"\n  - ~\n  -\n  - 'k'\n",
                "M@1:1(z@1:1=i@1:4'1 a@2:1=L@3:3(s@3:5'é x s@4:5\"q 0@5:5'~ 0@6:3' s@7:5\"k))");
    assert_read("x.yml", "f: {k: v, l: }\ng: |\n  a\n  b\nh: >- # | x\n  c\n  d\n? e\n: v\n",
                "M@1:1(f@1:1=M@1:4(k@1:5=s@1:8'v l@1:11=0@1:11') g@2:1=s@2:4\"a\\nb\\n"
                " h@5:1=s@5:4\"c d e@8:3=s@9:3'v)");
    assert_read(
        "x.yaml", "a:\r\n- [é: b, c]\r\n- d: |\r\n    x\r\n    y\r\n",
        "M@1:1(a@1:1=L@2:1(L@2:3(M@2:4(é@2:4=s@2:7'b) s@2:10'c) M@3:3(d@3:3=s@3:6\"x\\ny\\n)))");
    assert_read("x.yaml", "", "0@1:1\"");
    assert_read("x.yaml", "# nothing\n", "0@1:1\"");
    assert_read("x.yaml", "--- a\n...\n", "s@1:5'a");
    assert_read("x.yaml", "a: &x 1\n\"<<\": 2\n", "M@1:1(a@1:1=i@1:7'1 <<@2:1=i@2:7'2)");
    assert_read("x.yaml", "[!!str 1, !!int '2', !!float 3, ! 4, !!null '', !!bool true]",
                "L@1:1(s@1:8\"1 i@1:17\"2 f@1:30\"3 s@1:35\"4 0@1:45\" b@1:56\"true)");
    assert_read("x.yaml", "a: !!map {}\nb: !!seq\n- c\n",
                "M@1:1(a@1:1=M@1:10() b@2:1=L@3:1(s@3:3'c))");
}

static void test_yaml_core_schema(void **state)
{
    (void)state;
    assert_read(
        "x.yaml", "[null, Null, NULL, ~, true, True, TRUE, false, False, FALSE]",
        "L@1:1(0@1:2'null 0@1:8'Null 0@1:14'NULL 0@1:20'~ b@1:23'true b@1:29'True b@1:35'TRUE"
        " b@1:41'false b@1:48'False b@1:55'FALSE)");
    assert_read(
        "x.yaml", "[yes, No, on, nULL, tRUE, 1_0, 0b1, 1:30, 0o8, 0xg, -0x1, ., +, e1, 1e, 1.e]",
        "L@1:1(s@1:2'yes s@1:7'No s@1:11'on s@1:15'nULL s@1:21'tRUE s@1:27'1_0 s@1:32'0b1"
        " s@1:37'1:30 s@1:43'0o8 s@1:48'0xg s@1:53'-0x1 s@1:59'. s@1:62'+ s@1:65'e1 s@1:69'1e"
        " s@1:73'1.e)");
    assert_read(
        "x.yaml", "[0, -1, +1, 017, 0o17, 0x1F, 1., .5, 1e3, -1.5E-3, .inf, -.Inf, .NaN]",
        "L@1:1(i@1:2'0 i@1:5'-1 i@1:9'+1 i@1:13'017 i@1:18'0o17 i@1:24'0x1F f@1:30'1. f@1:34'.5"
        " f@1:38'1e3 f@1:43'-1.5E-3 f@1:52'.inf f@1:58'-.Inf f@1:65'.NaN)");
}

static void test_yaml_numbers(void **state)
{
    (void)state;
    static const char text[] = "[017, 0o17, 0x1F, 9223372036854775807, 9223372036854775808, "
                               "-9223372036854775808, 0xFFFFFFFFFFFFFFFF, -.inf]";
    autoproblems struct problems ps;
    struct doc doc;
    problems_init(&ps, "x");
    assert_int_equal(doc_parse(&doc, "x.yaml", text, strlen(text), NULL, &ps), 0);
    const struct node *n = doc.root->first;
    assert_int_equal(n->integer, 17);
    assert_int_equal((n = n->next)->integer, 15);
    assert_int_equal((n = n->next)->integer, 31);
    assert_int_equal((n = n->next)->integer, INT64_MAX);
    n = n->next;
    assert_int_equal(n->kind, NODE_REAL);
    assert_true(n->real == 9223372036854775808.0);
    n = n->next;
    assert_int_equal(n->kind, NODE_INT);
    assert_int_equal(n->integer, INT64_MIN);
    n = n->next;
    assert_int_equal(n->kind, NODE_REAL);
    assert_true(n->real == 18446744073709551615.0);
    assert_true(isinf(n->next->real) && n->next->real < 0);
    doc_done(&doc);
}

static void test_yaml_blocks(void **state)
{
    (void)state;
    assert_read("x.yaml", "a:\n- id: b\n  c: |\n  d: [e]\n",
                "M@1:1(a@1:1=L@2:1(M@2:3(id@2:3=s@2:7'b c@3:3=s@3:6\" d@4:3=L@4:6(s@4:7'e))))");
    assert_read("x.yaml", "a:\n  - >\n\n  - b\n", "M@1:1(a@1:1=L@2:3(s@2:5\" s@4:5'b))");
    assert_read("x.yaml", "%YAML 1.2\n---\na: |\n\n  %\nb:\n- >-\n  c\n",
                "M@3:1(a@3:1=s@3:4\"\\n%\\n b@6:1=L@7:1(s@7:3\"c))");
    assert_read("x.yaml", "a: >\n  b\n\n    - c\n  d\n  e\n\n\nf: |2+\n  \tg\n\n",
                "M@1:1(a@1:1=s@1:4\"b\\n\\n  - c\\nd e\\n f@9:1=s@9:4\"\\tg\\n\\n)");
    assert_read("x.yaml", "a: [b #c\n]\nd: \"e\n\n  f\"\n",
                "M@1:1(a@1:1=L@1:4(s@1:5'b) d@3:1=s@3:4\"e\\nf)");
}

/* Texts over which a reader could take quadratic time: these are read, or refused, at once. */
static void test_yaml_long_texts(void **state)
{
    (void)state;
    autoproblems struct problems ps;
    autobuf struct buf blank = BUF_INIT, tag = BUF_INIT;
    struct doc doc;
    problems_init(&ps, "x");
    buf_addstr(&blank, "a: b\n");
    buf_addrep(&blank, '\n', 1 << 20);
    buf_addstr(&blank, "  c\n");
    assert_int_equal(doc_parse(&doc, "x.yaml", blank.s, blank.len, NULL, &ps), 0);
    assert_int_equal(doc.root->first->len, (1 << 20) + 2);
    doc_done(&doc);
    buf_addstr(&tag, "a: !");
    buf_addrep(&tag, '%', 1 << 20);
    assert_refused("x.yaml", tag.s, tag.len,
                   "1:4: a text cannot begin with '!' | put the text in quotes");
    buf_cut(&tag, 0);
    buf_addrep(&tag, 'k', 1025);
    buf_addstr(&tag, ": v\n");
    assert_refused("x.yaml", tag.s, tag.len, "1:1026: a key has more than 1024 characters");
}

/* We refuse what libyaml reads in another way than YAML 1.2 says. */
static void test_yaml_guarded(void **state)
{
    (void)state;
    assert_table_refused(
        "x.yaml",
        {"%TAG !e! tag:x,2000:\n---\na: 1\n",
         "1:1: a line that begins with '%' is a directive, and only %YAML is read | remove the "
         "line; a text that begins with % goes in quotes"},
        {"a: [?x]\n", "1:5: a text in brackets cannot begin with '?' | put the text in quotes"},
        {"a:\n  b: \"c\n  d: \"\n", "2:6: this quote is not closed | close the quote; text over "
                                    "several lines is easier with |"},
        {"é: [b, 'c\nd: ']\n", "1:8: this quote is not closed | close the quote; text over "
                               "several lines is easier with |"},
        {"a: é\xe2\x80\xa8x\n",
         "1:5: a Unicode line separator, which YAML 1.1 and 1.2 read differently | remove it, "
         "or write \\N, \\L or \\P in double quotes"},
        {"é: \x1b[1m\n", "1:4: the control character U+001B | remove it, or write it as \\x1B in "
                         "double quotes"});
}

static void test_yaml_aliases(void **state)
{
    (void)state;
    assert_read("x.yaml", "a: &x 1\nb: *x\nc: [*x, &x two, *x]\n",
                "M@1:1(a@1:1=i@1:7'1 b@2:1=i@2:4'1 c@3:1=L@3:4(i@3:5'1 s@3:12'two s@3:17'two))");
    assert_read("x.yaml", "a: &x\n  b: [1]\nc: *x\n",
                "M@1:1(a@1:1=M@2:3(b@2:3=L@2:6(i@2:7'1)) c@3:1=M@3:4(b@2:3=L@2:6(i@2:7'1)))");
    assert_read("x.yaml", "&k a: 1\nb: *k\n", "M@1:4(a@1:4=i@1:7'1 b@2:1=s@2:4'a)");
    assert_read("x.yaml", "b: &k a\n*k : 2\n", "M@1:1(b@1:1=s@1:7'a a@2:1=i@2:6'2)");
    assert_read("x.yaml", "a: &x\nb: *x\n", "M@1:1(a@1:1=0@1:1' b@2:1=0@2:4')");
}

/* A small text that stands for a very large tree, or for a very deep one. */
static void test_yaml_alias_bombs(void **state)
{
    (void)state;
    autobuf struct buf wide = BUF_INIT, deep = BUF_INIT;
    buf_addstr(&wide, "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for (int i = 1; i < 60; i++) {
        buf_addf(&wide, "a%d: &a%d [", i, i);
        for (int k = 0; k < 10; k++)
            buf_addf(&wide, "%s*a%d", k ? ", " : "", i - 1);
        buf_addstr(&wide, "]\n");
    }
    assert_refused("x.yaml", wide.s, wide.len,
                   "5:45: the aliases stand for more than 100000 values, or for texts that are too "
                   "long | write the values out instead of using aliases");
    buf_cut(&wide, 0);
    buf_addstr(&wide, "a: &a ");
    buf_addrep(&wide, 'x', 1 << 20);
    buf_addstr(&wide, "\nb: [");
    for (int i = 0; i < 100; i++)
        buf_addstr(&wide, "*a, ");
    buf_addstr(&wide, "]\n");
    assert_refused(
        "x.yaml", wide.s, wide.len,
        "2:101: the aliases stand for more than 100000 values, or for texts that are too "
        "long | write the values out instead of using aliases");
    buf_addstr(&deep, "a0: &a0 [x]\n");
    for (int i = 1; i < 70; i++)
        buf_addf(&deep, "a%d: &a%d [*a%d]\n", i, i, i - 1);
    assert_refused(
        "x.yaml", deep.s, deep.len,
        "64:12: nested deeper than 64 levels | reduce the nesting of lists and mappings");
}

static void test_yaml_merge_key(void **state)
{
    (void)state;
    assert_read("x.yaml", "a: &x {b: 1, c: 2}\nd:\n  <<: *x\n  c: 3\n  e: 4\n",
                "M@1:1(a@1:1=M@1:7(b@1:8=i@1:11'1 c@1:14=i@1:17'2) d@2:1=M@3:3(c@4:3=i@4:6'3 "
                "e@5:3=i@5:6'4 b@1:8=i@1:11'1))");
    assert_read("x.yaml", "a: &x {b: 1}\nf: &y {b: 2, g: 3}\nd: {h: 1, <<: [*x, *y, {i: 4}]}\n",
                "M@1:1(a@1:1=M@1:7(b@1:8=i@1:11'1) f@2:1=M@2:7(b@2:8=i@2:11'2 g@2:14=i@2:17'3) "
                "d@3:1=M@3:4(h@3:5=i@3:8'1 b@1:8=i@1:11'1 g@2:14=i@2:17'3 i@3:25=i@3:28'4))");
    assert_read("x.yaml", "a:\n  <<: &x {b: [1]}\n  c: 2\nd: *x\n",
                "M@1:1(a@1:1=M@2:3(c@3:3=i@3:6'2 b@2:11=L@2:14(i@2:15'1)) "
                "d@4:1=M@4:4(b@2:11=L@2:14(i@2:15'1)))");
    assert_read("x.yaml", "a: {\"<<\": 1}\n", "M@1:1(a@1:1=M@1:4(<<@1:5=i@1:11'1))");
}

static void test_yaml_refused(void **state)
{
    (void)state;
    assert_table_refused(
        "x.yaml",
        {"a: *x\n", "1:4: unknown alias: nothing above is marked with &x | put a text that begins "
                    "with * in quotes"},
        {"a: &x [1, *x]\n", "1:11: the alias *x refers to a value that contains it | remove it"},
        {"a: &x [1]\n*x : 2\n",
         "2:1: a key cannot be a list or a mapping | put the key in quotes if it is a text"},
        {"a: &x {b: 1}\nc:\n  <<: 2\n", "3:3: the merge key << takes a mapping, or a list of "
                                        "mappings | write <<: *NAME"},
        {"a: &x {b: 1}\nc:\n  <<: [*x, 2]\n", "3:3: the merge key << takes a mapping, or a list "
                                              "of mappings | write <<: *NAME"},
        {"a: &x {b: 1}\nc:\n  <<: *x\n  <<: *x\n",
         "4:3: duplicate merge key << | write <<: [*A, *B]"},
        {"a: !foo x\n", "1:4: the tag !foo is not allowed here | remove the tag"},
        {"a: !!set {b}\n", "1:4: the tag !!set is not allowed here | remove the tag"},
        {"a: !!str [b]\n", "1:4: the tag !!str is not allowed here | remove the tag"},
        {"a: !!int x\n", "1:10: \"x\" does not match its tag | remove the tag"},
        {"é: 1\n[b]: 2\n",
         "2:1: a key cannot be a list or a mapping | put the key in quotes if it is a text"},
        {"? {b: 1}\n: 2\n",
         "1:3: a key cannot be a list or a mapping | put the key in quotes if it is a text"},
        {"a: 1\n---\nb: 2\n", "2:1: a second YAML document begins here | a plan is one document: "
                              "remove the line with --- or ..."},
        {"a: 1\n...\n# c\nb\n", "4:1: a second YAML document begins here | a plan is one document: "
                                "remove the line with --- or ..."},
        {"a: 1\nb: 2\n'a': 3\n",
         "3:1: duplicate key \"a\", first on line 1 | rename or remove one of the two"},
        {"x: {é: 1, b: 2, é: 3}\n",
         "1:17: duplicate key \"é\", first on line 1 | rename or remove one of the two"});
    assert_table_refused(
        "x.yaml",
        {"a:\n\tb: 1\n", "2:1: a tab in the indentation | YAML is indented with spaces only"},
        {"a:\n  b: 1\n\tc: 2\n",
         "3:1: a tab in the indentation | YAML is indented with spaces only"},
        {"é: b: c\n",
         "1:5: a second ': ' on one line | put the text after the first colon in quotes"},
        {"a: \"x\nb: 1\n", "1:4: this quote is not closed | close the quote; text over several "
                           "lines is easier with |"},
        {"a: 'x", "1:4: this quote is not closed | close the quote; text over several lines is "
                  "easier with |"},
        {"a: @x\n", "1:4: a text cannot begin with this character | put the text in quotes"},
        {"a: `x`\n", "1:4: a text cannot begin with this character | put the text in quotes"},
        {"a: [1, 2\nb: 3\n", "1:4: this '[' is never closed"},
        {"a: {b: 1\n", "1:4: this '{' is never closed"},
        {"a: \"say \"hi\"\"\n",
         "1:10: text after the closing quote | write a quote inside of double "
         "quotes as \\\""},
        {"a: 1\n b: 2\n",
         "1:4: text over several lines cannot be a key | is the next line indented too far?"},
        {"a:\r\n  b: 1\r\n c: 2\r\n",
         "3:2: this line is indented wrongly | the keys of one mapping "
         "begin in the same column"},
        {"a: - b\n",
         "1:4: a list item on the line of its key | begin the list on the next line, or "
         "write [a, b]"},
        {"a: \"\\q\"\n", "1:5: not a YAML escape | write a backslash in double quotes as \\\\"},
        {"a: \"\\ux\"\n", "1:5: not a YAML escape | write a backslash in double quotes as \\\\"});
    assert_table_refused(
        "x.yaml",
        {"a: \"b\nc: \"d\"\n", "1:4: this quote is not closed | close the quote; text over several "
                               "lines is easier with |"},
        {"a: [\"b\"\n\"c\"]\n",
         "2:1: ',' or ']' is missing before this | commas separate values in brackets"},
        {"a: {b: 1 c: 2}\n",
         "1:11: ',' or '}' is missing before this | commas separate values in brackets"},
        {"{a:, b: c}", "1:3: no space after this ':' | put a colon and a space after a key; "
                       "a text with a colon goes in quotes"},
        {"a: [b] c\n", "1:8: text after the end of a value | put the whole text in quotes"},
        {"a: b\nc\n", "2:1: a key without a colon | put a colon and a space after a key; or is "
                      "the line indented wrongly?"},
        {"a: **/x\n", "1:4: a text cannot begin with '*' | put the text in quotes"},
        {"a: &b.c d\n",
         "1:4: a text cannot begin with '&' | put the text in quotes; the name of an "
         "anchor has letters, digits, - and _ only"},
        {"a: |\n  \tb\n", "2:3: a tab in the indentation | YAML is indented with spaces only; if "
                          "the text begins with a tab, write |2 instead of |"},
        {"a: |x\n  b\n", "1:5: text on the line of | or > | begin the text on the next line"},
        {"%YAML 2.0\n---\na\n", "1:1: this is neither YAML 1.1 nor 1.2 | remove the line"});
}

/* A map that is too large to be searched key by key. */
static void test_yaml_many_keys(void **state)
{
    (void)state;
    autobuf struct buf text = BUF_INIT;
    for (int i = 0; i < 50000; i++)
        buf_addf(&text, "k%d: %d\n", i, i);
    autoproblems struct problems ps;
    struct doc doc;
    problems_init(&ps, "x");
    assert_int_equal(doc_parse(&doc, "x.yaml", text.s, text.len, NULL, &ps), 0);
    assert_int_equal(doc.root->n, 50000);
    doc_done(&doc);
    buf_addstr(&text, "k17: again\n");
    assert_refused("x.yaml", text.s, text.len,
                   "50001:1: duplicate key \"k17\", first on line 18 | rename or remove one "
                   "of the two");
}

static void test_toml_tree(void **state)
{
    (void)state;
    assert_read(
        "x.toml",
        "z = 1\n\"é\" = \"ü\" # c\na.c.b = [1, {x = 2.5}]\n[q.r]\nk = true\n[[t]]\nid = 'a'\n"
        "[t.env]\nB = 1\nA = 2\n[[t]]\nid = 'b'\n[q]\ns = 1979-05-27T07:32:00.5+01:00\n",
        "M@1:1(z@1:1=i@1:5\"1 é@2:1=s@2:7\"ü a@3:1=M@3:1(c@3:3=M@3:3(b@3:5=L@3:9(i@3:10\"1"
        " M@3:13(x@3:14=f@3:18\"2.5)))) q@4:2=M@13:1(r@4:4=M@4:1(k@5:1=b@5:5\"true)"
        " s@14:1=t@14:5\"1979-05-27T07:32:00.5+01:00) t@6:3=L@6:1(M@6:1(id@7:1=s@7:6\"a"
        " env@8:4=M@8:1(B@9:1=i@9:5\"1 A@10:1=i@10:5\"2)) M@11:1(id@12:1=s@12:6\"b)))");
    assert_read(
        "x.toml", "a = \"\"\"\r\nx\r\ny\"\"\"\r\nb = [inf, -inf, nan, -0.0, 0x10]\r\n",
        "M@1:1(a@1:1=s@1:5\"x\\ny b@4:1=L@4:5(f@4:6\"inf f@4:11\"-inf f@4:17\"nan f@4:22\"-0.0"
        " i@4:28\"0x10))");
    assert_read("x.toml", "a = 1979-05-27\nb = 07:32:00\nc = 1979-05-27 07:32:00z\n",
                "M@1:1(a@1:1=t@1:5\"1979-05-27 b@2:1=t@2:5\"07:32:00"
                " c@3:1=t@3:5\"1979-05-27T07:32:00Z)");
    assert_read("x.toml", "", "M@1:1()");
}

static void test_toml_refused(void **state)
{
    (void)state;
    assert_table_refused(
        "x.toml", {"a = 1\na = 2\n", "2:1: duplicate key a | rename or remove one of the two"},
        {"a = {b=1, b = 2}", "1:11: duplicate key b | rename or remove one of the two"},
        {"\"a b\".c = 1\n  \"a b\".c = 2\n",
         "2:3: duplicate key \"a b\".c | rename or remove one of the two"},
        {"[a]\n[a]\n",
         "2:1: cannot redefine existing table 'a' | join the two; a list of tables is "
         "written [[name]]"},
        {"a = \n", "1:5: expected value, saw '\\n'"},
        {"a = \"x\nb = 1\n", "1:5: this \" is never closed"},
        {"a = 'x\r\n", "1:5: this ' is never closed"},
        {"a = 1\nb = \"\"\"x\n", "2:5: this \" is never closed"},
        {"a = [1,\n[2, 3\n", "2:1: this [ is never closed"},
        {"a = 1\nfoo: bar\n", "2:4: expected '=', saw ':' | TOML writes key = value"},
        {"é = yes\n", "1:1: expected keys, tables, whitespace or comments, saw 'é'"},
        {"a = yes\n",
         "1:5: could not determine value type | write texts in quotes: key = \"text\""},
        {"a = 99999999999999999999\n",
         "1:5: '99999999999999999999' is not representable in 64 bits"},
        {"a = \"é\" x\n", "1:9: expected a comment or whitespace, saw 'x'"});
}

static void repeat(struct buf *out, const char *s, size_t n)
{
    while (n--)
        buf_addstr(out, s);
}

static const char too_deep[] =
    "nested deeper than 64 levels | reduce the nesting of lists and mappings";

static void assert_deep(const char *name, const char *before, const char *s, size_t n,
                        const char *after, const char *where)
{
    autobuf struct buf text = BUF_INIT, expected = BUF_INIT;
    buf_addstr(&text, before);
    repeat(&text, s, n);
    buf_addstr(&text, after);
    if (where) {
        buf_addf(&expected, "%s: %s", where, too_deep);
        assert_refused(name, text.s, text.len, expected.s);
        return;
    }
    autoproblems struct problems ps;
    struct doc doc;
    problems_init(&ps, "x");
    assert_int_equal(doc_parse(&doc, name, text.s, text.len, NULL, &ps), 0);
    doc_done(&doc);
}

static const char closing[] = "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"
                              "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]";

static void test_depth(void **state)
{
    (void)state;
    assert_deep("x.json", "", "[", 64, closing, NULL);
    assert_deep("x.json", "[", "[", 64, closing, "1:65");
    assert_deep("x.json", "", "{\"a\":", 500000, "", "1:321");
    assert_deep("x.yaml", "", "[", 64, closing, NULL);
    assert_deep("x.yaml", "[", "[", 64, closing, "1:65");
    assert_deep("x.yaml", "", "- ", 100000, "", "1:129");
    assert_deep("x.toml", "a = ", "[", 63, closing + 1, NULL);
    assert_deep("x.toml", "a = ", "[", 64, closing, "1:68");
    assert_deep("x.toml", "", "a.", 63, "a = 1.5", NULL);
    assert_deep("x.toml", "", "a.", 64, "a = 1.5", "1:129");
    assert_deep("x.toml", "[", "a.", 62, "a]", NULL);
    assert_deep("x.toml", "[", "a.", 63, "a]", "1:128");
    assert_deep("x.toml", "[[", "a.", 62, "a]]", "1:1");
    assert_deep("x.toml", "[a.b]\n", "a.", 61, "a = 1", NULL);
    assert_deep("x.toml", "[a.b]\n", "a.", 62, "a = 1", "2:125");
    assert_deep("x.toml", "a = ", "{a = ", 1000000 / 2, "", "1:320");
    assert_deep("x.toml", "a = ", "[", 1000000, "", "1:68");
    assert_deep("x.toml", "", "a.", 1000000, "a = 1", "1:129");
    assert_deep("x.toml", "[", "a.", 1000000, "a]", "1:128");
    assert_deep("x.toml", "a = ", "{a.b.c = ", 100000, "", "1:194");
    assert_deep("x.toml", "a = [\"\"\"x\"\"\"\", ", "[", 1000, "", "1:78");
    assert_deep("x.toml", "", "a.", 10, "a = '...........................................'", NULL);
}

static void assert_markdown(const char *text, enum doc_syntax syntax, size_t prose,
                            const char *expected)
{
    autoproblems struct problems ps;
    autobuf struct buf got = BUF_INIT;
    struct doc doc;
    problems_init(&ps, "x");
    if (doc_parse(&doc, "x.md", text, strlen(text), NULL, &ps) < 0)
        fail_msg("%u:%u: %s", ps.list.v[0].pos.line, ps.list.v[0].pos.col, ps.list.v[0].message);
    show(&got, doc.root);
    assert_string_equal(got.s, expected);
    assert_true(doc.markdown);
    assert_int_equal(doc.syntax, syntax);
    assert_int_equal(doc.prose_lines, prose);
    doc_done(&doc);
}

static void test_markdown_front_matter(void **state)
{
    (void)state;
    assert_markdown("---\na: 1\ntasks: []\n---\n\nprose\n ---\nx", DOC_YAML, 3,
                    "M@2:1(a@2:1=i@2:4'1 tasks@3:1=L@3:8())");
    assert_markdown("\xef\xbb\xbf--- \t\r\né: x\r\n---\r\n\r\n", DOC_YAML, 0,
                    "M@2:1(é@2:1=s@2:4'x)");
    assert_markdown("---\na: |\n  ---\n  b\n---", DOC_YAML, 0, "M@2:1(a@2:1=s@2:4\"---\\nb\\n)");
    assert_markdown("---\n---\ndispatch\n", DOC_YAML, 1, "0@2:1\"");
}

static void test_markdown_block(void **state)
{
    (void)state;
    assert_markdown("# T\n\n```json dispatch\n{\"a\":\n [1]}\n```\n\ntext\n", DOC_JSON, 2,
                    "M@4:1(a@4:2=L@5:2(i@5:3\"1))");
    assert_markdown(
        "> - x\n>\n>   ~~~~ json \t dispatch v2\n>   {\"a\":\n>     [1, \"é\", \"x\"],\n"
        ">    \"b\": 2}\n>   ~~~~\n\nprose\n",
        DOC_JSON, 3, "M@4:5(a@4:6=L@5:7(i@5:8\"1 s@5:11\"é s@5:16\"x) b@6:6=i@6:11\"2)");
    assert_markdown("1. x\r\n\r\n\t```json dispatch\r\n\t[1,\r\n\t  2]\r\n\t```\r\n", DOC_JSON, 1,
                    "L@4:2(i@4:3\"1 i@5:4\"2)");
    assert_markdown("a\rb\n  `````json dispatch\n  {}\n  `````\n", DOC_JSON, 1, "M@3:3()");
}

static void test_markdown_both(void **state)
{
    (void)state;
    assert_markdown("---\ntitle: x\n---\ny\n```json dispatch\n[]\n```\n", DOC_JSON, 2, "L@6:1()");
    assert_markdown("---\na: *b\n---\n```json dispatch\n[]\n```\n", DOC_JSON, 1, "L@5:1()");
    assert_markdown("---\n- tasks\n---\n```json dispatch\n[]\n```\n", DOC_JSON, 1, "L@5:1()");
    assert_table_refused(
        "x.md",
        {"---\na: 1\nthreads: x\n---\n\n```json dispatch\n{}\n```\n",
         "6:1: two plans: the front matter (line 3) and a `json dispatch` block (line 6) | remove "
         "one of the two"},
        {"---\ntasks: *x\n---\n```json dispatch\n{}\n```\n",
         "4:1: two plans: the front matter (line 2) and a `json dispatch` block (line 4) | remove "
         "one of the two"});
}

static void test_markdown_refused(void **state)
{
    (void)state;
#define NO_PLAN                                                                                    \
    "1:1: there is no plan in this Markdown file | a plan is YAML between two lines of --- at "    \
    "the "                                                                                         \
    "top of the file, or a fenced block that begins with ```json dispatch"
    assert_table_refused(
        "x.md", {"hello\n", NO_PLAN}, {"", NO_PLAN}, {" ---\na: 1\n---\n", NO_PLAN},
        {"```Json dispatch\n{}\n```\n", NO_PLAN}, {"```json dispatcher\n{}\n```\n", NO_PLAN},
        {"    ```json dispatch\n    {}\n    ```\n", NO_PLAN},
        {"---\na: 1\n",
         "1:1: the front matter is never closed | add a line with --- after its last line"},
        {"---", "1:1: the front matter is never closed | add a line with --- after its last line"},
        {"---\na: 1\nb: [\n---\n", "3:4: this '[' is never closed"},
        {"x\n---\n```json dispatch\n1\n```\n\n~~~~json\tdispatch\n~~~~\n\n```json dispatch\n",
         "7:1: 3 `json dispatch` blocks, on lines 3, 7 and 10 | a plan is one block: join them, or "
         "remove a word from the fence"},
        {"- x\n\n  ```json dispatch\n  {\"a\": 1,\n    \"a\": 2}\n  ```\n",
         "5:5: duplicate key \"a\", first on line 4 | rename or remove one of the two"},
        {"a\rb\n> ```json dispatch\r\n> {\"é\": 1,\r\n>  \"b\": tru}\r\n> ```\r\n",
         "4:9: invalid token near 'tru'"},
        {"```json dispatch\n```\n", "2:1: the JSON text is empty"},
        {"```json dispatch\n{\"a\": [\n```\n", "2:7: this '[' is never closed"});
}

static void test_bytes_refused(void **state)
{
    (void)state;
    assert_refused("x.yaml", "a: é\n b\xff", 9,
                   "2:3: invalid UTF-8: unexpected byte 0xff | save the file as UTF-8");
    assert_refused("x.toml", "\xef\xbb\xbf\xc3(", 5,
                   "1:1: invalid UTF-8: unexpected byte 0xc3 | save the file as UTF-8");
    assert_refused(
        "x.json", "{\n\0}", 4,
        "2:1: the text contains a NUL byte | save the file as UTF-8 text; UTF-16 is not supported");
}

static void test_size_limit(void **state)
{
    (void)state;
    autoproblems struct problems ps;
    struct doc doc;
    struct doc_options opts = {.max_bytes = 2048};
    autobuf struct buf text = BUF_INIT;
    buf_addrep(&text, ' ', 2048);
    problems_init(&ps, "x");
    assert_int_equal(doc_parse(&doc, "x.yaml", text.s, text.len, &opts, &ps), 0);
    doc_done(&doc);
    buf_addrep(&text, ' ', 1024);
    assert_int_equal(doc_parse(&doc, "x.yaml", text.s, text.len, &opts, &ps), -1);
    doc_done(&doc);
    assert_string_equal(ps.list.v[0].message,
                        "is 3.0 KiB (3072 bytes), more than the limit of 2.0 KiB");
    assert_string_equal(ps.list.v[0].hint, "--max-size raises the limit");
    assert_int_equal(ps.list.v[0].rule, RULE_FILE);
}

static void assert_guess(const char *name, const char *text, enum doc_syntax expected,
                         bool markdown)
{
    autoproblems struct problems ps;
    struct doc doc;
    problems_init(&ps, "x");
    (void)doc_parse(&doc, name, text, strlen(text), NULL, &ps);
    if (doc.syntax != expected || doc.markdown != markdown)
        fail_msg("read as %s: %s", doc_syntax_name(doc.syntax), text);
    doc_done(&doc);
}

static void test_syntax_by_name(void **state)
{
    (void)state;
    assert_guess("a/b.JSON", "a: 1", DOC_JSON, false);
    assert_guess("x.yml", "{}", DOC_YAML, false);
    assert_guess("x.toml", "a: 1", DOC_TOML, false);
    assert_guess("x.mdx", "---\na: 1\n---\n", DOC_YAML, true);
    assert_guess("x.markdown", "```json dispatch\n{}\n```\n", DOC_JSON, true);
    assert_guess("plan.d/x", "a = 1", DOC_TOML, false);
}

static void test_syntax_by_text(void **state)
{
    (void)state;
    assert_guess(NULL, "\n  {\"a\": 1}", DOC_JSON, false);
    assert_guess(NULL, "[1]", DOC_JSON, false);
    assert_guess(NULL, "[\"a\"]", DOC_JSON, false);
    assert_guess(NULL, "[\n  1\n]", DOC_JSON, false);
    assert_guess(NULL, "{\"a\": \"```json dispatch\\n\"}", DOC_JSON, false);
    assert_guess(NULL, "[a]\nx = 1\n", DOC_TOML, false);
    assert_guess(NULL, "# c: d\n\n[[tasks]] # x\nid = 'a'\n", DOC_TOML, false);
    assert_guess(NULL, "name = \"a: b\"\n", DOC_TOML, false);
    assert_guess(NULL, "a.b = 1\n", DOC_TOML, false);
    assert_guess(NULL, "prompt: a = b\nc = d\n", DOC_YAML, false);
    assert_guess(NULL, "- a\n- b = c\n", DOC_YAML, false);
    assert_guess(NULL, "---\na: 1\n", DOC_YAML, false);
    assert_guess(NULL, "", DOC_YAML, false);
    assert_guess(NULL, "---\r\na: 1\r\n---\r\nb = 1\r\n", DOC_YAML, true);
    assert_guess(NULL, "# H\n\nNote: a = b\n\n> ~~~json  dispatch\n> {}\n> ~~~\n", DOC_JSON, true);
}

static void test_given_syntax(void **state)
{
    (void)state;
    autoproblems struct problems ps;
    struct doc doc;
    struct doc_options opts = {.syntax = DOC_TOML};
    problems_init(&ps, "x");
    assert_int_equal(doc_parse(&doc, "x.json", "a = 1", 5, &opts, &ps), 0);
    assert_int_equal(doc.syntax, DOC_TOML);
    doc_done(&doc);
}

static void test_load_missing(void **state)
{
    (void)state;
    autoproblems struct problems ps;
    autobuf struct buf line = BUF_INIT;
    struct doc doc;
    problems_init(&ps, "no/such.yaml");
    assert_int_equal(doc_load(&doc, "no/such.yaml", NULL, &ps), -1);
    problem_format(&ps, &ps.list.v[0], &line);
    assert_string_equal(line.s, "no/such.yaml: cannot be read: No such file or directory\n");
    doc_done(&doc);
}

static void load_stdin(const char *text, enum doc_syntax syntax)
{
    int fds[2], saved = dup(STDIN_FILENO);
    autoproblems struct problems ps;
    struct doc doc;
    problems_init(&ps, "-");
    assert_true(saved >= 0);
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(write(fds[1], text, strlen(text)), strlen(text));
    assert_int_equal(close(fds[1]), 0);
    assert_true(dup2(fds[0], STDIN_FILENO) >= 0);
    assert_int_equal(close(fds[0]), 0);
    int result = doc_load(&doc, "-", NULL, &ps);
    assert_true(dup2(saved, STDIN_FILENO) >= 0);
    assert_int_equal(close(saved), 0);
    assert_int_equal(result, 0);
    assert_int_equal(doc.syntax, syntax);
    assert_non_null(node_get(doc.root, "tasks"));
    doc_done(&doc);
}

static void test_load_stdin(void **state)
{
    (void)state;
    load_stdin("tasks:\n  - id: a\n", DOC_YAML);
    load_stdin("---\ntasks: []\n---\nprose\n", DOC_YAML);
    load_stdin("[[tasks]]\nid = 'a'\n", DOC_TOML);
    load_stdin("{\"tasks\": []}\n", DOC_JSON);
    load_stdin("# T\n\n```json dispatch\n{\"tasks\": []}\n```\n", DOC_JSON);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_tree),
        cmocka_unit_test(test_json_refused),
        cmocka_unit_test(test_yaml_tree),
        cmocka_unit_test(test_yaml_core_schema),
        cmocka_unit_test(test_yaml_numbers),
        cmocka_unit_test(test_yaml_blocks),
        cmocka_unit_test(test_yaml_long_texts),
        cmocka_unit_test(test_yaml_guarded),
        cmocka_unit_test(test_yaml_aliases),
        cmocka_unit_test(test_yaml_alias_bombs),
        cmocka_unit_test(test_yaml_merge_key),
        cmocka_unit_test(test_yaml_refused),
        cmocka_unit_test(test_yaml_many_keys),
        cmocka_unit_test(test_toml_tree),
        cmocka_unit_test(test_toml_refused),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_markdown_front_matter),
        cmocka_unit_test(test_markdown_block),
        cmocka_unit_test(test_markdown_both),
        cmocka_unit_test(test_markdown_refused),
        cmocka_unit_test(test_bytes_refused),
        cmocka_unit_test(test_size_limit),
        cmocka_unit_test(test_syntax_by_name),
        cmocka_unit_test(test_syntax_by_text),
        cmocka_unit_test(test_given_syntax),
        cmocka_unit_test(test_load_missing),
        cmocka_unit_test(test_load_stdin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
