/*
 * struct json_lines: reads JSON Lines in pieces of any size. Passes the wanted fields to a
 * callback and skips everything else, so that memory stays bounded whatever a line contains. A
 * line that is not a JSON object, or is cut off, is junk.
 *
 *     static const struct json_field fields[] = {
 *         {"type", TYPE},
 *         {"message.content[]", BLOCK},            an object or list is opened and closed
 *         {"message.content[].text", BLOCK_TEXT},  "[]" stands for every element
 *         {"usage.*.tokens", TOKENS},              "*" for every member that is not named
 *     };
 *
 * The values of a line count only after json_fn has received its JSON_LINE; until then the line
 * may still be junk.
 */
#ifndef AGENT_OUTPUT_JSON_LINES_H
#define AGENT_OUTPUT_JSON_LINES_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_field {
    const char *path; /* has no empty part; cannot name keys with a '.' or '[' */
    int id;           /* 0 or more */
};

enum json_kind {
    JSON_NULL,
    JSON_FALSE,
    JSON_TRUE,
    JSON_NUMBER, /* the digits, unchanged */
    JSON_STRING, /* decoded; an invalid escape becomes U+FFFD, bytes that are not UTF-8 stay */
    JSON_OPEN,   /* beginning of an object or list */
    JSON_CLOSE,
    JSON_LINE, /* the line was complete; has no id */
    JSON_JUNK, /* the line was not valid: ignore its values */
};

/* The text of a string or number is valid during the call and ends with a NUL. */
typedef void json_fn(void *ctx, int id, enum json_kind kind, const char *text, size_t len);

enum { JSON_TEXT_MAX = 64 << 10 }; /* bytes; longer texts are cut */
enum { JSON_DEPTH_MAX = 12 };      /* parts of a path */

struct json_node; /* a node of the tree of paths */

struct json_lines {
    json_fn *fn;
    void *ctx;
    struct json_node *nodes;
    int state;
    struct {
        int node;
        bool list;
    } open[JSON_DEPTH_MAX];
    size_t depth;     /* of `open` */
    uint64_t skipped; /* number of open objects and lists in a value that we skip */
    int node;         /* node of the next value, or -1 */
    struct buf text;  /* key, string or number so far */
    int escape;       /* characters of an escape still to come, including the backslash */
    unsigned unit, surrogate;
};

/* Every path has at most JSON_DEPTH_MAX parts; "a[]" has two. */
void json_lines_init(struct json_lines *j, const struct json_field *fields, size_t n, json_fn *fn,
                     void *ctx);
void json_lines_done(struct json_lines *j);

void json_lines_feed(struct json_lines *j, const char *bytes, size_t n);

/* Call this at the end of the input: the rest is a line too, even without a line end. */
void json_lines_end(struct json_lines *j);

#endif
