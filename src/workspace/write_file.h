/*
 * Files of a work tree, written as git writes them: with the permissions that the umask leaves, and
 * never in the place of something.
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

/* The mode that git makes a file with, by the one in an index or a tree. */
mode_t work_file_mode(uint32_t mode);

/* Writes a file or, by its mode, a symlink to where the content says, with a name in a folder. What
 * was written of it is taken away on failure. */
int work_file_write(int folder, const char *name, mode_t mode, const char *content, size_t len,
                    struct stat *ret_st, struct err *err);

/* The folder that one path after the other is in, reached from an open one without following a
 * symlink, whoever puts one there meanwhile. */
struct work_folder {
    int root, fd;    /* fd: of the last one, or -1 */
    struct buf path; /* its path, with the slash */
};

#define WORK_FOLDER_INIT(folder)                                                                   \
    {                                                                                              \
        .root = (folder), .fd = -1, .path = BUF_INIT                                               \
    }

/* The folder of a path, open until the next call, and in *ret_name the last part of the path; -1
 * with errno. Those that are missing are made where `make` says so. */
int work_folder_enter(struct work_folder *f, const char *path, bool make, const char **ret_name);
void work_folder_done(struct work_folder *f);
#define autoworkfolder own_cleanup(work_folder_done)

#endif
