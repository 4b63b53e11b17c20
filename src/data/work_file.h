/*
 * Files of a work tree, written as git writes them: with the permissions that the umask leaves, and
 * never in the place of something.
 */
#ifndef DATA_WORK_FILE_H
#define DATA_WORK_FILE_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* The mode that git makes a file with, by the one in an index or a tree. */
mode_t work_file_mode(uint32_t mode);

/* Writes a file or, by its mode, a symlink to where the content says, at a path below a folder.
 * What was written of it is taken away on failure. */
int work_file_write(int folder, const char *path, mode_t mode, const char *content, size_t len,
                    struct stat *ret_st, struct err *err);

/* Makes the folders that a path is in, as far as they are not those of another one that was made
 * before, and not there. */
int work_file_folders(int folder, const char *path, const char *before, struct err *err);

#endif
