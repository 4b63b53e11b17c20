#include "cli/show/enter_workspace.h"

#include "base/mem.h"
#include "cli/frame/cli.h"
#include "workspace/overlay/layers.h"

#include <fcntl.h>

/* We let the next program inherit the locks, so that the layers below the workspace stay unchanged
 * while it or its children live. */
int enter_workspace(const char *workspace, const char *common)
{
    struct layers_hold hold;
    struct err err = {0};
    if (layers_see(workspace, common, &hold, &err))
        return cli_fail(EXIT_ENV, "%s", err.msg);
    const int locks[] = {hold.below, hold.own, hold.kept};
    for (size_t i = 0; i < ARRAY_LEN(locks); i++) {
        if (locks[i] >= 0)
            (void)fcntl(locks[i], F_SETFD, 0);
    }
    return EXIT_OK;
}
