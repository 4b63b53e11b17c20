/*
 * A move of someone's checkout that was killed half-way. Before git is
 * started a note says where the branch was, where it is to be, and in which checkout; whoever has
 * the turn to move a base next (base_lock.h) finds it, and finishes what git has begun.
 */
#ifndef RUN_LAND_CHECKOUT_NOTE_H
#define RUN_LAND_CHECKOUT_NOTE_H

#include "run/land/base_lock.h"

/* Both are for who has the turn. `path`: the checkout. *ret_made is false where there is a note
 * still of a move that was not finished, which stays. */
int checkout_note_note(const struct git_repo *repo, const char *ref, const char *from,
                       const char *to, const char *path, bool *ret_made, struct err *err);
void checkout_note_forget(const struct git_repo *repo);

/* Takes over the lock on the checkout that was left, so that no git of the user's sees half of the
 * move; or removes it, where there is no half. Takes away other locks, lets the index follow the
 * files that were written (checkout_repair.h), and brings branch and checkout to where they were to
 * be; where others have put something on the branch meanwhile, to a merge of the two. Nothing is
 * done where these do not merge, or where the checkout shows nothing of the move: the user has
 * thrown it away. *ret_from is then the commit that the branch was at; empty where it did not move.
 * Does nothing where it is not our turn. */
int checkout_note_mend(const struct base_lock *turn, const struct git_repo *repo,
                       struct buf *ret_from, struct err *err);

#endif
