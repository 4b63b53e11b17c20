/*
 * struct node: one value of a document tree, in any syntax, with its position in the file. Trees
 * live in an arena and are freed with it.
 *
 * Maps keep the order of the file. Strings and keys are UTF-8, may contain NUL bytes, and end with
 * a NUL. `key` is the word in the file; `name` is the word that the program reads. The two differ
 * after we translated a foreign key. Messages always show `key`.
 */
#ifndef BASE_NODE_NODE_H
#define BASE_NODE_NODE_H

#include "base/arena.h"
#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum node_kind {
    NODE_NULL,
    NODE_BOOL,
    NODE_INT,
    NODE_REAL,
    NODE_STRING,
    NODE_TIME, /* a date or time of TOML; `text` holds its RFC 3339 form */
    NODE_LIST,
    NODE_MAP,
};

struct pos {
    uint32_t line, col; /* from 1; columns count characters; 0 means "unknown" */
};

struct node {
    enum node_kind kind;
    bool plain;     /* scalar without quotes, so that YAML 1.1 would read `yes` as a boolean */
    uint32_t index; /* place in the parent */
    struct pos pos, key_pos;
    const char *key, *name; /* NULL in lists and for the root */
    size_t key_len;
    struct node *parent, *next;
    union {
        struct { /* scalars: the decoded text, and the value of booleans and numbers */
            const char *text;
            size_t len;
            union {
                bool truth;
                int64_t integer;
                double real;
            };
        };
        struct { /* lists and maps */
            struct node *first, *last;
            size_t n;
        };
    };
};

#define node_each(child, parent)                                                                   \
    for (struct node *child = (parent)->first; child; child = child->next)

struct node *node_new(struct arena *a, enum node_kind kind, struct pos pos);
struct node *node_string(struct arena *a, const char *s, size_t len, struct pos pos); /* copies */

/* Appends child to a list. */
void node_append(struct node *list, struct node *child);

/* Appends child to a map under a copy of key. The reader checks for duplicates. */
void node_put(struct arena *a, struct node *map, const char *key, size_t len, struct pos key_pos,
              struct node *child);

/* Removes child from the list or map that links it. Linear. */
void node_unlink(struct node *from, struct node *child);

/* Appends a node from elsewhere to a list or map, under the name `name`. The node keeps its own key
 * and parent, so messages still show the words of the file. */
void node_link(struct node *to, struct node *child, const char *name);

/* Finds the member with this name, or NULL. Linear: use it for maps of bounded size only. */
struct node *node_get(const struct node *map, const char *name);

const char *node_kind_name(enum node_kind kind); /* with an article: "a string", "a list" */

/* Appends the path of a node in the words of the file: "tasks[3].depends_on[0]"; "" for the root.
 * Quotes keys that are not plain words: env["a b"]. */
void node_path(const struct node *node, struct buf *out);

#endif
