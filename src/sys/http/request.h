/*
 * struct http_head: the head of a request of HTTP/1.1, read strictly: what a browser or curl sends
 * is understood, and what could be read in two ways is refused.
 */
#ifndef SYS_HTTP_REQUEST_H
#define SYS_HTTP_REQUEST_H

#include "base/arena.h"
#include "base/own.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HTTP_LINE_MAX = 8 << 10, HTTP_FIELDS_MAX = 64, HTTP_PARTS_MAX = 16 };

struct http_field {
    const char *name; /* of headers in lower case */
    const char *value;
};

struct http_head {
    struct arena arena; /* holds all that is below */
    const char *method;
    const char *parts[HTTP_PARTS_MAX]; /* of the path, decoded: none is empty, "." or "..", or has a
                                          slash or a control character in it */
    size_t part_count;                 /* 0: the path is "/" */
    struct http_field query[HTTP_FIELDS_MAX], headers[HTTP_FIELDS_MAX];
    size_t query_count, header_count;
    int64_t length; /* of the body */
    bool close;     /* this is to be the last request of its connection */
};

/* Bytes of the head in s, with the empty line that ends it; 0 where that has not come yet. */
size_t http_head_length(const char *s, size_t len);

/* Reads a head of so many bytes. -1 where it is refused; *ret_status is then the status to answer
 * with. To be released in every case. */
int http_head_read(struct http_head *head, const char *s, size_t len, int *ret_status);
void http_head_done(struct http_head *head);

/* The value of a header (in lower case) or of a word of the query; NULL where there is none. */
const char *http_header(const struct http_head *head, const char *name);
const char *http_query(const struct http_head *head, const char *name);

/* A number of the query; what it otherwise is where there is none. False where it is no number from
 * 0 on. */
bool http_query_int(const struct http_head *head, const char *name, int64_t otherwise,
                    int64_t *ret);

const char *http_status_text(int status); /* "Not Found" */

#endif
