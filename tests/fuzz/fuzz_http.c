/*
 * The head of a request: for any bytes, the accepted parts are harmless, and each rejection has a
 * status.
 */
#include "fuzz.h"

#include "sys/http/request.h"

#include <string.h>

static void check_part(const char *part)
{
    fuzz_check(*part && !strchr(part, '/') && strcmp(part, ".") != 0 && strcmp(part, "..") != 0);
    for (; *part; part++)
        fuzz_check((unsigned char)*part >= ' ' && *part != 0x7f);
}

static void check_head(const struct http_head *head)
{
    fuzz_check(head->part_count <= HTTP_PARTS_MAX && head->length >= 0);
    for (size_t i = 0; i < head->part_count; i++)
        check_part(head->parts[i]);
    for (size_t i = 0; i < head->header_count; i++) {
        fuzz_check(!strpbrk(head->headers[i].name, " :\t\r\n") && *head->headers[i].name);
        fuzz_check(!strpbrk(head->headers[i].value, "\r\n"));
    }
    fuzz_check(http_header(head, "host") && !http_header(head, "transfer-encoding"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *s = (const char *)data;
    struct http_head head;
    int status = 0;
    size_t len = http_head_length(s, size);
    fuzz_check(len <= size);
    if (http_head_read(&head, s, len ? len : size, &status) == 0) {
        fuzz_check(len);
        check_head(&head);
    } else {
        fuzz_check(status >= 400 && status < 600);
    }
    http_head_done(&head);
    return 0;
}
