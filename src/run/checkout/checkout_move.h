/*
 * The user's checkout follows the base: git fast-forwards it while the run goes on. git refuses
 * rather than overwrite a file that the user has changed.
 */
#ifndef RUN_CHECKOUT_CHECKOUT_MOVE_H
#define RUN_CHECKOUT_CHECKOUT_MOVE_H

#include "base/buf.h"
#include "base/err.h"
#include "git/git.h"
#include "plan/engine/publication.h"

#include <stdbool.h>

struct publisher;
struct run;

/* True if the work tree in which the run was started has the branch checked out. That is the
 * usual case for the base. */
bool checkout_move_is_here(const struct git_repo *repo, const char *ref);

/* Finds the work tree in which a branch is checked out; *ret_path is empty if there is none. */
int checkout_move_find(const struct run *run, const char *ref, struct buf *ret_path,
                       struct err *err);

/* The same for callers without a run. */
int checkout_move_place(const struct git_repo *repo, const char *ref, struct buf *ret_path,
                        struct err *err);

/* Returns the git folder of the work tree at `path`, which the caller frees; NULL: an error. */
char *checkout_move_git_dir(const struct git_repo *repo, const char *path, struct err *err);

/* The folder in which git works for callers without a run; the caller frees it. */
char *checkout_move_aside(const struct git_repo *repo);

/* Builds the command that moves a work tree to a commit, for an environment that
 * checkout_lock_prepare() made. */
void checkout_move_command(const char *path, const char *git_dir, const char *target,
                           struct strv *argv);

/* Locks the checkout, as checkout_move_start() needs. If *ret is not FORWARD_READY, the checkout
 * is not locked: another git has locked it (run->base.refusal says so), is at work there, or has
 * switched branches. has_base: the checkout must have the base checked out, or must not. */
enum checkout_move_try { FORWARD_READY, FORWARD_LOCKED, FORWARD_BUSY };
int checkout_move_lock_checkout(struct run *run, const char *path, bool has_base,
                                enum checkout_move_try *ret, struct err *err);

/* True if we keep the lock of the checkout because another git is at work there: false if we have
 * waited long enough, or given up. */
bool checkout_move_settles(struct run *run);

void checkout_move_unlock_checkout(struct run *run);

/* Removes the folder that a killed engine of this run left, in which its git worked. */
void checkout_move_tidy(struct run *run);

/* Starts the time that we wait for other gits in the checkout. */
void checkout_move_await_quiet(struct run *run);

/* Starts git, which moves the work tree at `path` to publisher.target, and calls `forwarded`
 * when git has ended. If the checkout did not move, run->base.refusal has the output of git, if
 * any. If the user has left the base meanwhile, we take the files back (checkout_take_back.h). */
int checkout_move_start(struct run *run, const char *path,
                        void (*forwarded)(struct run *, bool moved), struct err *err);

/* Asks that git to end, or kills it. */
void checkout_move_end(struct run *run, enum publication_stop stop);

/* Stops waiting for that git. */
void checkout_move_forget(struct publisher *p);

/* Returns the part of git's refusal that names a lock, or NULL: another git is at work in the
 * checkout, or was and died there. */
const char *checkout_move_lock(const struct run *run);

/* False if git refused and wrote nothing. */
bool checkout_move_may_have_begun(const struct run *run);

/* git may refuse to touch files that an earlier git of ours left there before it was killed or
 * the disk was full. Repairs that. The base must be checked out in the work tree in which the run
 * was started. Returns true if it repaired something, so that a retry makes sense. */
bool checkout_move_mend(struct run *run);

/* git reads the index before it locks it. So a commit that someone made in between leaves the
 * index again, though HEAD, which is at `now`, has it. Restores its index entries. */
void checkout_move_keep(struct run *run, const char *now);

#endif
