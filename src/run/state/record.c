#include "run/run_private.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "doc/doc.h"
#include "plan/words.h"
#include "sys/clock.h"
#include "sys/fs/file.h"
#include "sys/guard/proc_table.h"
#include "sys/own_fd.h"

#include <fcntl.h>
#include <unistd.h>

static struct event make_event(const struct run *run, enum event_kind kind, int64_t task,
                               const struct node *data)
{
    struct event ev = {.time = clock_wall(), .kind = kind, .run = run->id, .data = data};
    if (task >= 0) {
        ev.task = run->pf->plan.tasks[task].id;
        ev.attempt = run->tasks[task].status.attempts;
    }
    return ev;
}

static int write_event(struct run *run, struct event *ev, struct err *err)
{
    autobuf struct buf json = BUF_INIT;
    if (ev->data)
        doc_write_line(&json, ev->data);
    struct store_event row = {
        .time = ev->time,
        .name = event_name(ev->kind),
        .run = run->id,
        .task = ev->task,
        .attempt = ev->attempt,
        .data = ev->data ? json.s : NULL,
    };
    int rc = store_add_event(run->store, &row, err);
    ev->seq = row.seq;
    return rc;
}

static void notify_observers(struct run *run, const struct event *ev)
{
    for (size_t i = 0; i < run->observers.n; i++)
        run->observers.v[i].fn(run->observers.v[i].ctx, ev);
}

void record(struct run *run, enum event_kind kind, int64_t task, const struct node *data)
{
    struct arena a = {0};
    struct event ev = make_event(run, kind, task, secrets_mask_tree(&run->secrets, data, &a));
    struct err err = {0};
    if (run->store && write_event(run, &ev, &err)) /* a dry run has none */
        run_fail(run, &err);
    notify_observers(run, &ev); /* even if the write failed: observers must see why the run ends */
    arena_done(&a);
}

void record_error(struct run *run, int64_t task, const struct err *err)
{
    struct arena a = {0};
    struct node *data = node_new_map(&a);
    node_put_string(&a, data, "error", err->msg);
    record(run, EV_GIT_STATE_CHANGED, task, data);
    arena_done(&a);
}

static int write_task(struct run *run, uint32_t task, struct err *err)
{
    const struct task *t = &run->pf->plan.tasks[task];
    const struct task_run *tr = &run->tasks[task];
    const struct task_status *s = &tr->status;
    const struct budget_use *use = &run->engine->budgets.tasks[task];
    enum task_state state = tr->life->state;
    bool bad = state == TASK_FAILED || state == TASK_CONFLICTED ||
               (state == TASK_LANDED && tr->life->follow_up_failed);
    struct store_task row = {
        .run = run->id,
        .id = t->id,
        .title = t->title,
        .engine = engine_words[run_engine(run, task)],
        .state = task_state_name(state),
        .failure = bad ? failure_names[s->failure] : NULL,
        .reason = s->reason,
        .branch = s->branch,
        .workspace = s->workspace,
        .start_commit = tr->start,
        .commit = s->commit,
        .landed = s->landed,
        .place = (int)task,
        .attempts = s->attempts,
        .exit_code = s->exit_code,
        .started = s->started,
        .finished = s->finished,
        .tokens_in = use->tokens_in,
        .tokens_out = use->tokens_out,
        .usd = use->usd,
    };
    return store_put_task(run->store, &row, err);
}

void record_task(struct run *run, uint32_t task)
{
    struct err err = {0};
    if (write_task(run, task, &err))
        run_fail(run, &err);
}

/* Always ends the transaction: if a write in it fails, the store discards all of it. */
static int write_group(struct run *run, int64_t task, struct event *ev, bool synced,
                       struct err *err)
{
    bool outer = store_in_group(run->store);
    if (!outer && (synced ? store_begin(run->store, err) : store_begin_unsynced(run->store, err)))
        return -1;
    int rc = task >= 0 ? write_task(run, (uint32_t)task, err) : 0;
    if (rc == 0 && ev)
        rc = write_event(run, ev, err);
    return !outer && store_commit(run->store, rc ? NULL : err) ? -1 : rc;
}

void record_together(struct run *run)
{
    struct err err = {0};
    if (store_begin(run->store, &err))
        run_fail(run, &err);
}

void record_end_of_group(struct run *run)
{
    struct err err = {0};
    if (store_in_group(run->store) && store_commit(run->store, &err))
        run_fail(run, &err);
}

static void record_with_task(struct run *run, enum event_kind kind, uint32_t task,
                             const struct node *data, bool synced)
{
    struct arena a = {0};
    struct event ev = make_event(run, kind, task, secrets_mask_tree(&run->secrets, data, &a));
    struct err err = {0};
    if (write_group(run, task, &ev, synced, &err))
        run_fail(run, &err);
    notify_observers(run, &ev);
    arena_done(&a);
}

void record_step(struct run *run, enum event_kind kind, uint32_t task, const struct node *data)
{
    record_with_task(run, kind, task, data, true);
}

void record_task_event(struct run *run, enum event_kind kind, uint32_t task)
{
    record_with_task(run, kind, task, NULL, false);
}

int record_intent(struct run *run, uint32_t task, struct err *err)
{
    if (write_group(run, task, NULL, true, err) == 0)
        return 0;
    run_fail(run, err);
    return -1;
}

static int write_run(struct run *run, const char *state, int exit_code, struct err *err)
{
    struct store_run row = {
        .id = run->id,
        .plan = run->plan_path,
        .name = run->pf->plan.name,
        .base = run->base,
        .base_commit = run->base_commit,
        .tip = run->tip,
        .state = state,
        .started = run->started,
        .finished = run->finished,
        .pid = getpid(),
        .pid_start = proc_table_start(getpid()),
        .exit_code = exit_code,
    };
    return store_put_run(run->store, &row, err);
}

static void append_lines(struct run *run, const char *name, const struct buf *lines)
{
    autofree char *path = mem_printf("%s/%s", run->dir, name);
    autoclose int fd = -1;
    struct err err = {0};
    if (file_open(AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND, &fd, &err) == 0 &&
        write(fd, lines->s, lines->len) != (ssize_t)lines->len)
        (void)err_sys(&err, "write '%s'", path);
    if (err.code)
        record_error(run, -1, &err);
}

void record_landed(struct run *run, const struct buf *lines)
{
    append_lines(run, STORE_LANDED, lines);
}

void record_committed(struct run *run, uint32_t task)
{
    autobuf struct buf line = BUF_INIT;
    buf_addf(&line, "%s %s\n", run->tasks[task].commit, run->pf->plan.tasks[task].id);
    append_lines(run, STORE_COMMITTED, &line);
}

int record_begin(struct run *run, struct err *err)
{
    if (store_begin(run->store, err))
        return -1;
    int rc = write_run(run, "running", 0, err);
    for (uint32_t t = 0; rc == 0 && t < run->pf->plan.task_count; t++) {
        if (!run->opts.wanted || run->opts.wanted[t])
            rc = write_task(run, t, err);
    }
    return store_commit(run->store, rc ? NULL : err) ? -1 : rc;
}

int record_end(struct run *run, const char *state, int exit_code, struct err *err)
{
    struct event ev = make_event(run, EV_RUN_FINISHED, -1, NULL);
    int rc = store_begin(run->store, err);
    if (rc == 0) {
        rc = write_run(run, state, exit_code, err) || write_event(run, &ev, err) ? -1 : 0;
        rc = store_commit(run->store, rc ? NULL : err) ? -1 : rc;
    }
    notify_observers(run, &ev);
    return rc;
}
