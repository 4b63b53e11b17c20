/*
 * struct node: one value of a document tree, whatever syntax it came from, with the place where it
 * was written. Trees live in an arena and are freed with it.
 *
 * Maps keep the order of the file. Strings and keys are UTF-8, may hold NUL bytes, and have a NUL
 * behind them. `key` is what the file says; `name` is what the program reads: the two differ after
 * a foreign word was translated, and messages always show the former.
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
    uint32_t line, col; /* from 1; columns count characters; 0 is "not known" */
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
        struct { /* scalars: the characters written (decoded), and the value of the others */
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

/* Links child at the end of a list. */
void node_append(struct node *list, struct node *child);

/* Links child at the end of a map under a copy of key; duplicates are the reader's business. */
void node_put(struct arena *a, struct node *map, const char *key, size_t len, struct pos key_pos,
              struct node *child);

/* Takes child out of the list or map that links it. Linear. */
void node_unlink(struct node *from, struct node *child);

/* Links a node that was made elsewhere at the end of a list or map, where it is read as `name`. It
 * keeps its own key and parent, so that messages go on to say what the file says. */
void node_link(struct node *to, struct node *child, const char *name);

/* The member that is read as `name`, or NULL. Linear: for maps whose size the program bounds. */
struct node *node_get(const struct node *map, const char *name);

const char *node_kind_name(enum node_kind kind); /* with its article: "a string", "a list" */

/* The path of a node as the file spells it: "tasks[3].depends_on[0]"; "" for the root. Keys that
 * are not plain words are quoted: env["a b"]. */
void node_path(const struct node *node, struct buf *out);

#endif
