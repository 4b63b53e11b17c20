#include "run/run_open.h"

#include "base/mem.h"
#include "base/text/timestamp.h"
#include "git/batch.h"
#include "project/config_file.h"
#include "project/secrets.h"
#include "run/attempt/attempt.h"
#include "run/checkout/base_lock.h"
#include "run/control/socket.h"
#include "run/land/publish.h"
#include "run/limits/lane.h"
#include "run/notify/notify.h"
#include "run/notify/stream_events.h"
#include "run/preflight.h"
#include "run/prepare/fill.h"
#include "run/prepare/overlay_fill.h"
#include "run/prepare/pool.h"
#include "run/report.h"
#include "run/resume/resume_private.h"
#include "run/run.h"
#include "run/state/run_state.h"
#include "run/turn.h"
#include "run/watch/watch.h"
#include "store/store.h"
#include "sys/clock.h"
#include "sys/guard/warden.h"
#include "sys/own_fd.h"
#include "sys/ports.h"
#include "sys/proc/loop.h"
#include "sys/self_exe.h"
#include "workspace/fill/memory_fill.h"
#include "workspace/overlay/base_tree.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

enum { DEFAULT_WORKERS = 3 };

/* Ids sort by time. Random digits distinguish runs that begin in the same second. */
static char *make_id(int64_t now)
{
    autobuf struct buf time = BUF_INIT, id = BUF_INIT;
    uint16_t random = 0;
    if (getentropy(&random, sizeof(random)) < 0)
        random = (uint16_t)getpid();
    timestamp_format(&time, now); /* 2026-03-01T12:00:00.123Z */
    for (const char *c = time.s; *c && *c != '.'; c++) {
        if (*c == 'T')
            buf_addch(&id, '-');
        else if (*c >= '0' && *c <= '9')
            buf_addch(&id, *c);
    }
    buf_addf(&id, "-%04x", random);
    return buf_steal(&id);
}

/* Ignores signals for broken pipes and file size limits: write() reports these errors. */
static void ignore_write_signals(void)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    (void)sigaction(SIGPIPE, &ignore, NULL);
    (void)sigaction(SIGXFSZ, &ignore, NULL);
}

struct run *run_new(struct plan_file *pf, const char *path, const struct run_options *opts,
                    char *id, int64_t started)
{
    struct run *run = mem_alloc(sizeof(*run));
    ignore_write_signals();
    run->pf = pf;
    run->files.lock = -1;
    run->files.plan = path;
    run->work.fill = (struct fill){.mould = MOULD_INIT};
    run->work.overlay = (struct overlay_fill){
        .tracked = TRACKED_INIT, .base_tree = BASE_TREE_INIT, .draft = BASE_TREE_DRAFT_INIT};
    run->publisher = (struct publisher){.lock = BASE_LOCK_INIT, .base_seen = BUF_INIT};
    run->opts = *opts;
    run->started = started;
    run->id = id;
    run->guard.path = self_companion(ANABRANCH_LIBEXEC, "anabranch-guard");
    (void)setenv("ANABRANCH_RUN", run->id, 1); /* we find every process that we start by this */
    run->batch = pf->repo.root ? git_batch_new(pf->repo.common) : NULL;
    if (run->batch && pf->repo.core.plain)
        git_batch_write_here(run->batch);
    run->tasks = mem_array(pf->plan.task_count, sizeof(*run->tasks));
    run_set_turns(run);
    run_engine_new(run);
    secrets_collect(&run->secrets, &pf->plan);
    return run;
}

void run_schedule(struct run *run)
{
    struct plan_file *pf = run->pf;
    size_t workers = pf->plan.workers > 0 ? (size_t)pf->plan.workers : DEFAULT_WORKERS;
    run->loop = loop_new();
    run_engine_schedule(run, run->opts.workers ? run->opts.workers : workers);
    lane_assign_all(run);
}

int run_open(struct run **ret, struct plan_file *pf, const char *path,
             const struct run_options *opts, struct err *err)
{
    int64_t now = clock_wall();
    struct run *run = run_new(pf, path, opts, make_id(now), now);
    if (preflight(run, err)) {
        run_close(run);
        return -1;
    }
    run_schedule(run);
    *ret = run;
    return 0;
}

void run_close(struct run *run)
{
    if (!run)
        return;
    for (size_t i = 0; i < run->pf->plan.task_count; i++) {
        struct task_run *tr = &run->tasks[i];
        char *const owned[] = {
            tr->reason,       tr->commit,        tr->landed,           tr->branch,
            tr->start,        tr->action,        tr->feedback,         tr->workspace,
            tr->session,      tr->remake_from,   tr->first_start,      tr->pending_message,
            tr->last_session, tr->landed_before, tr->committed_before, tr->start_before};
        for (size_t k = 0; k < ARRAY_LEN(owned); k++)
            free(owned[k]);
        strv_done(&tr->own_heads);
        watch_free(tr->retry_timer);
    }
    for (size_t i = 0; i < RUN_SIGNALS; i++)
        watch_free(run->turn.signals[i]);
    watch_free(run->turn.timer);
    for (size_t i = 0; i < run->audience.tickers.n; i++) {
        watch_free(run->audience.tickers.v[i]->watch);
        free(run->audience.tickers.v[i]);
    }
    vec_done(&run->audience.tickers);
    for (size_t i = 0; i < run->audience.observers.n; i++)
        watch_free(run->audience.observers.v[i].deadline);
    publisher_done(&run->publisher);
    watch_free(run->publisher.pause);
    lane_free_all(run);
    control_socket_close(run->listener);
    notifier_free(run->audience.notifier);
    stream_events_free(run->audience.stream_events);
    warden_dismiss(&run->guard.warden);
    run_engine_free(run);
    secrets_done(&run->secrets);
    config_file_close(&run->config);
    ports_done(&run->work.ports);
    loop_free(run->loop);
    repo_watch_free(run->repo_watch);
    fill_done(run);
    overlay_fill_done(&run->work.overlay);
    pool_done(run);
    git_batch_free(run->batch);
    resume_free(run->resume);
    store_close(run->journal.store);
    own_close(&run->files.lock);
    char *const owned[] = {
        run->guard.path,  run->id,           run->files.dir,      run->work.dir,
        run->files.state, run->base.name,    run->base.ref,       run->base.start,
        run->base.tip,    run->base.tip_ref, run->base.published, run->base.refusal,
        run->base.result, run->base.advice};
    for (size_t i = 0; i < ARRAY_LEN(owned); i++)
        free(owned[i]);
    vec_done(&run->audience.observers);
    strv_done(&run->base.spent_branches);
    strv_done(&run->notices.git_news);
    free(run->tasks);
    free(run);
}

void run_observe(struct run *run, run_observer_fn *fn, void *ctx)
{
    vec_push(&run->audience.observers, (struct observer){.fn = fn, .ctx = ctx});
}
