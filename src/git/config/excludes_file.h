/*
 * core.excludesFile: patterns of files that the user wants ignored in all repositories. git reads
 * only one such file, so a file of ours must include the patterns of the user's file.
 */
#ifndef GIT_CONFIG_EXCLUDES_FILE_H
#define GIT_CONFIG_EXCLUDES_FILE_H

#include "base/buf.h"
#include "base/err.h"

/* Appends the user's own patterns as whole lines, as they apply in the work tree at root. */
int excludes_add_own(const char *root, struct buf *out, struct err *err);

#endif
