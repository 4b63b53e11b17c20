/*
 * struct git_index: git's index, read without git: the entries in their order, and extensions.
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
    const unsigned char *at, *end; /* the checksum is behind the end */
    size_t id_len;                 /* of a binary id */
    uint32_t version, left;        /* entries that are still to come */
    bool good;                     /* false: it is split, damaged or of an unknown kind */
    bool nameless;                 /* set by who wants no paths, which is faster: none is right */
};

struct git_index_entry {
    const char *path;                /* until the next one is read */
    const unsigned char *id;         /* as long as the index is open */
    uint32_t ctime, ctime_ns, mtime, /* low bits, where the file system has more */
        mtime_ns, ino, mode, size;
    bool unmerged;
    bool intended; /* git add -N: there is no content yet */
    bool unseen;   /* git was told not to look at it in the work tree */
    bool unsorted; /* its path is not behind that of the last one; not known without paths */
};

/* What mode is of, by its highest bits. */
enum { GIT_INDEX_KIND = 0170000, GIT_INDEX_FOLDER = 0040000, GIT_INDEX_SUBMODULE = 0160000 };

/* No file is an empty index. id_len is that of an id in hexadecimal digits. */
int git_index_open(struct git_index *index, const char *path, size_t id_len, struct err *err);
void git_index_done(struct git_index *index);
#define autogitindex own_cleanup(git_index_done)

/* False at the end, and where it cannot be read on: `good` tells. */
bool git_index_next(struct git_index *index, struct git_index_entry *ret);

/* Whether it is just a file or a symlink, and git looks at it as usual. */
bool git_index_is_plain(const struct git_index_entry *e);

/* Whether it is called .gitattributes. */
bool git_index_is_attributes(const struct git_index_entry *e);

/* Whether that is still the same index: git never writes into one, it puts another in its place. */
bool git_index_is_same(const struct stat *a, const struct stat *b);

/* Whether a file is by its stat data what the entry says; the time of its last change of any kind
 * is not looked at. */
bool git_index_fits(const struct git_index_entry *e, const struct stat *st);

/* Where an entry begins, by its id, and how long it is; in an index of version 2. */
enum { GIT_INDEX_ID = 40 };
size_t git_index_length(size_t path_len, size_t id_len);

/* Gives the bytes of an entry the stat data of a file; what kind of file it is stays. */
void git_index_set_stat(unsigned char *entry, const struct stat *st);

/* Appends an entry, in an index of version 2. */
void git_index_add(struct buf *out, const char *path, uint32_t mode, const char *id,
                   const struct stat *st);

/* The same of an entry of an index of any version, as it would be without stat data. */
void git_index_add_blank(struct buf *out, const struct git_index_entry *e, size_t id_len);

/* Writes an index of version 2 to a file that must not exist: so many entries, and what is to stand
 * in its extension "TREE", if anything. id_len is that of a binary id. */
int git_index_write(const char *path, const struct buf *entries, size_t n, const char *trees,
                    size_t trees_len, size_t id_len, struct err *err);

/* Whether a time is what the index has of one: low bits, and no fraction of seconds where git was
 * built that way. */
bool git_index_same_time(const struct timespec *t, uint32_t seconds, uint32_t ns);

/* The extension of that name, once all entries are read; false where there is none. */
bool git_index_extension(const struct git_index *index, const char name[4], const char **ret_start,
                         size_t *ret_len);

/* A node of the extension "TREE", which has the trees that are known of folders, those below a
 * folder behind it. */
struct git_index_node {
    const char *name; /* in its folder; "" for the root */
    long entries;     /* of the index that are in it; below 0: its tree is not known */
    long subtrees;    /* nodes that are right below it */
    const unsigned char *id;
};

/* Reads the node at *at and moves *at behind it; false where there is none before the end. */
bool git_index_node(const struct git_index *index, const char **at, const char *end,
                    struct git_index_node *ret);

/* The tree of the whole, once all entries are read; NULL where it is not known. */
const unsigned char *git_index_root(const struct git_index *index);

#endif
