/*
 * A run that was killed before it was recorded has a folder, but no row in the store. None of its
 * tasks began. If it had saved its plan, resume begins it; otherwise nobody wants anything in the
 * folder.
 */
#ifndef CLEAN_UNBEGUN_RUNS_H
#define CLEAN_UNBEGUN_RUNS_H

#include "base/err.h"
#include "base/strv.h"
#include "store/store.h"

/* Checks for such a folder without a saved plan, and locks it with *ret_lock so that no run takes
 * it. */
bool unbegun_is(const char *dir, int *ret_lock);

/* Removes the folders of all such runs below state_dir without a saved plan, and appends their ids.
 * With look_only it only finds them. */
int unbegun_remove_all(struct store *store, const char *state_dir, bool look_only,
                       struct strv *ret_ids, struct err *err);

#endif
