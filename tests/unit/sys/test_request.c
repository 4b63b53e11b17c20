/* The head of a request: which ones we accept, and the status for those that we reject. */
#include "base/mem.h"
#include "sys/http/request.h"

#include "base/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define END  "\r\n\r\n"
#define HOST "\r\nHost: h"

static int read_status(const char *s)
{
    struct http_head head;
    int status = 0;
    int rc = http_head_read(&head, s, strlen(s), &status);
    http_head_done(&head);
    return rc ? status : 200;
}

static void reads_a_request(void **state)
{
    static const char s[] = "GET /api/runs/a%20b?from=12&q=a+b%26c&on HTTP/1.1\r\nHOST:  x:1 \r\n"
                            "X-Empty:\r\nContent-Length: 7" END "1234567";
    struct http_head head;
    int status;
    int64_t from, other;
    (void)state;
    size_t len = http_head_length(s, strlen(s));
    assert_int_equal(len, strlen(s) - 7);
    assert_int_equal(http_head_length(s, len - 1), 0);
    assert_int_equal(http_head_read(&head, s, len, &status), 0);
    assert_string_equal(head.method, "GET");
    assert_int_equal(head.part_count, 3);
    assert_string_equal(head.parts[2], "a b");
    assert_string_equal(http_query(&head, "q"), "a b&c");
    assert_string_equal(http_query(&head, "on"), "");
    assert_null(http_query(&head, "off"));
    assert_string_equal(http_header(&head, "host"), "x:1");
    assert_string_equal(http_header(&head, "x-empty"), "");
    assert_true(http_query_int(&head, "from", 0, &from) && from == 12);
    assert_true(http_query_int(&head, "none", 5, &other) && other == 5);
    assert_false(http_query_int(&head, "q", 0, &other));
    assert_int_equal(head.length, 7);
    assert_false(head.close);
    http_head_done(&head);
}

static void knows_when_it_is_the_last(void **state)
{
    struct http_head head;
    int status;
    (void)state;
    static const char *const last[] = {"GET / HTTP/1.0" HOST END,
                                       "GET / HTTP/1.1" HOST "\r\nConnection: Close" END};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(http_head_read(&head, last[i], strlen(last[i]), &status), 0);
        assert_int_equal(head.part_count, 0);
        assert_true(head.close);
        http_head_done(&head);
    }
}

static void refuses_what_could_be_read_in_two_ways(void **state)
{
    static const struct {
        const char *head;
        int status;
    } cases[] = {
        {"GET / HTTP/1.1" HOST END, 200},
        {"GET /a HTTP/1.1" END, 400}, /* no host */
        {"GET  / HTTP/1.1" HOST END, 400},
        {"GET / HTTP/1.1 " HOST END, 400},
        {"GET / HTTP/2.0" HOST END, 505},
        {"G@T / HTTP/1.1" HOST END, 400},
        {" GET / HTTP/1.1" HOST END, 400},
        {"GET http://h/ HTTP/1.1" HOST END, 400},
        {"GET /#a HTTP/1.1" HOST END, 400},
        {"GET /\x01 HTTP/1.1" HOST END, 400},
        {"GET /\xc3\xa4 HTTP/1.1" HOST END, 400},
        {"GET /a/../b HTTP/1.1" HOST END, 400},
        {"GET /a/%2e%2E/b HTTP/1.1" HOST END, 400},
        {"GET /./a HTTP/1.1" HOST END, 400},
        {"GET /a//b HTTP/1.1" HOST END, 400},
        {"GET /a/ HTTP/1.1" HOST END, 400},
        {"GET /a%2fb HTTP/1.1" HOST END, 400},
        {"GET /a%00 HTTP/1.1" HOST END, 400},
        {"GET /a%0a HTTP/1.1" HOST END, 400},
        {"GET /a%4 HTTP/1.1" HOST END, 400},
        {"GET /a%zz HTTP/1.1" HOST END, 400},
        {"GET /?a=%zz HTTP/1.1" HOST END, 400},
        {"GET / HTTP/1.1" HOST "\r\nHost: h" END, 400},
        {"GET / HTTP/1.1" HOST "\r\n folded: x" END, 400},
        {"GET / HTTP/1.1" HOST "\r\nA : x" END, 400},
        {"GET / HTTP/1.1" HOST "\r\nno colon" END, 400},
        {"GET / HTTP/1.1" HOST "\r\nA: x\ny" END, 400},
        {"GET / HTTP/1.1" HOST "\r\nA: x\ry" END, 400},
        {"GET / HTTP/1.1\nHost: h\n\r\n\r\n", 400},
        {"POST / HTTP/1.1" HOST "\r\nContent-Length: 1, 1" END, 400},
        {"POST / HTTP/1.1" HOST "\r\nContent-Length: -1" END, 400},
        {"POST / HTTP/1.1" HOST "\r\nContent-Length: 1\r\nContent-Length: 1" END, 400},
        {"POST / HTTP/1.1" HOST "\r\nContent-Length: 99999999999999999999" END, 400},
        {"POST / HTTP/1.1" HOST "\r\nTransfer-Encoding: chunked" END, 501},
        {"POST / HTTP/1.1" HOST "\r\nExpect: 100-continue" END, 417},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        if (read_status(cases[i].head) != cases[i].status)
            fail_msg("%d, not %d: %s", read_status(cases[i].head), cases[i].status, cases[i].head);
    }
}

static void has_limits(void **state)
{
    autobuf struct buf line = BUF_INIT, fields = BUF_INIT, parts = BUF_INIT;
    (void)state;
    buf_addstr(&line, "GET /");
    buf_addrep(&line, 'a', HTTP_LINE_MAX);
    buf_addstr(&line, " HTTP/1.1" HOST END);
    assert_int_equal(read_status(line.s), 414);
    buf_addstr(&fields, "GET / HTTP/1.1" HOST);
    for (size_t i = 0; i < HTTP_FIELDS_MAX; i++)
        buf_addstr(&fields, "\r\nA: b");
    buf_addstr(&fields, END);
    assert_int_equal(read_status(fields.s), 431);
    buf_addstr(&parts, "GET ");
    for (size_t i = 0; i <= HTTP_PARTS_MAX; i++)
        buf_addstr(&parts, "/a");
    buf_addstr(&parts, " HTTP/1.1" HOST END);
    assert_int_equal(read_status(parts.s), 400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_request),
        cmocka_unit_test(knows_when_it_is_the_last),
        cmocka_unit_test(refuses_what_could_be_read_in_two_ways),
        cmocka_unit_test(has_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
