/*
 * Reads and writes whole files: reads up to a limit, and writes completely or not at all.
 */
#ifndef SYS_FS_FILE_H
#define SYS_FS_FILE_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* Limit for the largest files of git: an index, packed refs. */
enum { FILE_LARGE = 1 << 30 };

/* Appends the contents of a regular file. Nobody can make us block or fill our memory: a FIFO, a
 * socket or a device is ERR_INPUT with errnum ENXIO, a folder is ERR_INPUT with EISDIR, and more
 * than max bytes is ERR_INPUT with EFBIG. If the call fails, out is unchanged. */
int file_read(const char *path, size_t max, struct buf *out, struct err *err);

/* The same for a file in a place where agents write: a symlink is an error as well. */
int file_read_own(const char *path, size_t max, struct buf *out, struct err *err);

/* Appends at most the last `max` bytes of such a file. *ret_cut is true if there are more bytes
 * before them. */
int file_read_end(const char *path, size_t max, struct buf *out, bool *ret_cut, struct err *err);

/* The same for a file that a user names as input. "-" is standard input. A path below /dev or /proc
 * (`<(...)` of a shell) may be a pipe or a terminal, and then we wait for its end. */
int file_read_input(const char *path, size_t max, struct buf *out, struct err *err);

/* Opens a regular file, in the folder `at` or by a whole path (AT_FDCWD), with the flags of
 * open(2). A file that this makes has mode 0600. Like file_read() it never blocks, and refuses
 * everything else. */
int file_open(int at, const char *path, int flags, int *ret_fd, struct err *err);

/* The same for an open file; `path` is for messages. */
int file_read_open(int fd, const char *path, size_t max, struct buf *out, struct err *err);

/* True if the name exists, also as a symlink. Follows no symlink. If we cannot look at it, it
 * counts as missing. */
bool file_exists(const char *path);
bool file_is_link(const char *path);
bool file_is_folder(const char *path);

/* True if both paths lead to the same file or folder, also through symlinks. */
bool file_is_same(const char *a, const char *b);

/* True if the path, or the name in a folder, leads to something, also through symlinks. */
bool file_resolves(const char *path);
bool file_resolves_in(const char *dir, const char *name);

/* Appends the target of a symlink in an open folder (AT_FDCWD: a path). Returns -1 with errno; a
 * target that is too long for a path is ENAMETOOLONG. */
int file_read_link(int folder, const char *name, struct buf *out);

/* Appends exactly `len` bytes; false if there are fewer. */
bool file_read_exactly(int fd, size_t len, struct buf *out);

/* Writes all bytes to a descriptor. Returns -1 with errno on failure. */
int file_write(int fd, const char *s, size_t len);

/* Writes a new file. If the write fails, we remove it. ERR_INPUT with EEXIST if it exists
 * already. */
int file_create(const char *path, const char *s, size_t len, struct err *err);

/* Writes a file to disk, and replaces an old one: readers see the whole old file or the whole new
 * one. If a symlink or a folder has the name, it stays, and the call fails with ERR_INPUT. */
int file_replace(const char *path, const char *s, size_t len, struct err *err);

/* The same with mode 0600, for private files. */
int file_replace_private(const char *path, const char *s, size_t len, struct err *err);

/* Waits until everything written to the file system of `path` is on disk. */
int file_sync_system(const char *path, struct err *err);

/* Moves a file from one open folder to another, also to another file system, and keeps its times.
 * There must be no file of the new name. Follows no symlink: it moves the link itself. */
int file_move_at(int from, const char *name, int to, const char *as, struct err *err);

/* Opens a new unnamed file for reading and writing. It vanishes when the last descriptor is
 * closed. */
int file_scratch(int *ret_fd, struct err *err);

/* Replaces the contents of an open file with s, and rewinds it. */
int file_refill(int fd, const char *s, size_t len, struct err *err);

#endif
