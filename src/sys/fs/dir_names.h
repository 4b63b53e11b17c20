/*
 * Reads the names in folders, for callers that read very many folders.
 */
#ifndef SYS_FS_DIR_NAMES_H
#define SYS_FS_DIR_NAMES_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Appends the names in an open folder, each with a NUL behind it, in no order, without ".", ".."
 * and `but`. Call it once per descriptor; the descriptor stays open. On failure errno gives the
 * reason, and some names may have been appended. */
int dir_names_read(int fd, const char *but, struct buf *out);

/* The meaning of a folder's size, by kind of file system. */
enum dir_names_size {
    NAMES_SIZE_NOTHING, /* nothing: read the names */
    NAMES_SIZE_NUMBER,  /* tmpfs: the number of names */
    NAMES_SIZE_LENGTH,  /* btrfs: the total length of the names */
};

/* Call it with any folder of the file system. It returns NAMES_SIZE_NOTHING if two names may mean
 * one file: in a folder that ignores case. */
enum dir_names_size dir_names_size_means(int fd);

/* True if a folder of this size can contain so many names of this total length, without NULs. If
 * the caller knows that all of these names exist, there are no others. */
bool dir_names_size_fits(enum dir_names_size means, off_t size, size_t names, size_t length);

#endif
