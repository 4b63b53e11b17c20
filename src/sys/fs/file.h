/*
 * Files, whole: read one with a limit, write one so that it is there completely or not at all.
 */
#ifndef SYS_FS_FILE_H
#define SYS_FS_FILE_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* What we read of the largest files that git keeps: an index, packed refs. */
enum { FILE_LARGE = 1 << 30 };

/* Appends the contents of a regular file. Nobody can make us wait, or fill our memory: a FIFO, a
 * socket or a device is ERR_INPUT with errnum ENXIO, a folder ERR_INPUT with EISDIR, and more than
 * max bytes ERR_INPUT with EFBIG; out is as it was where the call fails. */
int file_read(const char *path, size_t max, struct buf *out, struct err *err);

/* The same for a file in a place where agents write: a symlink is an error as well. */
int file_read_own(const char *path, size_t max, struct buf *out, struct err *err);

/* Appends the last bytes of such a file, at most max; *ret_cut says whether there are more in front
 * of them. */
int file_read_end(const char *path, size_t max, struct buf *out, bool *ret_cut, struct err *err);

/* The same for what a user names as an input: where path is "-", that is standard input, and below
 * /dev and /proc (`<(...)` of a shell) it may be a pipe or a terminal, whose end we wait for. */
int file_read_input(const char *path, size_t max, struct buf *out, struct err *err);

/* Opens a regular file, in the folder `at` (AT_FDCWD: path is a whole one), with the flags of
 * open(2), and 0600 where that makes it. It never waits and takes nothing else: see file_read(). */
int file_open(int at, const char *path, int flags, int *ret_fd, struct err *err);

/* The same of an open file; `path` is for messages. */
int file_read_open(int fd, const char *path, size_t max, struct buf *out, struct err *err);

/* Whether there is something of that name, or a symlink. No symlink is followed; what cannot be
 * looked at counts as missing. */
bool file_exists(const char *path);
bool file_is_link(const char *path);

/* Writes all bytes to a descriptor; -1 with errno where that fails. */
int file_write(int fd, const char *s, size_t len);

/* Writes a file that must not exist yet; what was written of it is removed on failure. ERR_INPUT
 * with EEXIST where it exists. */
int file_create(const char *path, const char *s, size_t len, struct err *err);

/* Writes a file anew, on disk, in the place of one that may be there: readers see the old one or
 * the new one, whole. A symlink or a folder of that name is ERR_INPUT, and stays. */
int file_replace(const char *path, const char *s, size_t len, struct err *err);

/* The same for what is nobody else's business: 0600. */
int file_replace_private(const char *path, const char *s, size_t len, struct err *err);

/* All that was written to the file system of a file or folder is on disk when the call returns. */
int file_sync_system(const char *path, struct err *err);

/* Moves a file from one open folder to where there is none in another, also to another file system;
 * its times are kept. The file itself is moved, no symlink is followed. */
int file_move_at(int from, const char *name, int to, const char *as, struct err *err);

/* Opens a new file without a name, for reading and writing: nothing is left of it when the last
 * who has it open is gone. */
int file_scratch(int *ret_fd, struct err *err);

/* Makes s the whole contents of an open file, and rewinds it. */
int file_refill(int fd, const char *s, size_t len, struct err *err);

#endif
