/*
 * Calls the git program: argv arrays and no shell, untranslated messages, and an environment
 * without the variables that would point git at another repository.
 */
#ifndef GIT_GIT_H
#define GIT_GIT_H

#include "base/buf.h"
#include "base/err.h"
#include "base/strv.h"
#include "git/config/core_settings.h"

#include <stdbool.h>

struct git_repo {
    char *root;    /* top of the work tree, absolute; NULL: dir is not in a repository */
    char *prefix;  /* dir relative to root, without a slash at the end; "" at the root */
    char *git_dir; /* of this work tree, absolute */
    char *common;  /* the folder that all its worktrees share, absolute */
    struct git_core core;
    struct buf settings; /* all settings, as listed by `git config --list --show-scope -z` */
};

/* Finds the work tree that contains dir. If dir is in none, or git is not installed, root is NULL
 * and that is no failure. Fails with ERR_ENV and git's message if git refuses to open the
 * repository. */
int git_open(struct git_repo *repo, const char *dir, struct err *err);
void git_close(struct git_repo *repo);
#define autorepo own_cleanup(git_close)

/* Appends the tracked files, relative to the root and sorted bytewise. A NUL follows each. */
int git_tracked(const struct git_repo *repo, struct buf *out, struct err *err);

enum { GIT_FATAL = 128 }; /* git's exit status for a fatal error; above it: a signal killed git */

/*
 * The repository and work tree of a git call. A worktree in which an agent has worked is hostile
 * ground: there we name all three folders, so that git trusts nothing in it, and we switch off
 * hooks and the file system monitor.
 */
struct git_batch;

struct git_place {
    struct git_batch *batch; /* of this repository; NULL: start a process for each question */
    const char *git_dir;
    const char *common;    /* NULL: the same as git_dir */
    const char *work_tree; /* NULL: not needed */
    const int *tree;   /* open descriptor of the work tree, or NULL. git starts in it, even if its
                        * path leads elsewhere by then */
    const char *index; /* NULL: the default index */
    const char *excludes; /* a file of patterns that `git add` ignores, or NULL */
    bool foreign; /* a repository inside a work tree, such as a submodule: git fetches nothing there
                   * and does not run the programs that its configuration names */
    bool live;    /* use the current configuration, not the frozen one (git/config/frozen_config.h):
                   * for calls that change it or list worktrees */
};

/* Our environment without the variables that point git at a repository, with untranslated messages,
 * without traces, and with the frozen configuration of the user (git/config/frozen_config.h). */
void git_environment(struct strv *env);

/* The same for programs other than git: in the user's language. */
void git_outside_environment(struct strv *env);

/* Options with which git waits for a ref that another git has locked. git never waits for the index
 * of the checkout. */
void git_wait_for_locks(struct strv *argv);

/* The environment of a git that finds the repository by itself, given its folder `git_dir`, with
 * the frozen configuration of the repository. */
void git_environment_at(const char *git_dir, struct strv *env);

/* The argv and environment of `git ARG...` at a place, for callers that start git themselves. If
 * at->tree is open, start git in it. */
void git_prepare(const struct git_place *at, struct strv *argv, struct strv *env);

/* True if git's message shows that it failed because of a race: someone created or removed a
 * worktree meanwhile, or `git gc` removed a folder of objects. Then run git again; git_call() and
 * git_try() do so themselves. */
bool git_is_race(const char *words);

/* Runs `git ARG... NULL` and appends its output without the final newline. Fails with git's message
 * unless the exit status is 0. */
int git_call(const struct git_place *at, struct buf *out, struct err *err, ...)
    __attribute__((sentinel));

/* The same, but returns the exit status. Returns -1 only if git could not be run. */
int git_try(const struct git_place *at, const struct strv *args, struct buf *out,
            struct buf *errout, int *ret_status, struct err *err);

/* Like git_try(), with `in` as standard input. */
int git_feed(const struct git_place *at, const struct strv *args, const struct buf *in,
             struct buf *out, struct buf *errout, int *ret_status, struct err *err);

/* Runs git with `in` (or NULL) as standard input, and appends its output, unless `out` is NULL.
 * Fails with all of git's message unless the exit status is 0. */
int git_ask(const struct git_place *at, const struct strv *args, const struct buf *in,
            struct buf *out, struct err *err);

/* The same in the checkout of the user with that top folder. Exit statuses up to `max` are no
 * failure. Fails with the first line of git's message. */
int git_ask_checkout(const char *root, const struct strv *args, const struct buf *in, int max,
                     struct buf *out, struct err *err);

/* Appends the full id of the commit that a name stands for; ERR_INPUT if there is none. */
int git_resolve(const struct git_place *at, const char *name, struct buf *out, struct err *err);

int git_tree_of(const struct git_place *at, const char *commit, struct buf *out, struct err *err);

/* Appends the newest common ancestor of two commits; nothing if they have none. */
int git_find_fork(const struct git_place *at, const char *a, const char *b, struct buf *ret,
                  struct err *err);

/* *ret_yes is true if `commit` contains every commit of `ancestor`. */
int git_is_ancestor(const struct git_place *at, const char *ancestor, const char *commit,
                    bool *ret_yes, struct err *err);

/* Moves a ref from `from` to `to` (full names and ids). `from` is "" if the ref must not exist yet;
 * a `to` of "" deletes it. If the ref is not at `from`, does nothing and *ret_moved is false. */
int git_move_ref(const struct git_place *at, const char *ref, const char *from, const char *to,
                 const char *why, bool *ret_moved, struct err *err);

/* Deletes refs. `refs` holds full names, each followed by the id that the ref must be at. Leaves a
 * ref that has moved, and deletes all in one step if none has. */
int git_delete_refs(const struct git_place *at, const struct strv *refs, const char *why,
                    struct err *err);

/* Commits a tree with the user's identity. NULL ends the parents. */
int git_commit_tree(const struct git_place *at, const char *tree, const char *const *parents,
                    const char *message, struct buf *ret_commit, struct err *err);

/* The same with another author, "NAME <EMAIL> SECONDS ZONE"; NULL: the user, now. */
int git_commit_tree_by(const struct git_place *at, const char *author, const char *tree,
                       const char *const *parents, const char *message, struct buf *ret_commit,
                       struct err *err);

/* The name of a branch without refs/heads/; any other ref unchanged. */
const char *git_short_name(const char *ref);

#endif
