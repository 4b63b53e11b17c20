/*
 * Which paths were brought along into a workspace, as include_run() noted them.
 */
#ifndef WORKSPACE_FILL_INCLUDED_H
#define WORKSPACE_FILL_INCLUDED_H

#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"

#include <stdbool.h>

struct included {
    const char *root; /* of the checkout that they are from */
    struct buf text;
    struct map paths; /* folders without their slash */
};

#define BROUGHT_INIT                                                                               \
    {                                                                                              \
        .text = BUF_INIT                                                                           \
    }

/* file may be NULL, or not exist: then nothing was brought. */
int included_open(struct included *b, const char *file, const char *root, struct err *err);
void included_close(struct included *b);
#define autobrought own_cleanup(included_close)

/* Whether a path was brought. Of a folder that git ignores only what the checkout has too is: the
 * rest an agent may have put there, and may commit. */
bool included_has(const struct included *b, const char *path);

#endif
