/*
 * Writes loose objects (one file per object) without git. Does not check their content: it must be
 * correct.
 */
#ifndef GIT_FORMAT_LOOSE_OBJECT_H
#define GIT_FORMAT_LOOSE_OBJECT_H

#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>

/* Appends the id, with this number of digits, of an object ("blob", "commit") with these bytes. */
void loose_object_id(struct buf *out, const char *type, const struct buf *bytes, size_t digits);

/* Writes an object and appends its id. If it exists, updates its time, so that git does not prune
 * it before a ref reaches it. */
int loose_object_write(const char *git_dir, const char *type, const struct buf *bytes,
                       size_t digits, struct buf *ret_id, struct err *err);

#endif
