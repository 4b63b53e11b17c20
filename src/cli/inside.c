#include "cli/inside.h"

#include "cli/cli.h"
#include "data/layers.h"

#include <fcntl.h>

/* What is below the workspace stays as it is as long as what we become, or its children, live. */
int inside_see(const char *workspace, const char *common)
{
    struct err err = {0};
    int lock;
    if (layers_see(workspace, common, &lock, &err))
        return cli_fail(EXIT_ENV, "%s", err.msg);
    if (lock >= 0)
        (void)fcntl(lock, F_SETFD, 0);
    return EXIT_OK;
}
