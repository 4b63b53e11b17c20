#include "cli/threads/current_thread.h"

#include "base/mem.h"
#include "threads/relocate.h"

#include <string.h>

/* Fails if the damaged file belongs to the worktree that we are in. */
static int check_own_file(const struct current_thread *here, struct err *err)
{
    autofree char *here_admin = realpath(here->repo.git_dir, NULL);
    for (size_t i = 0; here_admin && i < here->all.damaged.n; i++) {
        const struct thread_damaged *d = &here->all.damaged.v[i];
        autofree char *admin = realpath(d->admin, NULL);
        if (admin && strcmp(admin, here_admin) == 0)
            return err_set(err, ERR_ENV, "%s; 'anabranch status' shows the solution", d->problem);
    }
    return 0;
}

int current_thread_open(struct current_thread *here, const char *dir, struct err *err)
{
    *here = (struct current_thread){0};
    if (git_open(&here->repo, dir, err))
        return -1;
    if (!here->repo.root)
        return 0;
    if (threads_load(&here->all, &here->repo, err))
        return -1;
    here->thread = thread_here(&here->all, here->repo.root);
    return here->thread ? 0 : check_own_file(here, err);
}

int current_thread_mend(struct current_thread *here, struct err *err)
{
    if (thread_hooks_are_stale(here->thread) && threads_relocate(&here->all, &here->repo, err))
        return -1;
    const char *why = thread_hooks_off(here->thread);
    if (why)
        (void)cli_fail(EXIT_OK,
                       "the hooks that check the paths of this thread's commits are off: %s", why);
    return 0;
}

void current_thread_warn(const struct current_thread *here)
{
    for (size_t i = 0; i < here->all.damaged.n; i++) {
        const struct thread_damaged *d = &here->all.damaged.v[i];
        (void)cli_fail(EXIT_OK, "the paths of thread %s are unknown: %s; %s", d->id, d->problem,
                       d->hint);
    }
}

void current_thread_close(struct current_thread *here)
{
    threads_done(&here->all);
    git_close(&here->repo);
}

int current_thread_find(struct current_thread *here)
{
    struct err err = {0};
    if (current_thread_open(here, ".", &err))
        return cli_fail_by(&err);
    if (here->thread)
        return EXIT_OK;
    return cli_fail(EXIT_USAGE, "this is not the worktree of a thread; 'anabranch fanout' makes "
                                "them");
}
