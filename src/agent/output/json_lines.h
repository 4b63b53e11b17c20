/*
 * struct json_lines: JSON Lines as they come, in pieces of any size. The fields that someone wants
 * are handed over; all else is passed over without being kept, so that memory is bounded whatever a
 * line holds. A line that is no JSON object, or is cut off, is junk.
 *
 *     static const struct json_field fields[] = {
 *         {"type", TYPE},
 *         {"message.content[]", BLOCK},            an object or list is opened and closed
 *         {"message.content[].text", BLOCK_TEXT},  "[]" stands for every element
 *         {"usage.*.tokens", TOKENS},              "*" for every member that is not named
 *     };
 *
 * What a line says counts once json_fn has had its JSON_LINE; until then it may turn out as junk.
 */
#ifndef AGENT_OUTPUT_JSON_LINES_H
#define AGENT_OUTPUT_JSON_LINES_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_field {
    const char *path; /* without an empty part; keys with a '.' or '[' cannot be named */
    int id;           /* 0 or more */
};

enum json_kind {
    JSON_NULL,
    JSON_FALSE,
    JSON_TRUE,
    JSON_NUMBER, /* its digits as they are */
    JSON_STRING, /* decoded; what is no character is U+FFFD, bytes that are not UTF-8 stay */
    JSON_OPEN,   /* of an object or list */
    JSON_CLOSE,
    JSON_LINE, /* the line was whole; it has no id */
    JSON_JUNK, /* it was not: what was said of it does not count */
};

/* The text of a string or number is valid during the call, and has a NUL behind it. */
typedef void json_fn(void *ctx, int id, enum json_kind kind, const char *text, size_t len);

enum { JSON_TEXT_MAX = 64 << 10 }; /* bytes: a longer text is cut there */
enum { JSON_DEPTH_MAX = 12 };      /* parts of a path */

struct json_node; /* of the tree that the paths make */

struct json_lines {
    json_fn *fn;
    void *ctx;
    struct json_node *nodes;
    int state;
    struct {
        int node;
        bool list;
    } open[JSON_DEPTH_MAX];
    size_t depth;    /* of `open` */
    uint64_t passed; /* objects and lists that are open inside of one that nobody wants */
    int node;        /* what the value that comes is, or -1 */
    struct buf text; /* key, string or number so far */
    int escape;      /* how much of an escape is still to come, backslash included */
    unsigned unit, surrogate;
};

/* Every path has at most JSON_DEPTH_MAX parts; "a[]" are two. */
void json_lines_init(struct json_lines *j, const struct json_field *fields, size_t n, json_fn *fn,
                     void *ctx);
void json_lines_done(struct json_lines *j);

void json_lines_feed(struct json_lines *j, const char *bytes, size_t n);

/* Nothing more will come: what is left is a line too, though nothing ends it. */
void json_lines_end(struct json_lines *j);

#endif
