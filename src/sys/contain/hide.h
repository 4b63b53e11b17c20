/*
 * Hides a folder from all processes in our mount namespace, except for parts of it: we mount an
 * empty read-only folder over it. Everything that someone makes in the hidden folder later is
 * hidden as well.
 *
 * Processes outside of the namespace see no difference, and can rename or remove the folder. Linux
 * only: elsewhere there are no such namespaces.
 */
#ifndef SYS_CONTAIN_HIDE_H
#define SYS_CONTAIN_HIDE_H

#include "base/err.h"

#include <stdbool.h>

struct hiding {
    const char *folder; /* absolute path without symlinks; NULL: hide nothing */
    const char *open;   /* a folder below it that stays visible and writable; NULL: none */
    const char *shown;  /* a folder below it that stays visible, read-only; NULL: none */
};

/* Call this in a mount namespace of our own that does not propagate mounts. It needs /proc. */
int hide_folder(const struct hiding *hiding, struct err *err);

/* True if the folder is hidden from us. */
bool hide_is_hidden(const char *folder);

#endif
