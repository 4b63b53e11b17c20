/*
 * Scope ownership of folders and trees that we read; sys/own_fd.h does the same for descriptors.
 *
 *     autodir DIR *dir = opendir(path);
 *     for (struct dirent *e; (e = dir_next(dir));)
 */
#ifndef SYS_OWN_DIR_H
#define SYS_OWN_DIR_H

#include "base/own.h"
#include "base/text/str.h"
#include "sys/own_fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>

static inline void own_closedir(DIR **dir)
{
    if (*dir)
        (void)closedir(*dir);
}

#define autodir own_cleanup(own_closedir)

static inline void own_fts_close(FTS **fts)
{
    if (*fts)
        (void)fts_close(*fts);
}

#define autofts own_cleanup(own_fts_close)

/* Reads a folder by its descriptor, which it takes over, also on failure. NULL with errno. */
static inline DIR *dir_take(int fd)
{
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    int errnum = errno;
    if (!dir)
        own_close(&fd);
    errno = errnum;
    return dir;
}

/* Reads an open folder from its first entry; the folder stays open. NULL with errno. */
static inline DIR *dir_list(int folder)
{
    return dir_take(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

/* The next entry besides "." and ".."; NULL at the end, on failure, and if `dir` is NULL. */
static inline struct dirent *dir_next(DIR *dir)
{
    struct dirent *e;
    do
        e = dir ? readdir(dir) : NULL;
    while (e && str_is_dots(e->d_name));
    return e;
}

#endif
