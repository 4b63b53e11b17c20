/*
 * git's tree objects, as the bytes that they are: "MODE NAME\0ID" again and again, sorted by name,
 * where the name of a folder counts as if it had a slash behind it.
 */
#ifndef GIT_FORMAT_TREE_H
#define GIT_FORMAT_TREE_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* Points into the tree's bytes. */
struct tree_entry {
    const char *mode; /* octal, with a space behind it */
    const char *name;
    size_t len; /* of the name */
    const unsigned char *id;
    bool is_tree;
};

/* Reads the entry at *pos and moves *pos behind it; id_len is the length of a binary id. False at
 * the end. Bytes that are no tree are ERR_ENV. */
bool tree_next(const struct buf *tree, size_t id_len, size_t *pos, struct tree_entry *ret,
               struct err *err);

/* The order of a tree's entries. */
int tree_compare(const struct tree_entry *a, const struct tree_entry *b);

/* Mode and id are the same; the names are not looked at. */
bool tree_same(const struct tree_entry *a, const struct tree_entry *b, size_t id_len);

/* Whether its mode is one that git writes: old programs wrote others (100664, 040000), which git
 * makes one of these when it writes the tree anew. */
bool tree_is_usual(const struct tree_entry *e);

/* Appends an entry; the id is hexadecimal. */
void tree_add(struct buf *tree, const char *mode, const char *name, size_t len, const char *id);

/* Appends an id in hexadecimal digits. */
void tree_id(struct buf *out, const unsigned char *id, size_t id_len);

#endif
