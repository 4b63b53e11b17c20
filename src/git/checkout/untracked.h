/*
 * struct untracked: the files of the user's work tree that git does not track, ignored ones too, as
 * of the last look; and the content of the small ones as of the first look, so that a file that is
 * overwritten or deleted can be had back.
 *
 * A look starts no process. It reads the names in each folder and the stat data of each file that
 * is not tracked. It is bounded: where a folder without tracked files has more than FOLDER_MAX
 * entries (node_modules), we see which of the first ones change or go, and not what is new there;
 * and FILES_MAX files are all that we look at.
 *
 * Of another repository inside we do not look into .git.
 */
#ifndef GIT_CHECKOUT_UNTRACKED_H
#define GIT_CHECKOUT_UNTRACKED_H

#include "base/err.h"
#include "base/strv.h"
#include "base/vec.h"

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

enum {
    UNTRACKED_FOLDER_MAX = 5000,
    UNTRACKED_FILES_MAX = 20000,
    UNTRACKED_KEPT_MAX = 128 << 10,   /* bytes of a file */
    UNTRACKED_KEPT_ALL_MAX = 2 << 20, /* of all of them */
    UNTRACKED_KEPT_FILES_MAX = 500,
};

struct untracked_file {
    char *path; /* relative to the work tree; that of a folder has a slash behind it */
    off_t size;
    ino_t ino;
    mode_t mode;
    struct timespec mtime, ctime;
    bool in_folder; /* in which nothing is tracked */
    char *content;  /* as of the first look; NULL: it was not kept, or the file is new since */
    size_t len;
};

typedef VEC(struct untracked_file) untracked_files;

struct untracked {
    char *root, *index;
    size_t id_len;
    struct strv skipped;    /* files, and folders with a slash behind each, that are left out */
    untracked_files files;  /* sorted by path */
    struct timespec looked; /* when the last look began */
    struct strv full;       /* folders with too many entries, sorted, likewise */
};

struct untracked_change {
    struct untracked_file was, is; /* path is NULL in the one that does not exist */
};

/* What a look has found; the strings and contents are its own. */
struct untracked_changes {
    VEC(struct untracked_change) list;
};
void untracked_changes_done(struct untracked_changes *changes);
#define autountracked own_cleanup(untracked_changes_done)

/* Takes the first look. id_len is that of an id in hexadecimal digits. */
int untracked_open(struct untracked *u, const char *root, const char *index, size_t id_len,
                   const struct strv *skipped, struct err *err);
void untracked_close(struct untracked *u);

/* Looks again, and appends what has changed since the last look, sorted by path; without `changes`
 * nobody wants to know. */
int untracked_look(struct untracked *u, struct untracked_changes *changes, struct err *err);

#endif
