/*
 * The hash of a repository's objects. The length of its ids selects the algorithm: 40 digits are
 * SHA-1, 64 SHA-256.
 */
#ifndef GIT_FORMAT_HASH_H
#define GIT_FORMAT_HASH_H

#include "base/buf.h"

#include <stddef.h>

/* Appends the binary hash of bytes: half as many bytes as digits. */
void git_hash_add(struct buf *out, const void *bytes, size_t len, size_t digits);

/* Converts an id from hexadecimal to binary and appends it. */
void git_hash_pack(struct buf *out, const char *id);

#endif
