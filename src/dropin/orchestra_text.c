/* The standard output of parallel-orchestra. */
#include "dropin/orchestra_view.h"

#include <string.h>

static const char *get_label(const struct orchestra *o, uint32_t task)
{
    static const char *const labels[ORCHESTRA_END_COUNT_] = {
        [ORCHESTRA_SUCCEEDED] = "ok",
        [ORCHESTRA_FAILED] = "fail",
        [ORCHESTRA_SKIPPED] = "skip",
        [ORCHESTRA_RESUMED] = "skip",
    };
    return orchestra_timed_out(o, task) ? "timeout" : labels[orchestra_end(o, task)];
}

static void add_code(const struct orchestra *o, uint32_t task, struct buf *out)
{
    const struct orchestra_task *t = &o->tasks[task];
    bool late = orchestra_timed_out(o, task);
    if (late || !t->has_code)
        buf_addstr(out, " returncode=None");
    else
        buf_addf(out, " returncode=%d", t->code);
    if (late && run_task(o->run, task).failure == FAILURE_IDLE)
        buf_addstr(out, " (idle timeout)");
    else if (late)
        buf_addstr(out, " (total timeout)");
}

static void add_field(struct buf *out, const char *name, const char *value)
{
    if (value)
        buf_addf(out, " %s=%s", name, value);
}

/* The agent's words; if it gave no reason, ours. That tool shows `cycles` and `report` only
 * together with a status. */
static void add_result(const struct orchestra *o, uint32_t task, struct buf *out)
{
    const struct orchestra_result *r = &o->tasks[task].result;
    bool bad = orchestra_end(o, task) != ORCHESTRA_SUCCEEDED;
    add_field(out, "status", r->status);
    if (r->status && r->cycles >= 0)
        buf_addf(out, " cycles=%lld", (long long)r->cycles);
    add_field(out, "report", r->status ? r->report : NULL);
    add_field(out, "reason", r->reason ? r->reason : bad ? run_task(o->run, task).reason : NULL);
}

static void add_task(const struct orchestra *o, uint32_t task, struct buf *out)
{
    buf_addf(out, "[%s] %s (%s)", get_label(o, task), o->pf->plan.tasks[task].id,
             orchestra_agent(o, task));
    if (o->tasks[task].resumed) {
        buf_addstr(out, " resumed\n");
        return;
    }
    buf_addf(out, " duration=%.2f", orchestra_seconds(o, task));
    add_code(o, task, out);
    if (orchestra_retries(o, task))
        buf_addf(out, " retries=%d", orchestra_retries(o, task));
    if (orchestra_end(o, task) == ORCHESTRA_FAILED)
        add_field(out, "category", orchestra_category(o, task));
    add_result(o, task, out);
    buf_addch(out, '\n');
}

void orchestra_summary(const struct orchestra *o, bool quiet, struct buf *out)
{
    for (uint32_t t = 0; t < o->pf->plan.task_count; t++) {
        enum orchestra_end end = orchestra_end(o, t);
        if (!quiet || end != ORCHESTRA_SUCCEEDED)
            add_task(o, t, out);
    }
}

static const struct group *find_group(const struct plan *plan, const char *name)
{
    for (size_t i = 0; name && i < plan->group_count; i++) {
        if (strcmp(plan->groups[i].name, name) == 0)
            return &plan->groups[i];
    }
    return NULL;
}

static void add_depends(const struct plan *plan, const struct task *t, struct buf *out)
{
    buf_addstr(out, "  depends=[");
    for (size_t i = 0; i < t->dep_count; i++)
        buf_addf(out, "%s'%s'", i ? ", " : "", plan->tasks[t->deps[i]].id);
    buf_addch(out, ']');
}

static void add_planned_task(const struct orchestra *o, uint32_t task, struct buf *out)
{
    const struct plan *plan = &o->pf->plan;
    const struct task *t = &plan->tasks[task];
    const struct group *group = find_group(plan, t->group);
    buf_addf(out, "  [stage %u]  %s  agent=%s", o->pf->graph.stage[task] + 1, t->id,
             orchestra_agent(o, task));
    buf_addf(out, "  timeout=%llds", (long long)(t->timeout > 0 ? t->timeout / 1000 : 0));
    if (t->retry.times[FAILURE_TRANSIENT] > 0)
        buf_addf(out, "  retries=%d", t->retry.times[FAILURE_TRANSIENT]);
    if (t->read_only)
        buf_addstr(out, "  read_only");
    if (t->dep_count)
        add_depends(plan, t, out);
    if (group)
        buf_addf(out, "  group=%s(limit=%lld)", group->name, (long long)group->limit);
    buf_addch(out, '\n');
}

void orchestra_dry_run(const struct orchestra *o, size_t workers, struct buf *out)
{
    size_t tasks = o->pf->plan.task_count, stages = o->pf->graph.stages;
    buf_addf(out,
             "Dry run -- no tasks will be executed.\n\n"
             "Execution plan (max_workers=%zu):\n",
             workers);
    for (uint32_t t = 0; t < tasks; t++)
        add_planned_task(o, t, out);
    buf_addf(out, "\n%zu %s, %zu %s\n", tasks, tasks == 1 ? "task" : "tasks", stages,
             stages == 1 ? "stage" : "stages");
}
