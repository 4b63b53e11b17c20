#include "cli/inside.h"

#include "cli/cli.h"
#include "data/layers.h"

#include <fcntl.h>

/* What is below the workspace stays as it is as long as what we become, or its children, live. */
int inside_see(const char *workspace, const char *common)
{
    struct layers_hold hold;
    struct err err = {0};
    if (layers_see(workspace, common, &hold, &err))
        return cli_fail(EXIT_ENV, "%s", err.msg);
    if (hold.below >= 0)
        (void)fcntl(hold.below, F_SETFD, 0);
    if (hold.own >= 0)
        (void)fcntl(hold.own, F_SETFD, 0);
    return EXIT_OK;
}
