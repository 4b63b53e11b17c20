/*
 * Writes files of a work tree as git does: with the permissions that the umask allows, and never
 * over an existing file.
 */
#ifndef WORKSPACE_WRITE_FILE_H
#define WORKSPACE_WRITE_FILE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* The mode with which git creates a file, for the mode in an index or a tree. */
mode_t work_file_mode(uint32_t mode);

/* Writes a file, or a symlink if the mode says so (then `content` is its target), with a name in a
 * folder. Removes the incomplete file on failure. */
int work_file_write(int folder, const char *name, mode_t mode, const char *content, size_t len,
                    struct stat *ret_st, struct err *err);

/* Opens the folders of many paths one after the other, from an open root, without following a
 * symlink, even if somebody puts one there in the meantime. */
struct work_folder {
    int root, fd;    /* fd: the last folder, or -1 */
    struct buf path; /* its path, with the slash */
};

#define WORK_FOLDER_INIT(folder)                                                                   \
    {                                                                                              \
        .root = (folder), .fd = -1, .path = BUF_INIT                                               \
    }

/* Returns the folder of a path, open until the next call, and in *ret_name the last part of the
 * path; -1 with errno. Makes missing folders if `make` is set. */
int work_folder_enter(struct work_folder *f, const char *path, bool make, const char **ret_name);
void work_folder_done(struct work_folder *f);
#define autoworkfolder own_cleanup(work_folder_done)

#endif
