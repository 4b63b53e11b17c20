/*
 * struct http_head: the head of an HTTP/1.1 request. We read it strictly: we accept the requests of
 * browsers and curl, and refuse anything ambiguous.
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
    const char *name; /* header names are in lower case */
    const char *value;
};

struct http_head {
    struct arena arena; /* holds all strings below */
    const char *method;
    const char *parts[HTTP_PARTS_MAX]; /* of the path, decoded. No part is empty, "." or "..", or
                                          contains a slash or a control character */
    size_t part_count;                 /* 0: the path is "/" */
    struct http_field query[HTTP_FIELDS_MAX], headers[HTTP_FIELDS_MAX];
    size_t query_count, header_count;
    int64_t length; /* of the body */
    bool close;     /* this is the last request of its connection */
};

/* Length of the head in s, including the empty line at its end; 0 if that line has not arrived
 * yet. */
size_t http_head_length(const char *s, size_t len);

/* Reads a head of `len` bytes. Returns -1 if we refuse it; then *ret_status is the status of the
 * answer. Release *head in every case. */
int http_head_read(struct http_head *head, const char *s, size_t len, int *ret_status);
void http_head_done(struct http_head *head);

/* The value of a header (name in lower case) or of a query field; NULL if it is missing. */
const char *http_header(const struct http_head *head, const char *name);
const char *http_query(const struct http_head *head, const char *name);

/* Reads a number of the query, or `otherwise` if the field is missing. False if the value is no
 * number of at least 0. */
bool http_query_int(const struct http_head *head, const char *name, int64_t otherwise,
                    int64_t *ret);

const char *http_status_text(int status); /* "Not Found" */

#endif
