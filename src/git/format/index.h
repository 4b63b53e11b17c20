/*
 * struct git_index: reads git's index without git: the entries in their order, and the extensions.
 * Versions 2, 3 and 4 (gitformat-index(5)).
 *
 *     autogitindex struct git_index index;
 *     if (git_index_open(&index, path, id_len, err))
 *         return -1;
 *     for (struct git_index_entry e; git_index_next(&index, &e);)
 *         ...
 *     if (!index.good) ...
 */
#ifndef GIT_FORMAT_INDEX_H
#define GIT_FORMAT_INDEX_H

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct git_index {
    struct buf bytes, name;
    const unsigned char *at, *end; /* the checksum follows the end */
    size_t id_len;                 /* of a binary id */
    uint32_t version, left;        /* number of entries not yet read */
    bool good;                     /* false: the index is split, damaged or of an unknown kind */
    bool nameless; /* set by callers that need no paths, which is faster: no path is valid then */
};

struct git_index_entry {
    const char *path;                /* valid until the next entry is read */
    const unsigned char *id;         /* valid until the index is closed */
    uint32_t ctime, ctime_ns, mtime, /* the low bits of larger values */
        mtime_ns, ino, mode, size;
    bool unmerged;
    bool intended; /* git add -N: no content yet */
    bool unseen;   /* git does not check the file in the work tree */
    bool unsorted; /* its path does not sort after the last one; unknown without paths */
};

/* The highest bits of `mode`: the kind of entry. */
enum { GIT_INDEX_KIND = 0170000, GIT_INDEX_FOLDER = 0040000, GIT_INDEX_SUBMODULE = 0160000 };

/* A missing file is an empty index. id_len is the length of an id in hexadecimal digits. */
int git_index_open(struct git_index *index, const char *path, size_t id_len, struct err *err);
void git_index_done(struct git_index *index);
#define autogitindex own_cleanup(git_index_done)

/* The index of a work tree, to be freed; and its stat data, all zero if there is none. */
char *git_index_path(const char *git_dir);
struct stat git_index_stat(const char *path);

/* Returns false at the end and on an error: check `good`. */
bool git_index_next(struct git_index *index, struct git_index_entry *ret);

/* True for an ordinary file or symlink that git checks as usual. */
bool git_index_is_plain(const struct git_index_entry *e);

/* True if the name of the file is .gitattributes. */
bool git_index_is_attributes(const char *path);

/* True if both are the same index: git never writes into an index, it replaces the file. */
bool git_index_is_same(const struct stat *a, const struct stat *b);

/* True if the stat data of a file matches the entry, except ctime. */
bool git_index_fits(const struct git_index_entry *e, const struct stat *st);

/* In version 2: the offset of the id in an entry, and the length of an entry. */
enum { GIT_INDEX_ID = 40 };
size_t git_index_length(size_t path_len, size_t id_len);

/* Writes the stat data of a file into the bytes of an entry, except the kind of file. */
void git_index_set_stat(unsigned char *entry, const struct stat *st);

/* Appends an entry in the format of version 2. */
void git_index_add(struct buf *out, const char *path, uint32_t mode, const char *id,
                   const struct stat *st);

/* Appends an entry, read from an index of any version, in the format of version 2 and without stat
 * data. */
void git_index_add_blank(struct buf *out, const struct git_index_entry *e, size_t id_len);

/* Writes an index of version 2, with n entries, to a file that must not exist. `trees` is the
 * content of its extension "TREE", if any. id_len is the length of a binary id. */
int git_index_write(const char *path, const struct buf *entries, size_t n, const char *trees,
                    size_t trees_len, size_t id_len, struct err *err);

/* True if a time equals a time in the index, which holds only the low bits, and no fraction of
 * seconds if git was built without them. */
bool git_index_same_time(const struct timespec *t, uint32_t seconds, uint32_t ns);

/* Finds an extension by its name, after all entries have been read; false if there is none. */
bool git_index_extension(const struct git_index *index, const char name[4], const char **ret_start,
                         size_t *ret_len);

/* A node of the extension "TREE", which lists the known trees of folders. The nodes of subfolders
 * follow that of their folder. */
struct git_index_node {
    const char *name; /* relative to its folder; "" for the root */
    long entries;     /* number of index entries in it; below 0: its tree is unknown */
    long subtrees;    /* number of direct subfolders */
    const unsigned char *id;
};

/* Reads the node at *at and advances *at; false if there is none before the end. */
bool git_index_node(const struct git_index *index, const char **at, const char *end,
                    struct git_index_node *ret);

/* The id of the root tree, after all entries have been read; NULL if it is unknown. */
const unsigned char *git_index_root(const struct git_index *index);

#endif
