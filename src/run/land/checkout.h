/*
 * The user's checkout follows the base: a fast-forward by git itself, which refuses rather than
 * touch a file that the user has changed, beside all else that goes on.
 */
#ifndef RUN_LAND_CHECKOUT_H
#define RUN_LAND_CHECKOUT_H

#include "run/run_private.h"

/* Whether the work tree that we were started in has a branch checked out: the usual case of the
 * base. */
bool forward_is_here(const struct git_repo *repo, const char *ref);

/* The work tree in which a branch is checked out; empty: there is none. */
int forward_find(const struct run *run, const char *ref, struct buf *ret_path, struct err *err);

/* The same for who has no run. */
int forward_place(const struct git_repo *repo, const char *ref, struct buf *ret_path,
                  struct err *err);

/* The git folder of the work tree at `path`, to be freed; NULL: an error. */
char *forward_git_dir(const struct git_repo *repo, const char *path, struct err *err);

/* The folder in which git works for who has no run; to be freed. */
char *forward_aside(const struct git_repo *repo);

/* The command that brings a work tree to a commit, for an environment that
 * checkout_lock_prepare() made. */
void forward_command(const char *path, const char *git_dir, const char *target, struct strv *argv);

/* Locks the checkout, which forward_start() needs. Where it is not FORWARD_READY, it is not locked:
 * another git has it locked (run->refusal says so), or is at work there, or has switched. has_base:
 * it is to have the base checked out, or is not to. */
enum forward_try { FORWARD_READY, FORWARD_LOCKED, FORWARD_BUSY };
int forward_lock_checkout(struct run *run, const char *path, bool has_base, enum forward_try *ret,
                          struct err *err);

/* Whether no other git is at work in the checkout that we have locked, or we have waited for it
 * long enough; true where none is locked. */
bool forward_is_quiet(struct run *run);

void forward_unlock_checkout(struct run *run);

/* Removes the folder in which git worked for an engine of this run that was killed. */
void forward_tidy(struct run *run);

/* From now on other gits in the checkout are waited for, for a while. */
void forward_await_quiet(struct run *run);

/* Starts to bring the work tree at `path` to publication.target; `forwarded` is told when git has
 * ended. Where it did not move, run->refusal has git's words, if it said any. */
int forward_start(struct run *run, const char *path, void (*forwarded)(struct run *, bool moved),
                  struct err *err);

/* Asks that git to end; when called again, kills it. */
void forward_end(struct run *run);

/* That git is not waited for any more. */
void forward_forget(struct publication *p);

/* Of the words of git's refusal, those on a lock: another git is at work in the checkout, or was
 * and died there. Or NULL. */
const char *forward_lock(const struct run *run);

/* False where git said that it refuses, and wrote nothing. */
bool forward_may_have_begun(const struct run *run);

/* What git refuses to touch may be what a git of ours has left there, before it was killed or the
 * disk was full. True where some of that is mended, and there is reason to try again. */
bool forward_mend(struct run *run);

/* git reads the index before it locks it: what someone committed in between has then left the index
 * again, though HEAD, which is at `now`, has it. Puts that back. */
void forward_keep(struct run *run, const char *now);

#endif
