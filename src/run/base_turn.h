/*
 * Whose turn it is to move the base branch: one run at a time has the file `turn` locked, and says
 * in it that the branch is being moved. Who gets the turn and finds that said comes after one that
 * was killed, or whose git was, and may have left locks behind.
 */
#ifndef RUN_BASE_TURN_H
#define RUN_BASE_TURN_H

#include "run/run_private.h"

/* publication.turn stays -1 where another run has it. */
int base_turn_take(struct run *run, struct err *err);

/* Takes away the locks that a git of a run has left on the base branch, and on index and HEAD where
 * it is checked out here. Only where they can be nobody else's: they are not older than the move
 * that came to no end, and no git is at work there but those of runs, whose turn it is not. */
void base_turn_clear(const struct run *run);

/* Others may have it, though a git of ours may still be at work. */
void base_turn_leave(struct run *run);

/* Before the move, and after it where git has ended by itself. */
int base_turn_mark(struct run *run, struct err *err);
void base_turn_unmark(struct run *run, bool moved);

#endif
