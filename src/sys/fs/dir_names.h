/*
 * The names in a folder, for those who go through very many folders.
 */
#ifndef SYS_FS_DIR_NAMES_H
#define SYS_FS_DIR_NAMES_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Appends the names of what is in an open folder, each with a NUL behind it, in no order, without
 * "." and ".." and without `but`. To be called once per descriptor, which stays open. On failure
 * errno says why, and some names may be there. */
int dir_names_read(int fd, const char *but, struct buf *out);

/* What the size of a folder says about the names in it, by the kind of the file system. */
enum dir_names_size {
    NAMES_SIZE_NOTHING, /* these must be read */
    NAMES_SIZE_NUMBER,  /* tmpfs: how many there are */
    NAMES_SIZE_LENGTH,  /* btrfs: how long they are together */
};

/* By any folder of it. Nothing, where two names may be of one file: in a folder that does not tell
 * upper case from lower. */
enum dir_names_size dir_names_size_means(int fd);

/* Whether a folder of that size can have so many names in it, of that length together without a NUL
 * behind each. Where all of these are known to be there, there is then no other one. */
bool dir_names_size_fits(enum dir_names_size means, off_t size, size_t names, size_t length);

#endif
