/*
 * Compares what a thread (threads/thread.h) has changed with what it owns.
 *
 * A thread may change what its plan lets it own, and what it was granted later. If it owns nothing,
 * it may change everything that no other thread claims. It may never change what its plan forbids.
 * The claims of a thread count as long as its worktree exists. THREAD_BRIEF.md never counts.
 */
#ifndef THREADS_OWN_OWN_H
#define THREADS_OWN_OWN_H

#include "base/err.h"
#include "base/own.h"
#include "base/vec.h"
#include "git/git.h"
#include "threads/thread.h"

#include <stdbool.h>

enum own_standing {
    OWN_OWNED,     /* by the plan */
    OWN_GRANTED,   /* requested later */
    OWN_FREE,      /* the thread has no claims of its own, and nobody else claims it */
    OWN_FORBIDDEN, /* this and all below are outside */
    OWN_TAKEN,     /* another thread owns it, or was granted it */
    OWN_NOT_OWNED, /* no thread owns it */
};

bool own_is_inside(enum own_standing standing);

/* Its word for programs: "owned", "granted", "free", "forbidden", "taken", "not-owned". */
const char *own_standing_name(enum own_standing standing);

/* The compiled claims of all threads. The threads must outlive it. */
struct own_rules;
struct own_rules *own_rules_new(const struct threads *all, bool fold);
void own_rules_free(struct own_rules *rules);

/* The relation of a thread (one of those) to a path (relative to the root, as git writes it). If it
 * is OWN_TAKEN, *ret_whose is the owner, else NULL. */
enum own_standing own_judge(const struct own_rules *rules, const struct thread *t, const char *path,
                            const struct thread **ret_whose);

struct own_path {
    char *path;
    enum own_standing standing;
    const struct thread *whose; /* the owner, if taken; one of the given threads */
};

struct own_verdict {
    VEC(struct own_path) paths; /* all changed paths, sorted by bytes, without duplicates */
    size_t outside;             /* number of paths that are outside */
};

void own_verdict_done(struct own_verdict *v);
#define autoverdict own_cleanup(own_verdict_done)

/* Judges the given paths, each followed by a NUL, and adds them in the given order. */
void own_verdict_add(struct own_verdict *v, const struct own_rules *rules, const struct thread *t,
                     const char *paths, size_t len);

/* Describes the relation in words: "belongs to thread 2". */
void own_path_describe(const struct own_path *p, struct buf *out);

/* Appends the paths outside for use in a sentence: "a/b (belongs to thread 2), c (not owned)".
 * After `most` of them it appends the number of the others. Escapes control characters. */
void own_verdict_describe(const struct own_verdict *v, size_t most, struct buf *out);

enum own_scope {
    OWN_WORK_TREE, /* all changes of the thread, even if uncommitted or untracked */
    OWN_STAGED,    /* changes that a commit of the index would make */
    OWN_COMMITTED, /* changes on its branch; needs no work tree */
    OWN_RANGE,     /* changes between two commits */
};

struct own_question {
    const struct git_repo *repo; /* any worktree of the repository */
    const struct threads *all;
    const struct thread *thread; /* one of them */
    enum own_scope scope;
    const char *range; /* for OWN_RANGE: FROM..TO or FROM...TO, as in git */
    const char *index; /* for OWN_STAGED: another index, or NULL */
};

/*
 * Finds changes and judges them: both names of a rename, deletions, modes, symlinks, commits of
 * submodules. We do not count what the thread only took over from its base branch (or its upstream)
 * by a merge or rebase, nor what it has reverted. Returns ERR_INPUT if the range is invalid. Always
 * call own_verdict_done().
 */
int own_check(const struct own_question *q, struct own_verdict *v, struct err *err);

#endif
