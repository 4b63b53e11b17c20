/*
 * Reads a loose ref (a file of its own, as recently moved refs are) without git.
 */
#ifndef GIT_FORMAT_LOOSE_REF_H
#define GIT_FORMAT_LOOSE_REF_H

#include "base/buf.h"

#include <stdbool.h>

/* Appends the id of a ref (full name). Returns false if only git can tell: the ref is packed or in
 * a table, is symbolic, or does not exist. */
bool loose_ref_read(const char *common, const char *name, struct buf *ret_id);

/* Appends the full name of the branch that a HEAD points to. Returns false if only git can tell. */
bool loose_ref_head(const char *git_dir, struct buf *ret_branch);

#endif
