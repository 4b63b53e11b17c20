#include "sys/guard/leftover_processes.h"

#include "base/mem.h"
#include "sys/clock.h"
#include "sys/contain/cgroup.h"
#include "sys/contain/contain.h"
#include "sys/guard/proc_table.h"

#include <signal.h>
#include <time.h>

enum { KILL_PATIENCE = 10000, NAMES_MAX = 20, PAUSE_MAX = 50, SECOND_SEARCH_MS = 10 };

/* Sleeps, and doubles the time for the next call. */
static void pause_for(int64_t *ms)
{
    struct timespec pause = {.tv_nsec = *ms * 1000000};
    (void)nanosleep(&pause, NULL);
    *ms = *ms * 2 < PAUSE_MAX ? *ms * 2 : PAUSE_MAX;
}

static bool await_end(const char *const *marks, int64_t time_limit)
{
    int64_t end = clock_mono() + time_limit;
    for (int64_t ms = 1;; pause_for(&ms)) {
        autoprocs struct proc_table left = {0};
        proc_table_marked(&left, marks);
        if (!left.all.n)
            return true;
        if (clock_mono() >= end)
            return false;
    }
}

static void add_names(const struct proc_table *procs, struct strv *names)
{
    for (size_t i = 0; i < procs->all.n && i < NAMES_MAX; i++) {
        autobuf struct buf command = BUF_INIT;
        proc_table_command(procs->all.v[i].pid, &command);
        strv_push(names, command.s);
    }
}

/* Stops everything first: otherwise processes could fork as fast as we list them. */
static void stop_all(const char *const *marks)
{
    for (size_t before = 0;;) {
        autoprocs struct proc_table found = {0};
        proc_table_marked(&found, marks);
        for (size_t i = 0; i < found.all.n; i++)
            (void)proc_table_signal(&found.all.v[i], SIGSTOP);
        if (found.all.n <= before)
            return;
        before = found.all.n;
    }
}

int leftover_processes_end(const char *const *marks, int64_t time_limit, struct strv *names,
                           struct err *err)
{
    if (await_end(marks, time_limit))
        return 0;
    stop_all(marks);
    int64_t end = clock_mono() + KILL_PATIENCE, ms = 1;
    for (bool first = true;; first = false, pause_for(&ms)) {
        autoprocs struct proc_table left = {0};
        proc_table_marked(&left, marks);
        if (!left.all.n)
            return 0;
        if (names && first)
            add_names(&left, names);
        if (clock_mono() >= end)
            return err_set(err, ERR_ENV, "process %d cannot be ended", (int)left.all.v[0].pid);
        for (size_t i = 0; i < left.all.n; i++)
            (void)proc_table_signal(&left.all.v[i], SIGKILL);
    }
}

/* Removes the control groups of guards that have ended. */
static void end_cgroups(const char *run, pid_t guard)
{
    autobuf struct buf place = BUF_INIT;
    if (cgroup_place(&place, NULL) == 0)
        cgroup_sweep(place.s, run, guard);
}

/* A process that is in the middle of exec shows no environment for a moment. The second search
 * finds it. */
int leftover_processes_end_guard(const char *run, pid_t guard, const char *mark, struct strv *names,
                                 struct err *err)
{
    autofree char *of_run = mem_printf("ANABRANCH_RUN=%s", run);
    autofree char *of_guard = mem_printf(GUARD_MARK "=%s", mark);
    const char *const marks[] = {of_run, of_guard, NULL};
    int64_t ms = SECOND_SEARCH_MS;
    int rc = leftover_processes_end(marks, 0, names, err);
    pause_for(&ms);
    if (rc == 0)
        rc = leftover_processes_end(marks, 0, names, err);
    end_cgroups(run, guard);
    return rc;
}

int leftover_processes_end_run(const char *run, int64_t time_limit, struct strv *names,
                               struct err *err)
{
    autofree char *mark = mem_printf("ANABRANCH_RUN=%s", run);
    const char *const marks[] = {mark, NULL};
    int rc = leftover_processes_end(marks, time_limit, names, err);
    end_cgroups(run, 0);
    return rc;
}

int leftover_processes_await_run(const char *run, int64_t time_limit, struct err *err)
{
    autofree char *mark = mem_printf("ANABRANCH_RUN=%s", run);
    const char *const marks[] = {mark, NULL};
    return await_end(marks, time_limit)
               ? 0
               : err_set(err, ERR_ENV,
                         "processes of run %s are still running: try again when they have ended",
                         run);
}
