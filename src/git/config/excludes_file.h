/*
 * core.excludesFile: the patterns of files that the user wants ignored in all repositories. git
 * reads one such file, so that one of ours has to have in it what the user's own says.
 */
#ifndef GIT_CONFIG_EXCLUDES_FILE_H
#define GIT_CONFIG_EXCLUDES_FILE_H

#include "base/buf.h"
#include "base/err.h"

/* Appends the user's own patterns, whole lines, as they hold in the work tree at root. */
int excludes_add_own(const char *root, struct buf *out, struct err *err);

#endif
