/*
 * struct untracked: a snapshot of the files in the user's work tree that git does not track,
 * including ignored ones. It keeps the content of small files from the first check, so that a file
 * can be restored after it is overwritten or deleted.
 *
 * A check starts no process. It reads the names in each folder and the stat data of each untracked
 * file. It is bounded: in a folder without tracked files that has more than FOLDER_MAX entries
 * (node_modules) we notice when one of the first entries changes or goes, but no new entries. In
 * all we check at most FILES_MAX files.
 *
 * In another repository inside the work tree we skip .git. The files behind our own standard
 * descriptors change because we write to them: we report such a file only if another one takes its
 * place.
 */
#ifndef GIT_CHECKOUT_UNTRACKED_H
#define GIT_CHECKOUT_UNTRACKED_H

#include "base/err.h"
#include "base/strv.h"
#include "base/vec.h"
#include "sys/fs/standard_files.h"

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
    char *path; /* relative to the work tree; a slash ends the path of a folder */
    off_t size;
    ino_t ino;
    mode_t mode;
    struct timespec mtime, ctime;
    bool in_folder; /* its folder has no tracked files */
    bool ours;      /* it is behind one of our standard descriptors */
    char *content;  /* at the first check, of a symlink its target; NULL: not kept, or the file is
                       newer */
    size_t len;
};

typedef VEC(struct untracked_file) untracked_files;

struct untracked {
    char *root, *index;
    size_t id_len;
    struct standard_files ours;
    struct strv skipped;    /* ignored files, and folders with a slash at the end */
    untracked_files files;  /* sorted by path */
    struct timespec looked; /* when the last check began */
    struct strv full;       /* folders with too many entries, with a slash at the end, sorted */
};

struct untracked_change {
    struct untracked_file was, is; /* in the missing one, path is NULL */
};

/* The changes found by a check; owns its strings and contents. */
struct untracked_changes {
    VEC(struct untracked_change) list;
};
void untracked_changes_done(struct untracked_changes *changes);
#define autountracked own_cleanup(untracked_changes_done)

/* Makes the first snapshot. id_len is the length of an id in hexadecimal digits. */
int untracked_open(struct untracked *u, const char *root, const char *index, size_t id_len,
                   const struct strv *skipped, struct err *err);
void untracked_close(struct untracked *u);

/* Makes a new snapshot and appends the changes since the last one to `changes` (may be NULL),
 * sorted by path. */
int untracked_look(struct untracked *u, struct untracked_changes *changes, struct err *err);

#endif
