#include "run/prepare/delete_later.h"

#include "base/mem.h"
#include "sys/fs/dirs.h"
#include "sys/proc/spawn.h"
#include "workspace/overlay/layers.h"

struct sweeper {
    struct strv paths;
    struct run *run;
    int64_t task;
    struct watch *watch;
};

bool delete_later_is_worth_it(const struct attempt *job)
{
    return (job->brought && !layers_there(job->ws.path)) || job->run->provider == PROVIDER_POOL ||
           workspace_is_large(&job->ws);
}

static void on_end(void *ctx, int status)
{
    struct sweeper *s = ctx;
    struct run *run = s->run;
    struct err err = {0};
    for (size_t i = 0; status != 0 && i < s->paths.n; i++) { /* which says what stays, and why */
        if (dirs_remove(s->paths.v[i], &err))
            record_error(run, s->task, &err);
    }
    strv_done(&s->paths);
    watch_free(s->watch);
    free(s);
    run->jobs--;
    run_wake(run);
}

int delete_later(struct run *run, int64_t task, const struct strv *paths, struct err *err)
{
    autostrv struct strv argv = {0};
    pid_t pid;
    strv_pushl(&argv, run->opts.self, "__remove", "--", NULL);
    for (size_t i = 0; i < paths->n; i++)
        strv_push(&argv, paths->v[i]);
    /* A session of its own: what the terminal's user stops is the run, not the tidying. */
    struct spawn sp = {.argv = argv.v,
                       .fds = {SPAWN_NULL, SPAWN_NULL, SPAWN_NULL, SPAWN_NONE, SPAWN_NONE},
                       .new_session = true};
    if (spawn_start(&sp, &pid, err))
        return -1;
    struct sweeper *s = mem_alloc(sizeof(*s));
    *s = (struct sweeper){.run = run, .task = task};
    for (size_t i = 0; i < paths->n; i++)
        strv_push(&s->paths, paths->v[i]);
    s->watch = loop_child(run->loop, pid, on_end, s);
    run->jobs++;
    return 0;
}
