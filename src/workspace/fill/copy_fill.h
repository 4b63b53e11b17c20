/*
 * Filling a work tree from another one of the same repository: reading a file that is there and
 * writing it costs less than to have git unpack its object, and is done by several threads.
 *
 * Nothing is believed of the other tree, in which somebody may be at work: what was read is held
 * against the id of the object that is wanted before it is written, so that the copy is what git
 * would have written, or there is none. Whatever else there is (files that were changed, that only
 * one of the two commits has, submodules) is git's: it finds an index of what was copied and adds
 * the rest.
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
    size_t id_len;              /* of an id, in digits */
    const struct workspace *to; /* with nothing in it yet */
};

/* Copies what can be copied, and writes the index. *ret_whole is false where there is more to do,
 * or all: the command that workspace_fill() gives does it. Fails only where files are there and the
 * index cannot be written: nothing becomes of that workspace. */
int copy_fill(const struct copy_fill *job, bool *ret_whole, struct err *err);

/* argv and environment of the command that fills a workspace in that way, from the best tree that
 * there is, where that is worth it; else those of workspace_fill(). */
void copy_fill_command(const struct git_repo *repo, const struct workspace *ws, const char *commit,
                       struct strv *argv, struct strv *env);

#endif
