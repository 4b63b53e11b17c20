#include "run/state/record.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "doc/doc.h"
#include "plan/words.h"
#include "run/attempt/attempt.h"
#include "run/report.h"
#include "run/state/run_state.h"
#include "run/state/status.h"
#include "sys/clock.h"
#include "sys/fs/file.h"
#include "sys/guard/proc_table.h"
#include "sys/own_fd.h"

#include <fcntl.h>
#include <string.h>
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
    int rc = store_add_event(run->journal.store, &row, err);
    ev->seq = row.seq;
    return rc;
}

static void notify_observers(struct run *run, const struct event *ev)
{
    for (size_t i = 0; i < run->audience.observers.n; i++)
        run->audience.observers.v[i].fn(run->audience.observers.v[i].ctx, ev);
}

/* Begins what is recorded at once. If several writes belong together, they form a group, unless
 * they are in one already. First come the events that the engine has heard: nobody hears of what
 * they led to before they are in the store. */
static int begin_step(struct run *run, bool on_disk, bool *ret_group, struct err *err)
{
    const struct journal *j = &run->journal;
    const char *more = j->lines.s + j->written;
    bool begins = !store_in_group(run->journal.store) && (on_disk || *more);
    *ret_group = false;
    if (begins && (on_disk ? store_begin : store_begin_soon)(run->journal.store, err))
        return -1;
    *ret_group = begins;
    run->journal.written = j->lines.len;
    return *more ? store_add_engine_events(run->journal.store, run->id, more, err) : 0;
}

/* Always ends the group. If a write in it fails, the store discards all of it, and the next group
 * has these lines of the journal again. */
static int end_step(struct run *run, bool group, int rc, struct err *err)
{
    struct journal *j = &run->journal;
    if (!group)
        return rc;
    rc = store_commit(run->journal.store, rc ? NULL : err) ? -1 : rc;
    size_t left = rc ? j->lines.len : j->lines.len - j->written;
    memmove(j->lines.s, j->lines.s + j->lines.len - left, left);
    buf_cut(&j->lines, left);
    j->written = 0;
    return rc;
}

static int write_alone(struct run *run, struct event *ev, struct err *err)
{
    bool group;
    int rc = begin_step(run, false, &group, err);
    return end_step(run, group, rc ? rc : write_event(run, ev, err), err);
}

void record(struct run *run, enum event_kind kind, int64_t task, const struct node *data)
{
    struct arena a = {0};
    struct event ev = make_event(run, kind, task, secrets_mask_tree(&run->secrets, data, &a));
    struct err err = {0};
    if (run->journal.store && write_alone(run, &ev, &err)) /* a dry run has none */
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
    return store_put_task(run->journal.store, &row, err);
}

void record_task(struct run *run, uint32_t task)
{
    struct err err = {0};
    bool group;
    int rc = begin_step(run, false, &group, &err);
    if (end_step(run, group, rc ? rc : write_task(run, task, &err), &err))
        run_fail(run, &err);
}

static int write_group(struct run *run, int64_t task, struct event *ev, bool on_disk,
                       struct err *err)
{
    bool group;
    int rc = begin_step(run, on_disk, &group, err);
    if (rc == 0 && task >= 0)
        rc = write_task(run, (uint32_t)task, err);
    if (rc == 0 && ev)
        rc = write_event(run, ev, err);
    return end_step(run, group, rc, err);
}

void record_together(struct run *run)
{
    struct err err = {0};
    if (store_begin(run->journal.store, &err))
        run_fail(run, &err);
}

void record_end_of_group(struct run *run)
{
    struct err err = {0};
    if (end_step(run, store_in_group(run->journal.store), 0, &err))
        run_fail(run, &err);
}

static void record_with_task(struct run *run, enum event_kind kind, uint32_t task,
                             const struct node *data, bool on_disk)
{
    struct arena a = {0};
    struct event ev = make_event(run, kind, task, secrets_mask_tree(&run->secrets, data, &a));
    struct err err = {0};
    if (write_group(run, task, &ev, on_disk, &err))
        run_fail(run, &err);
    notify_observers(run, &ev);
    arena_done(&a);
}

void record_step(struct run *run, enum event_kind kind, uint32_t task, const struct node *data)
{
    record_with_task(run, kind, task, data, true);
}

void record_task_event(struct run *run, enum event_kind kind, uint32_t task,
                       const struct node *data)
{
    record_with_task(run, kind, task, data, false);
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
        .plan = run->files.plan,
        .name = run->pf->plan.name,
        .base = run->base.name,
        .base_commit = run->base.start,
        .tip = run->base.tip,
        .state = state,
        .started = run->started,
        .finished = run->finished,
        .pid = getpid(),
        .pid_start = proc_table_start(getpid()),
        .exit_code = exit_code,
    };
    return store_put_run(run->journal.store, &row, err);
}

static void append_lines(struct run *run, const char *name, const struct buf *lines)
{
    autofree char *path = mem_printf("%s/%s", run->files.dir, name);
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
    bool group;
    int rc = begin_step(run, true, &group, err);
    rc = rc ? rc : write_run(run, "running", 0, err);
    for (uint32_t t = 0; rc == 0 && t < run->pf->plan.task_count; t++) {
        if (!run->opts.wanted || run->opts.wanted[t])
            rc = write_task(run, t, err);
    }
    return end_step(run, group, rc, err);
}

int record_end(struct run *run, const char *state, int exit_code, struct err *err)
{
    struct event ev = make_event(run, EV_RUN_FINISHED, -1, NULL);
    bool group;
    int rc = begin_step(run, true, &group, err);
    if (rc == 0)
        rc = write_run(run, state, exit_code, err) || write_event(run, &ev, err) ? -1 : 0;
    rc = end_step(run, group, rc, err);
    notify_observers(run, &ev);
    return rc;
}

/* The result is recorded already, so a failure does not matter. */
void record_last_events(struct run *run)
{
    bool group;
    int rc = begin_step(run, false, &group, NULL);
    (void)end_step(run, group, rc, NULL);
}
