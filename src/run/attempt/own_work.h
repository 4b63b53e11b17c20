/*
 * What an attempt made is looked at before any of it becomes history.
 *
 * An agent can merge or rebase, and lose what others have landed by that: with `git merge -s ours`,
 * by a bad resolution, by `git checkout OLD -- PATH`, by a reset to an older commit. Then the
 * commit that would land takes others' work back. own_work_reverts() finds that (plan/revert.h).
 *
 * The commits that an agent made itself become history as well as the tree in the end. They are
 * kept where each is made of what the end result changes too, and nothing in between is worse than
 * that; otherwise one commit takes their place (own_work_is_dirty()).
 */
#ifndef RUN_ATTEMPT_OWN_WORK_H
#define RUN_ATTEMPT_OWN_WORK_H

#include "run/run_private.h"

/* Appends the paths at which the task would undo what others have landed. */
int own_work_reverts(const struct attempt *job, const struct commit_draft *draft, struct strv *ret,
                     struct err *err);

/* Whether the agent's own commits are not to become history one by one: a commit has a path that
 * the result does not change and that is new or not the task's to change, or that was brought
 * along, or that git would refuse, or text with a secret in it that the result does not have; or
 * there are too many to look at. */
int own_work_is_dirty(const struct attempt *job, const struct commit_draft *draft, bool *ret_dirty,
                      struct err *err);

/* Appends the paths that the commit changes, each with a NUL behind it. */
int own_work_paths(const struct attempt *job, const struct commit_draft *draft, const char *commit,
                   struct buf *out, struct err *err);

#endif
