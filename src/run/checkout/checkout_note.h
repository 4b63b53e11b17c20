/*
 * Finishes a move of a checkout that was killed halfway. Before we start git, we write a note: the
 * branch, where it was, where it goes, and the checkout. If we die, the next holder of the base
 * lock (base_lock.h) finds the note and finishes the move.
 */
#ifndef RUN_CHECKOUT_CHECKOUT_NOTE_H
#define RUN_CHECKOUT_CHECKOUT_NOTE_H

#include "base/err.h"
#include "run/checkout/base_lock.h"

/* Both need the base lock. `path`: the checkout. *ret_made is false if the note of an earlier
 * unfinished move exists: that note stays. */
int checkout_note_note(const struct git_repo *repo, const char *ref, const char *from,
                       const char *to, const char *path, bool *ret_made, struct err *err);
void checkout_note_forget(const struct git_repo *repo);

/* Finishes the move that the note describes. Takes over the abandoned lock on the checkout, so
 * that no git of the user sees half of the move; removes that lock if no move is half done.
 * Removes other locks, updates the index for files that git has written (checkout_repair.h), and
 * moves branch and checkout to the target. If others have put commits on the branch meanwhile,
 * the target is a merge of the two. Does nothing if the two do not merge, or if the checkout
 * shows nothing of the move: the user has discarded it. If the user has left the branch, takes back
 * the files of the move instead (checkout_take_back.h). *ret_from is the commit from which the
 * branch moved; empty if it did not move. Does nothing without the base lock. */
int checkout_note_mend(const struct base_lock *turn, const struct git_repo *repo,
                       struct buf *ret_from, struct err *err);

#endif
