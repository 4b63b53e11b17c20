/*
 * Fills a work tree from another one of the same repository. Reading a file and writing it is
 * cheaper than having git unpack its object, and several threads can do it.
 *
 * We do not trust the other tree, because somebody may be working in it: before we write a file we
 * compare the hash of its content with the wanted object id. So the copy is exactly what git would
 * have written, or there is none. We leave everything else to git (changed files, files that only
 * one of the two commits has, submodules): git finds an index of the copied files and adds the
 * rest.
 */
#ifndef WORKSPACE_FILL_COPY_FILL_H
#define WORKSPACE_FILL_COPY_FILL_H

#include "base/err.h"
#include "base/strv.h"
#include "workspace/workspace.h"

#include <stdbool.h>

struct copy_fill {
    const char *from;           /* top of the other work tree */
    const char *index;          /* its index */
    size_t id_len;              /* digits of an id */
    const struct workspace *to; /* an empty workspace */
};

/* Copies the files that we can copy and writes the index. *ret_whole is false if files are still
 * missing: then run the command that workspace_fill() gives. Fails only if files were copied and
 * we cannot write the index: the workspace is unusable then. */
int copy_fill(const struct copy_fill *job, bool *ret_whole, struct err *err);

/* argv and environment of the command that fills a workspace in this way from the best tree that
 * exists, if it is worth it; else those of workspace_fill(). */
void copy_fill_command(const struct git_repo *repo, const struct workspace *ws, const char *commit,
                       struct strv *argv, struct strv *env);

#endif
