/*
 * The user's checkout follows the base: a fast-forward by git itself, which refuses rather than
 * touch a file that the user has changed, beside all else that goes on.
 */
#ifndef RUN_LAND_CHECKOUT_MOVE_H
#define RUN_LAND_CHECKOUT_MOVE_H

#include "run/run_private.h"

/* Whether the work tree that we were started in has a branch checked out: the usual case of the
 * base. */
bool checkout_move_is_here(const struct git_repo *repo, const char *ref);

/* The work tree in which a branch is checked out; empty: there is none. */
int checkout_move_find(const struct run *run, const char *ref, struct buf *ret_path,
                       struct err *err);

/* The same for who has no run. */
int checkout_move_place(const struct git_repo *repo, const char *ref, struct buf *ret_path,
                        struct err *err);

/* The git folder of the work tree at `path`, to be freed; NULL: an error. */
char *checkout_move_git_dir(const struct git_repo *repo, const char *path, struct err *err);

/* The folder in which git works for who has no run; to be freed. */
char *checkout_move_aside(const struct git_repo *repo);

/* The command that brings a work tree to a commit, for an environment that
 * checkout_lock_prepare() made. */
void checkout_move_command(const char *path, const char *git_dir, const char *target,
                           struct strv *argv);

/* Locks the checkout, which checkout_move_start() needs. Where it is not FORWARD_READY, it is not
 * locked: another git has it locked (run->refusal says so), or is at work there, or has switched.
 * has_base: it is to have the base checked out, or is not to. */
enum checkout_move_try { FORWARD_READY, FORWARD_LOCKED, FORWARD_BUSY };
int checkout_move_lock_checkout(struct run *run, const char *path, bool has_base,
                                enum checkout_move_try *ret, struct err *err);

/* Whether no other git is at work in the checkout that we have locked, or we have waited for it
 * long enough; true where none is locked. */
bool checkout_move_is_quiet(struct run *run);

void checkout_move_unlock_checkout(struct run *run);

/* Removes the folder in which git worked for an engine of this run that was killed. */
void checkout_move_tidy(struct run *run);

/* From now on other gits in the checkout are waited for, for a while. */
void checkout_move_await_quiet(struct run *run);

/* Starts to bring the work tree at `path` to publication.target; `forwarded` is told when git has
 * ended. Where it did not move, run->refusal has git's words, if it said any. */
int checkout_move_start(struct run *run, const char *path,
                        void (*forwarded)(struct run *, bool moved), struct err *err);

/* Asks that git to end; when called again, kills it. */
void checkout_move_end(struct run *run);

/* That git is not waited for any more. */
void checkout_move_forget(struct publication *p);

/* Of the words of git's refusal, those on a lock: another git is at work in the checkout, or was
 * and died there. Or NULL. */
const char *checkout_move_lock(const struct run *run);

/* False where git said that it refuses, and wrote nothing. */
bool checkout_move_may_have_begun(const struct run *run);

/* What git refuses to touch may be what a git of ours has left there, before it was killed or the
 * disk was full. True where some of that is mended, and there is reason to try again. */
bool checkout_move_mend(struct run *run);

/* git reads the index before it locks it: what someone committed in between has then left the index
 * again, though HEAD, which is at `now`, has it. Puts that back. */
void checkout_move_keep(struct run *run, const char *now);

#endif
