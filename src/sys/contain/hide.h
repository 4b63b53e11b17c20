/*
 * Hides a folder from all processes in our mount namespace, except for parts of it: an empty folder
 * that nobody can write to is mounted over it. What is made in the hidden folder later on is hidden
 * as well.
 *
 * Nobody outside of the namespace sees a difference, and nobody is kept from renaming or removing
 * the folder. Linux only: elsewhere there are no such namespaces.
 */
#ifndef SYS_CONTAIN_HIDE_H
#define SYS_CONTAIN_HIDE_H

#include "base/err.h"

#include <stdbool.h>

struct hiding {
    const char *folder; /* an absolute path without symlinks in it; NULL: nothing is hidden */
    const char *open;   /* a folder below it that remains as it is; NULL: none */
    const char *shown;  /* one that can only be read; NULL: none */
};

/* To be called in a mount namespace that is ours and does not propagate. /proc must be there. */
int hide_folder(const struct hiding *hiding, struct err *err);

/* Whether it is hidden from us. */
bool hide_is_hidden(const char *folder);

#endif
