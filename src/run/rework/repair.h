/*
 * Repair: work that did not pass its verification, left its paths or is in conflict goes back to
 * the agent that made it. It goes on in its session, in its workspace, and is told what was wrong;
 * what it makes then takes the way of all work. Where its engine cannot take up a session, or
 * nothing is known of it, the task begins again, with the same told behind its prompt.
 *
 * What the agent finds (enum repair) is one of three.
 *
 * Own: what it left. Our commit of it is taken back: what strayed is in no history.
 *
 * Merged: what failed the verification, which is its work merged with all that had landed. The
 * fault may be in their meeting, and would not be seen without it.
 *
 * Conflict: all that has landed, with its work merged into it and not committed. What git could not
 * merge has git's markers, and is unmerged in the index, as behind a `git stash pop`. There is no
 * MERGE_HEAD: nothing that the agent does can end the merge half made, and one commit on top of
 * what has landed is made of it, in every style of landing.
 *
 * In the last two the task begins from then on (`start`) where all that had landed was. What it had
 * made is saved before anything is changed, and what is about to be done is in the event
 * task.retried, with the task's row, so that whoever goes on with the run does it again.
 *
 * What is in conflict is resolved when no marker of ours is left in any file that the task changes,
 * and each path that git could not merge was either changed since or taken into the index. All else
 * is still in conflict. When that was tried often enough, the branch and the workspace become what
 * they were before, for a person.
 */
#ifndef RUN_REWORK_REPAIR_H
#define RUN_REWORK_REPAIR_H

#include "run/run_private.h"

/* "own", "merged", "conflict", as task.retried has them; NULL where there is none. */
extern const char *const repair_words[REPAIR_COUNT_];

/* Decides for an attempt that failed, whose work is saved, and that is tried again: whether its
 * agent goes on. Then `start` and, but for a conflict, its branch are what the next attempt needs,
 * and job->mends is set. */
void repair_decide(struct attempt *job, enum failure failure);

/* The attempt is over, and the next one takes up its session. */
void repair_wait(struct attempt *job);

/* Makes the workspace of an attempt what its agent is to find, if it is one of these;
 * attempt_run_agent() follows in every case, or attempt_fail(). */
void repair_prepare(struct attempt *job);

/* The same for a workspace that is gone: it is made again first, of `start` or of `from`. */
void repair_make_again(struct attempt *job);

/* Appends the paths that are still in conflict, of what is staged. */
int repair_unresolved(struct attempt *job, struct buf *ret_paths, struct err *err);

/* Gives the branch of a task that is in conflict, and its start, what they were before its agent
 * was to resolve that; appends what is in conflict. */
int repair_give_up(struct attempt *job, struct buf *ret_files, struct err *err);

#endif
