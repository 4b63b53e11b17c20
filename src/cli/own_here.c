#include "cli/own_here.h"

int own_told(const struct err *err)
{
    return cli_fail(err->code == ERR_INPUT ? EXIT_USAGE : EXIT_ENV, "%s", err->msg);
}

int own_here_open(struct own_here *here, const char *dir, struct err *err)
{
    *here = (struct own_here){0};
    if (git_open(&here->repo, dir, err))
        return -1;
    if (!here->repo.root)
        return 0;
    if (threads_load(&here->all, &here->repo, err))
        return -1;
    here->thread = thread_here(&here->all, here->repo.root);
    return 0;
}

void own_here_close(struct own_here *here)
{
    threads_done(&here->all);
    git_close(&here->repo);
}

int own_here_find(struct own_here *here)
{
    struct err err = {0};
    if (own_here_open(here, ".", &err))
        return own_told(&err);
    if (here->thread)
        return EXIT_OK;
    return cli_fail(EXIT_USAGE, "this is not the worktree of a thread; 'anabranch fanout' makes "
                                "them");
}
