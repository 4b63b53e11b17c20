/*
 * The paths that were included in a workspace, as recorded by include_run().
 */
#ifndef WORKSPACE_FILL_INCLUDED_H
#define WORKSPACE_FILL_INCLUDED_H

#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"

#include <stdbool.h>

struct included {
    const char *root; /* of the checkout that they come from */
    struct buf text;
    struct map paths; /* folders without their slash */
};

#define BROUGHT_INIT                                                                               \
    {                                                                                              \
        .text = BUF_INIT                                                                           \
    }

/* `file` may be NULL or missing: then nothing was included. */
int included_open(struct included *b, const char *file, const char *root, struct err *err);
void included_close(struct included *b);
#define autobrought own_cleanup(included_close)

/* True if a path was included. A file in an ignored folder counts only if the checkout has it too:
 * an agent may have made the others, and may commit them. */
bool included_has(const struct included *b, const char *path);

#endif
