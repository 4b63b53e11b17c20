/*
 * The hash of a repository's objects, by the length of its ids: 40 digits are SHA-1, 64 SHA-256.
 */
#ifndef GIT_FORMAT_HASH_H
#define GIT_FORMAT_HASH_H

#include "base/buf.h"

#include <stddef.h>

/* Appends the hash of bytes as it stands in files: half as many bytes as digits. */
void git_hash_add(struct buf *out, const void *bytes, size_t len, size_t digits);

/* Appends an id that is given in digits as it stands in files. */
void git_hash_pack(struct buf *out, const char *id);

#endif
