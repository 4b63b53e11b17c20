/*
 * Repair: work that failed its verification, changed paths of others or conflicts is sent back to
 * the agent that made it. The agent resumes its session in its workspace, and we tell it what is
 * wrong. Its new work then takes the usual way. If the engine cannot resume a session, or the
 * session is unknown, the task starts again, with the same text after its prompt.
 *
 * The agent finds one of three things in its workspace (enum repair):
 *
 * Own: the files that it left. We take back our commit of them, so stray changes are in no history.
 *
 * Merged: its work merged with everything landed, which failed the verification. The fault may only
 * show in the merged tree.
 *
 * Conflict: everything landed, with its work merged into it and uncommitted. Files that git could
 * not merge have git's markers and are unmerged in the index, as after `git stash pop`. There is no
 * MERGE_HEAD, so the agent cannot commit an unfinished merge. We make one commit from its files, on
 * top of what has landed, in every landing style.
 *
 * For Merged and Conflict, `start` of the task becomes the tip that had landed then. Before we
 * change anything, we salvage the attempt's work, and record the intended repair in the event
 * task.retried together with the task's row. If we die, a resume repeats the repair.
 *
 * A conflict is resolved when no file that the task changes has a marker of ours, and the agent has
 * changed or added each path that git could not merge. Otherwise it is still a conflict. After the
 * last retry, branch and workspace return to their state before the repair, for a person.
 */
#ifndef RUN_REWORK_REPAIR_H
#define RUN_REWORK_REPAIR_H

#include "base/buf.h"
#include "base/err.h"
#include "plan/engine/attempt/failure_outcome.h"

struct attempt;

/* Finds out whether we can resume the agent of a failed attempt, whose work is salvaged. May read
 * the session from its output. */
struct session_facts repair_session(struct attempt *attempt);

/* Sets `start`, and the branch unless there is a conflict, as the repair needs them. */
int repair_set_up(struct attempt *attempt, enum repair repair, struct err *err);

/* Ends the attempt; the next one resumes its session. */
void repair_wait(struct attempt *attempt);

/* If the attempt is a repair, prepares its workspace. Then reports ENGINE_WORKSPACE_READY, or
 * the attempt fails. */
void repair_prepare(struct attempt *attempt);

/* The same for a workspace that is gone: first makes it again, from the task's start or its
 * salvaged work. */
void repair_make_again(struct attempt *attempt);

/* Gives up a conflict: restores branch and start of the task to their state before the repair, and
 * appends the conflicting paths. */
int repair_give_up(struct attempt *attempt, struct buf *ret_files, struct err *err);

#endif
