/*
 * struct shared_state: a snapshot of what the worktrees of a repository share: refs, the HEADs of
 * all worktrees, the stash, configuration, hooks, and the files in the repository's folder that set
 * ignore patterns, attributes and the places of objects.
 *
 * A check starts no process. It does not read files again whose stat data is unchanged, and it
 * reads only files of less than 1 MiB. It detects two writes in the same tick of the file system's
 * clock if one of them is less than two seconds old. It compares the values of refs, not their
 * storage: packing them is no change. If refs are stored in tables (reftable) and the tables have
 * changed, we ask git: one process, or two.
 *
 * A file that we may not read counts as missing. Some things would make git wait or read without an
 * end: a FIFO, a device, a symlink to one, a ref of megabytes. We remove such a thing, restore the
 * content of the last snapshot and report its name. It counts as unchanged.
 *
 * We ignore the refs of anabranch itself (refs/anabranch, refs/heads/anabranch), except saved work
 * and the tips of runs.
 */
#ifndef GIT_CHECKOUT_SHARED_STATE_H
#define GIT_CHECKOUT_SHARED_STATE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/strv.h"
#include "base/vec.h"
#include "git/format/packed_refs.h"
#include "git/git.h"

#include <sys/stat.h>
#include <time.h>

enum git_part {
    GIT_PART_REF,
    GIT_PART_HEAD,   /* "HEAD" of the main work tree, "worktrees/NAME/HEAD" of others */
    GIT_PART_STASH,  /* the reflog of the stash: one line per stash, the oldest first */
    GIT_PART_CONFIG, /* "config", "config.worktree", "worktrees/NAME/config.worktree" */
    GIT_PART_HOOK,   /* "hooks/...", without samples */
    GIT_PART_FILE,   /* "info/exclude", "shallow" and others */
};

/* The content of a file; for a ref or a HEAD without the newline; "-> TARGET" for a symlink. */
struct git_content {
    const char *s; /* NULL: it does not exist */
    size_t len;
    mode_t mode; /* 0: no file */
};

struct git_change {
    enum git_part part;
    const char *name; /* below the repository's folder: "refs/heads/main", "hooks/pre-commit" */
    struct git_content from, to;
};

struct git_changes {
    struct arena arena; /* holds the strings */
    VEC(struct git_change) list;
    struct strv odd; /* names of removed FIFOs, devices and the like */
};

void git_changes_done(struct git_changes *changes);
#define autochanges own_cleanup(git_changes_done)

/* Identifies the version of a file that we read. */
struct git_stamp {
    dev_t dev;
    ino_t ino;
    off_t size;
    struct timespec mtime, ctime;
    bool settled; /* false: it may have been written again without a change of its stat data */
};

struct git_entry {
    enum git_part part;
    char *name, *s;
    size_t len;
    mode_t mode;
    struct git_stamp stamp;
};

typedef VEC(struct git_entry) git_entries;

struct shared_state {
    char *common;
    bool tables;         /* refs are stored in tables, whose reflog we cannot read */
    git_entries entries; /* sorted by name */
    struct packed_refs packed;
    struct git_stamp packed_stamp;
};

/* Makes the first snapshot. */
int shared_state_open(struct shared_state *state, const char *common, struct err *err);
void shared_state_close(struct shared_state *state);

/* Makes a new snapshot and adds the changes since the last one. They are sorted by name, except
 * that packed refs come last. On failure the old snapshot stays. */
int shared_state_look(struct shared_state *state, struct git_changes *changes, struct err *err);

/* Adds a ref that we have created to the snapshot, so that the next check reports it if it has
 * already gone. Does nothing if refs are stored in tables. */
void shared_state_note_ref(struct shared_state *state, const char *ref, const char *commit);

/* The content of a name in the last snapshot. s is NULL if it does not exist or is a packed ref. */
struct git_content shared_state_get(const struct shared_state *state, const char *name);

#endif
