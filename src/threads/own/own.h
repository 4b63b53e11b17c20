/*
 * Ownership, held against what a thread (threads/thread.h) has changed.
 *
 * A thread may change what its plan lets it own and what it was granted later; one that owns
 * nothing may change whatever no other thread claims. What its plan forbids it may never change.
 * The claims of a thread count as long as its worktree is there. THREAD_BRIEF.md never counts.
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
    OWN_GRANTED,   /* asked for later */
    OWN_FREE,      /* the thread owns nothing in particular, and nobody else claims it */
    OWN_FORBIDDEN, /* from here on: outside */
    OWN_TAKEN,     /* another thread owns it, or was granted it */
    OWN_NOT_OWNED, /* nobody's */
};

bool own_is_inside(enum own_standing standing);

/* Its word for programs: "owned", "granted", "free", "forbidden", "taken", "not-owned". */
const char *own_standing_name(enum own_standing standing);

/* --- paths -------------------------------------------------------------------------------- */

/* The claims of all threads, ready to be asked. Refers to the threads, which must outlive it. */
struct own_rules;
struct own_rules *own_rules_new(const struct threads *all, bool fold);
void own_rules_free(struct own_rules *rules);

/* How a thread, one of those, stands to a path (relative to the root, as git writes it). *ret_whose
 * is the thread that has it where that is OWN_TAKEN, else NULL. */
enum own_standing own_judge(const struct own_rules *rules, const struct thread *t, const char *path,
                            const struct thread **ret_whose);

/* --- changes ------------------------------------------------------------------------------ */

struct own_path {
    char *path;
    enum own_standing standing;
    const struct thread *whose; /* where it is taken; one of those that were handed in */
};

struct own_verdict {
    VEC(struct own_path) paths; /* all that was changed, by bytes, each once */
    size_t outside;             /* how many of them are */
};

void own_verdict_done(struct own_verdict *v);
#define autoverdict own_cleanup(own_verdict_done)

/* Judges paths that the caller has found out himself, each with a NUL behind it, and adds them; by
 * bytes only where they come so. */
void own_verdict_add(struct own_verdict *v, const struct own_rules *rules, const struct thread *t,
                     const char *paths, size_t len);

/* Appends how the thread stands to a path, in words: "belongs to thread 2". */
void own_path_describe(const struct own_path *p, struct buf *out);

/* Appends the paths outside, as a sentence goes on: "a/b (belongs to thread 2), c (not owned)";
 * after `most` of them how many more there are. Harmless to print. */
void own_verdict_describe(const struct own_verdict *v, size_t most, struct buf *out);

enum own_scope {
    OWN_WORK_TREE, /* all that the thread has changed, also what is not committed or tracked yet */
    OWN_STAGED,    /* what a commit of the index would change */
    OWN_COMMITTED, /* what is on its branch; needs no work tree */
    OWN_RANGE,     /* between two commits */
};

struct own_question {
    const struct git_repo *repo; /* any worktree of the repository */
    const struct threads *all;
    const struct thread *thread; /* one of them */
    enum own_scope scope;
    const char *range; /* of OWN_RANGE: FROM..TO or FROM...TO, as git reads them */
    const char *index; /* of OWN_STAGED: not the usual one; or NULL */
};

/*
 * Looks at the changes and judges them: renames by both names, deletions, modes, symlinks, where
 * submodules point to. What the thread has only taken over from its base branch (or that one's
 * upstream) by a merge or rebase is no change of its own, nor is what is again as it was there.
 * ERR_INPUT where the range is none. Released in every case.
 */
int own_check(const struct own_question *q, struct own_verdict *v, struct err *err);

/* The commit that a thread's changes count from: where `tip` (of its branch, or HEAD) left the base
 * branch last, or the commit that it was made from. */
int own_base(const struct git_repo *repo, const struct thread *t, const char *tip, struct buf *out,
             struct err *err);

#endif
