#include "view/resume_text.h"

#include "base/node/node_build.h"
#include "base/text/text.h"

#include <string.h>

static const char dropped_why[] = "no longer in the plan";

static bool is_fresh(const struct resume_task *rt)
{
    return rt->step == RESUME_RUN && rt->past && !rt->changed && !rt->past->row.attempts &&
           (rt->past->state == TASK_WAITING || rt->past->state == TASK_READY);
}

/* Tasks that stay as they are, or that have not started, are only counted. */
static bool is_worth_a_line(const struct resume_task *rt)
{
    return rt->step > RESUME_KEEP && !is_fresh(rt);
}

static size_t get_id_width(const struct resume *r, const struct plan *plan)
{
    size_t width = 4;
    for (size_t t = 0; t < plan->task_count; t++) {
        size_t own = is_worth_a_line(&r->tasks[t]) ? strlen(plan->tasks[t].id) : 0;
        width = own > width ? own : width;
    }
    for (size_t i = 0; i < r->dropped_count; i++) {
        size_t own = strlen(r->dropped[i]->row.id);
        width = own > width ? own : width;
    }
    return width;
}

static void add_line(struct buf *out, size_t width, const char *id, const char *step,
                     const char *why)
{
    text_addf(out, "  %-*s  %-8s  %s", (int)width, id, step, why);
    buf_addch(out, '\n');
}

static void add_counts(const struct resume *r, size_t fresh, struct buf *out)
{
    if (fresh)
        buf_addf(out, "%zu %s not started\n", fresh, fresh == 1 ? "task was" : "tasks were");
    if (r->count[RESUME_KEEP])
        buf_addf(out, "%zu %s\n", r->count[RESUME_KEEP],
                 r->count[RESUME_KEEP] == 1 ? "task has landed or is done, and is kept"
                                            : "tasks have landed or are done, and are kept");
}

void resume_text(const struct run *run, const struct plan_file *pf, struct buf *out)
{
    const struct resume *r = run_resumed(run);
    const struct plan *plan = &pf->plan;
    size_t width = get_id_width(r, plan), fresh = 0;
    buf_addf(out, "Run %s%s\n", run_id(run), r->edited ? ", with an edited plan" : "");
    for (size_t t = 0; t < plan->task_count; t++) {
        const struct resume_task *rt = &r->tasks[t];
        fresh += is_fresh(rt);
        if (is_worth_a_line(rt))
            add_line(out, width, plan->tasks[t].id, resume_step_names[rt->step], rt->why);
    }
    for (size_t i = 0; i < r->dropped_count; i++)
        add_line(out, width, r->dropped[i]->row.id, "drop", dropped_why);
    add_counts(r, fresh, out);
}

static void add_task(struct arena *a, struct node *list, const char *id, const char *step,
                     const char *why)
{
    struct node *entry = node_add_map(a, list);
    node_put_string(a, entry, "id", id);
    node_put_string(a, entry, "step", step);
    node_put_string(a, entry, "why", why);
}

struct node *resume_json(const struct run *run, const struct plan_file *pf, struct arena *a)
{
    const struct resume *r = run_resumed(run);
    struct node *map = node_new_map(a);
    node_put_string(a, map, "run", run_id(run));
    node_put_bool(a, map, "edited", r->edited);
    struct node *list = node_put_list(a, map, "tasks");
    for (size_t t = 0; t < pf->plan.task_count; t++) {
        const struct resume_task *rt = &r->tasks[t];
        if (rt->step != RESUME_NOT_WANTED)
            add_task(a, list, pf->plan.tasks[t].id, resume_step_names[rt->step], rt->why);
    }
    for (size_t i = 0; i < r->dropped_count; i++)
        add_task(a, list, r->dropped[i]->row.id, "drop", dropped_why);
    return map;
}
