/*
 * Shared by the files of `cleanup`.
 */
#ifndef THREADS_CLEANUP_CLEANUP_PRIVATE_H
#define THREADS_CLEANUP_CLEANUP_PRIVATE_H

#include "base/vec.h"
#include "threads/cleanup/cleanup.h"
#include "threads/upstream.h"

/* The base branch of threads, and the commits that may have their work. */
struct cleanup_base {
    const char *ref; /* the thread's base, or NULL */
    struct upstream upstream;
    char *local, *remote; /* commits, or NULL */
    char *local_name, *remote_name;
};

struct cleaning {
    const struct cleanup_options *opts;
    struct git_place at;
    struct threads threads;
    VEC(struct cleanup_base) bases;
    bool looked_for_forge;
    bool no_forge; /* gh is not installed or does not work, or the forge has another program */
};

/* The decision on a thread. */
struct verdict {
    bool remove;
    enum cleanup_reason reason;
    struct buf why;
    struct buf tip; /* of its branch; empty if the branch is gone */
};

/* base.c: fetches from each remote once. It reports a remote that does not answer. */
int cleanup_base(struct cleaning *c, const struct thread *t, const struct cleanup_base **ret,
                 struct err *err);
void cleanup_bases_done(struct cleaning *c);

/* decide.c: decides, but changes nothing. */
int cleanup_look(struct cleaning *c, const struct thread *t, struct verdict *ret, struct err *err);

/* Lists the first few files with uncommitted or staged changes. */
int cleanup_changes(const struct cleaning *c, const struct thread *t, struct buf *ret_names,
                    struct err *err);

/* Names an operation that git has not finished in its worktree; NULL: none. */
const char *cleanup_unfinished(const struct thread *t);

/* *ret_yes is true if any commit was ever made in its worktree. */
bool cleanup_has_begun(const struct thread *t);

/* inside.c: finds repositories in the worktree that have something that exists nowhere else.
 * Appends nothing if there is none. */
int cleanup_inside(const struct cleaning *c, const struct thread *t, struct buf *ret_why,
                   struct err *err);

/* forge.c: *ret_merged is true if the forge has merged the branch as it is now. Otherwise it
 * appends the state of its pull request to `ret_note`. */
int cleanup_ask_forge(struct cleaning *c, const struct thread *t, const char *tip, bool *ret_merged,
                      struct buf *ret_note, struct err *err);

/* remove.c: saves what the base branch does not have, then removes the thread. `dropped` are
 * ignored files that are lost. */
int cleanup_take(const struct cleaning *c, const struct thread *t, const char *tip,
                 struct buf *ret_salvage, struct err *err);
int cleanup_dropped(const struct cleaning *c, const struct thread *t, struct strv *ret,
                    struct err *err);

#endif
