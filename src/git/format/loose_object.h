/*
 * Objects in files of their own, as git writes new ones, without git. What is in them is not looked
 * at: it must be right.
 */
#ifndef GIT_FORMAT_LOOSE_OBJECT_H
#define GIT_FORMAT_LOOSE_OBJECT_H

#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>

/* Appends the id, of so many digits, that an object ("blob", "commit") of these bytes has. */
void loose_object_id(struct buf *out, const char *type, const struct buf *bytes, size_t digits);

/* Writes it, and appends its id. One that is there already is made younger, so that git does not
 * take it for garbage before a ref leads to it. */
int loose_object_write(const char *git_dir, const char *type, const struct buf *bytes,
                       size_t digits, struct buf *ret_id, struct err *err);

#endif
