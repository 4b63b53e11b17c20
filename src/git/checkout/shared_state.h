/*
 * struct shared_state: what the worktrees of a repository share, as it was when it was last looked
 * at: refs, the HEADs of all worktrees, the stash, configuration, hooks, and the files in the
 * repository's folder that say what is ignored, how files are treated and where objects are.
 *
 * Looking starts no process: files whose stat data is as it was are not read again, and only what
 * is smaller than a MiB is read at all. Two writes in the same tick of the file system's clock are
 * told apart as long as one of them is less than two seconds old. Refs count by what they are, not
 * where they are kept: packing them is no change. Where refs are kept in tables (reftable), and
 * those have changed, git is asked: one process, or two.
 *
 * What we may not read is as good as not there. What is no file, and would make git wait or read
 * without an end (a FIFO, a device, a symlink to one, a ref of megabytes), is removed, and what was
 * there when we last looked is put back: it counts as unchanged, and is named.
 *
 * Of the refs of anabranch itself (refs/anabranch, refs/heads/anabranch) only what is saved, and
 * the tips of runs, are looked at.
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
    GIT_PART_STASH,  /* the reflog of the stash: a line for each stash, the oldest first */
    GIT_PART_CONFIG, /* "config", "config.worktree", "worktrees/NAME/config.worktree" */
    GIT_PART_HOOK,   /* "hooks/...", samples left out */
    GIT_PART_FILE,   /* "info/exclude", "shallow" and others */
};

/* A file's content, of a ref or a HEAD less the newline; "-> TARGET" for a symlink. */
struct git_content {
    const char *s; /* NULL: it is not there */
    size_t len;
    mode_t mode; /* 0 where there is no file */
};

struct git_change {
    enum git_part part;
    const char *name; /* below the repository's folder: "refs/heads/main", "hooks/pre-commit" */
    struct git_content from, to;
};

struct git_changes {
    struct arena arena; /* holds the strings */
    VEC(struct git_change) list;
    struct strv odd; /* names of what was no file, and was removed */
};

void git_changes_done(struct git_changes *changes);
#define autochanges own_cleanup(git_changes_done)

/* What tells whether a file is the one that was read. */
struct git_stamp {
    dev_t dev;
    ino_t ino;
    off_t size;
    struct timespec mtime, ctime;
    bool settled; /* else it may have been written again without a trace */
};

struct git_entry {
    enum git_part part;
    char *name, *s;
    size_t len;
    mode_t mode;
    struct git_stamp stamp;
};

struct shared_state {
    char *common;
    bool tables; /* refs are kept in tables, which have no reflog that could be read */
    VEC(struct git_entry) entries; /* sorted by name */
    struct packed_refs packed;
    struct git_stamp packed_stamp;
};

/* Takes the first look. */
int shared_state_open(struct shared_state *state, const char *common, struct err *err);
void shared_state_close(struct shared_state *state);

/* Looks again and adds what has changed since the last time, sorted by name but for packed refs,
 * which come last. On failure the state is as it was. */
int shared_state_look(struct shared_state *state, struct git_changes *changes, struct err *err);

/* We made a ref: it counts as seen, so that the next look tells of it where it has gone already.
 * Does nothing where refs are kept in tables. */
void shared_state_note_ref(struct shared_state *state, const char *ref, const char *commit);

/* What was last seen of a name; s is NULL where there is no such thing, or it is a packed ref. */
struct git_content shared_state_get(const struct shared_state *state, const char *name);

#endif
