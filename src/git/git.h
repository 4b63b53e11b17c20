/*
 * git, the program: argv arrays, never a shell; an environment without the variables that would
 * point it at another repository; its own words, untranslated.
 */
#ifndef GIT_GIT_H
#define GIT_GIT_H

#include "base/buf.h"
#include "base/err.h"
#include "base/strv.h"
#include "git/config/core_settings.h"

#include <stdbool.h>

struct git_repo {
    char *root;    /* top of the work tree, absolute; NULL: dir is in no repository */
    char *prefix;  /* dir below root, without a slash at the end; "" at the root */
    char *git_dir; /* that of this work tree, absolute */
    char *common;  /* the folder that all its worktrees share, absolute */
    struct git_core core;
    struct buf settings; /* all of them, as `git config --list --show-scope -z` lists them */
};

/* Looks for the work tree that dir is in. Not being in one, or having no git, is not a failure:
 * root is then NULL. A repository that git refuses to open is one (ERR_ENV, with git's words). */
int git_open(struct git_repo *repo, const char *dir, struct err *err);
void git_close(struct git_repo *repo);

/* Appends the tracked files, relative to the root, sorted bytewise, each with a NUL behind it. */
int git_tracked(const struct git_repo *repo, struct buf *out, struct err *err);

enum { GIT_FATAL = 128 }; /* git's exit status where it cannot go on; above it: a signal ended it */

/*
 * Where a call happens. A worktree that an agent was in is hostile ground: there all three folders
 * are named, so that nothing in it is believed, and hooks and the file system monitor are off.
 */
struct git_batch;

struct git_place {
    struct git_batch
        *batch; /* of this repository, or NULL: each question is a process of its own */
    const char *git_dir;
    const char *common;    /* NULL: git_dir is the common one */
    const char *work_tree; /* NULL: none is needed */
    const int *tree;       /* its folder, open: git is started in it, whatever its name leads to by
                            * then; or NULL */
    const char *index;     /* NULL: the usual one */
    const char *excludes;  /* a file of patterns that `add` leaves out, or NULL */
    bool foreign; /* a repository inside of a work tree, such as a submodule: its configuration
                   * names programs that we do not run, and git fetches nothing there */
    bool live; /* with the configuration as it is now (git/config/frozen_config.h), for what changes
                * that, or asks where worktrees are */
};

/* Our own environment without what points git at a repository, with git's words untranslated, and
 * with the user's configuration as it was frozen (git/config/frozen_config.h). */
void git_environment(struct strv *env);

/* The same for programs that are not git: in the user's own language. */
void git_outside_environment(struct strv *env);

/* Options by which git waits for a ref that another git has locked; the checkout's index it does
 * not wait for. */
void git_wait_for_locks(struct strv *argv);

/* The environment of a git that finds the repository by itself, from its folder `git_dir`, with the
 * repository's configuration as it was frozen. */
void git_environment_at(const char *git_dir, struct strv *env);

/* The argv and environment of `git ARG...` at a place, for who starts it himself: in its folder,
 * where that is open. */
void git_prepare(const struct git_place *at, struct strv *argv, struct strv *env);

/* Whether git died, by its words, of a worktree that someone else was in the middle of making or
 * removing, or of a folder of objects that a `git gc` took away: it is to be tried again.
 * git_call() and git_try() do so by themselves. */
bool git_is_race(const char *words);

/* Runs `git ARG... NULL` and appends its output, less the final newline. An exit status other than
 * 0 is a failure with git's words. */
int git_call(const struct git_place *at, struct buf *out, struct err *err, ...)
    __attribute__((sentinel));

/* The same for who wants to look at the exit status; -1 only where git could not be run. */
int git_try(const struct git_place *at, const struct strv *args, struct buf *out,
            struct buf *errout, int *ret_status, struct err *err);

/* The same with `in` as its standard input. */
int git_feed(const struct git_place *at, const struct strv *args, const struct buf *in,
             struct buf *out, struct buf *errout, int *ret_status, struct err *err);

/* The commit that a name stands for, in full; ERR_INPUT where there is none. */
int git_resolve(const struct git_place *at, const char *name, struct buf *out, struct err *err);

int git_tree_of(const struct git_place *at, const char *commit, struct buf *out, struct err *err);

/* Whether every commit of `ancestor` is in `commit`. */
int git_is_ancestor(const struct git_place *at, const char *ancestor, const char *commit,
                    bool *ret_yes, struct err *err);

/* Moves a ref from `from` to `to` (full names and ids; from "" where it must not exist yet, to ""
 * deletes). *ret_moved is false, and nothing is done, where it is not at `from`. */
int git_move_ref(const struct git_place *at, const char *ref, const char *from, const char *to,
                 const char *why, bool *ret_moved, struct err *err);

/* Deletes refs: full names, each with the id that it must be at behind it. All at once where none
 * of them has moved; one that has stays. */
int git_delete_refs(const struct git_place *at, const struct strv *refs, const char *why,
                    struct err *err);

/* Makes a commit of a tree, by the user's identity; parents end with NULL. */
int git_commit_tree(const struct git_place *at, const char *tree, const char *const *parents,
                    const char *message, struct buf *ret_commit, struct err *err);

/* The same with another author, "NAME <EMAIL> SECONDS ZONE"; NULL: the user, now. */
int git_commit_tree_by(const struct git_place *at, const char *author, const char *tree,
                       const char *const *parents, const char *message, struct buf *ret_commit,
                       struct err *err);

/* The name of a branch without refs/heads/; any other ref as it is. */
const char *git_short_name(const char *ref);

#endif
