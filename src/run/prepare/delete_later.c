#include "run/prepare/delete_later.h"

#include "base/mem.h"
#include "run/attempt/attempt.h"
#include "run/prepare/prepare.h"
#include "run/report.h"
#include "run/state/record.h"
#include "run/state/run_state.h"
#include "run/state/wake.h"
#include "sys/fs/known_folder.h"
#include "sys/proc/spawn.h"
#include "workspace/overlay/layers.h"

struct deletion {
    struct strv paths;
    struct run *run;
    int64_t task;
    struct watch *watch;
};

bool delete_later_is_worth_it(const struct attempt *attempt)
{
    return (attempt->prepare.included_list && !layers_there(attempt->ws.path)) ||
           attempt->run->work.provider == PROVIDER_POOL || workspace_is_large(&attempt->ws);
}

static void on_deleted(void *ctx, int status)
{
    struct deletion *d = ctx;
    struct run *run = d->run;
    struct err err = {0};
    for (size_t i = 0; status != 0 && i < d->paths.n;
         i++) { /* retry here, to say what stays and why */
        if (known_folder_remove(d->paths.v[i], &err))
            record_error(run, d->task, &err);
    }
    strv_done(&d->paths);
    watch_free(d->watch);
    free(d);
    run_report_kind(run, ENGINE_WORK_ENDED);
    run_wake(run);
}

int delete_later(struct run *run, int64_t task, const struct strv *paths, struct err *err)
{
    autostrv struct strv argv = {0};
    pid_t pid;
    strv_pushl(&argv, run->opts.self, "__remove", "--", NULL);
    for (size_t i = 0; i < paths->n; i++)
        strv_push(&argv, paths->v[i]);
    /* The child has its own session: if the user stops the run in the terminal, the deletion
     * continues. */
    struct spawn sp = {.argv = argv.v,
                       .fds = {SPAWN_NULL, SPAWN_NULL, SPAWN_NULL, SPAWN_NONE, SPAWN_NONE},
                       .new_session = true};
    if (spawn_start(&sp, &pid, err))
        return -1;
    struct deletion *d = mem_alloc(sizeof(*d));
    *d = (struct deletion){.run = run, .task = task};
    for (size_t i = 0; i < paths->n; i++)
        strv_push(&d->paths, paths->v[i]);
    d->watch = loop_child(run->loop, pid, on_deleted, d);
    run_report_kind(run, ENGINE_WORK_BEGAN);
    return 0;
}
