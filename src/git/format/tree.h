/*
 * git's tree objects as bytes: a list of "MODE NAME\0ID", sorted by name. Folders are sorted as if
 * their names ended with a slash.
 */
#ifndef GIT_FORMAT_TREE_H
#define GIT_FORMAT_TREE_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* Points into the tree's bytes. */
struct tree_entry {
    const char *mode; /* octal, followed by a space */
    const char *name;
    size_t len; /* of the name */
    const unsigned char *id;
    bool is_tree;
};

/* Reads the entry at *pos and advances *pos; id_len is the length of a binary id. Returns false at
 * the end, and with ERR_ENV if the bytes are not a tree. */
bool tree_next(const struct buf *tree, size_t id_len, size_t *pos, struct tree_entry *ret,
               struct err *err);

/* Compares entries in the order of a tree. */
int tree_compare(const struct tree_entry *a, const struct tree_entry *b);

/* True if mode and id are the same; ignores the names. */
bool tree_same(const struct tree_entry *a, const struct tree_entry *b, size_t id_len);

/* True if git still writes this mode. Old programs wrote others (100664, 040000), which git
 * replaces when it rewrites the tree. */
bool tree_is_usual(const struct tree_entry *e);

/* Appends an entry; the id is hexadecimal. */
void tree_add(struct buf *tree, const char *mode, const char *name, size_t len, const char *id);

/* Appends an id in hexadecimal digits. */
void tree_id(struct buf *out, const unsigned char *id, size_t id_len);

#endif
