/*
 * A ref that is a file of its own, as those are that were moved lately: read without git.
 */
#ifndef GIT_FORMAT_LOOSE_REF_H
#define GIT_FORMAT_LOOSE_REF_H

#include "base/buf.h"

#include <stdbool.h>

/* Appends the id that a ref (full name) is at. False where git must be asked: it is packed or in a
 * table, stands for another ref, or is not there. */
bool loose_ref_read(const char *common, const char *name, struct buf *ret_id);

/* Appends the full name of the branch that a HEAD stands for. False where git must be asked. */
bool loose_ref_head(const char *git_dir, struct buf *ret_branch);

#endif
