/*
 * A run that was killed before it was written down: it has a folder, and no row in the store. No
 * task of it ever began, so there is nothing in the folder that anybody could want.
 */
#ifndef CLEAN_UNBEGUN_RUNS_H
#define CLEAN_UNBEGUN_RUNS_H

#include "base/err.h"
#include "base/strv.h"
#include "store/store.h"

/* Whether that is such a folder. It is then locked by *ret_lock, so that no run has it. */
bool unbegun_is(const char *dir, int *ret_lock);

/* Removes the folders of all such runs below state_dir that cannot be resumed, and appends their
 * ids. With look_only it only finds them. */
int unbegun_remove_all(struct store *store, const char *state_dir, bool look_only,
                       struct strv *ret_ids, struct err *err);

#endif
