#include "view/plan/text.h"

#include "base/text/text.h"

#include <string.h>

enum { ROWS_MAX = 60, PAIRS_MAX = 20, PATH_MAX_TASKS = 12, NAMES_MAX = 8, COLUMNS = 4 };

static void add_plural(struct buf *out, size_t n, const char *noun)
{
    buf_addf(out, "%zu %s%s", n, noun, n == 1 ? "" : "s");
}

static void add_list(struct buf *cell, const char *s)
{
    if (cell->len)
        buf_addch(cell, ' ');
    text_add_harmless(cell, s);
}

static void fill_row(const struct plan_file *pf, uint32_t t, struct buf row[COLUMNS])
{
    const struct task *task = &pf->plan.tasks[t];
    buf_addf(&row[0], "%u", pf->graph.stage[t] + 1);
    text_add_harmless(&row[1], task->id);
    for (size_t i = 0; i < task->dep_count; i++)
        add_list(&row[2], pf->plan.tasks[task->deps[i]].id);
    if (task->read_only)
        add_list(&row[3], "(read-only)");
    for (size_t i = 0; i < task->owns.n && !task->read_only; i++)
        add_list(&row[3], task->owns.v[i].text);
}

static void add_row(struct buf *out, const struct buf row[COLUMNS], const size_t width[COLUMNS],
                    size_t columns)
{
    size_t start = out->len;
    for (size_t i = 0; i < COLUMNS; i++) {
        size_t used = text_width(row[i].s, row[i].len);
        buf_add(out, row[i].s, row[i].len);
        buf_addrep(out, ' ', i + 1 < COLUMNS && used < width[i] + 2 ? width[i] + 2 - used : 0);
    }
    while (out->len > start && out->s[out->len - 1] == ' ')
        buf_cut(out, out->len - 1);
    if (columns && text_width(out->s + start, out->len - start) > columns) {
        buf_cut(out, start + text_fit(out->s + start, out->len - start, columns - 3));
        buf_addstr(out, "...");
    }
    buf_addch(out, '\n');
}

/* Tasks by stage; within a stage in the order of the file. */
static uint32_t *sort_by_stage(const struct graph *g)
{
    uint32_t *sorted = mem_array(g->n, sizeof(*sorted));
    uint32_t *at = mem_array(g->stages + 1, sizeof(*at));
    for (size_t t = 0; t < g->n; t++)
        at[g->stage[t] + 1]++;
    for (size_t i = 1; i <= g->stages; i++)
        at[i] += at[i - 1];
    for (uint32_t t = 0; t < g->n; t++)
        sorted[at[g->stage[t]]++] = t;
    free(at);
    return sorted;
}

static void add_table(const struct plan_file *pf, size_t columns, struct buf *out)
{
    static const char *const heads[COLUMNS] = {"Stage", "Task", "After", "Owns"};
    size_t n = pf->plan.task_count + 1, width[COLUMNS] = {0};
    struct buf(*rows)[COLUMNS] = mem_array(n, sizeof(*rows));
    autofree uint32_t *order = sort_by_stage(&pf->graph);
    for (size_t r = 0; r < n; r++) {
        for (size_t i = 0; i < COLUMNS; i++)
            rows[r][i] = (struct buf)BUF_INIT;
        if (r)
            fill_row(pf, order[r - 1], rows[r]);
        for (size_t i = 0; i < COLUMNS; i++) {
            if (!r)
                buf_addstr(&rows[r][i], heads[i]);
            size_t used = text_width(rows[r][i].s, rows[r][i].len);
            width[i] = used > width[i] ? used : width[i];
        }
    }
    for (size_t r = 0; r < n; r++) {
        add_row(out, rows[r], width, columns);
        for (size_t i = 0; i < COLUMNS; i++)
            buf_done(&rows[r][i]);
    }
    free(rows);
}

/* A plan too long for a table: one line per stage, for the first stages. */
static void add_stages(const struct plan_file *pf, struct buf *out)
{
    const struct graph *g = &pf->graph;
    autofree uint32_t *order = sort_by_stage(g);
    size_t i = 0;
    for (uint32_t stage = 0; stage < g->stages && stage < ROWS_MAX; stage++) {
        size_t first = i;
        while (i < g->n && g->stage[order[i]] == stage)
            i++;
        buf_addf(out, "Stage %u: ", stage + 1);
        add_plural(out, i - first, "task");
        for (size_t k = first; k < i && k < first + NAMES_MAX; k++) {
            text_addf(out, "%s%s", k == first ? ": " : ", ", pf->plan.tasks[order[k]].id);
        }
        buf_addstr(out, i - first > NAMES_MAX ? ", ...\n" : "\n");
    }
    if (g->stages > ROWS_MAX)
        buf_addf(out, "... and %u more stages (--json lists every task)\n", g->stages - ROWS_MAX);
}

static void add_heading(const struct plan_file *pf, struct buf *out)
{
    const struct plan *plan = &pf->plan;
    if (plan->name)
        text_addf(out, "%s: ", plan->name);
    add_plural(out, plan->task_count, "task");
    buf_addstr(out, " in ");
    add_plural(out, pf->graph.stages, "stage");
    buf_addf(out, ", up to %u in parallel", pf->graph.width);
    if (plan->workers != PLAN_UNSET && plan->workers < pf->graph.width)
        buf_addf(out, " (%lld workers)", (long long)plan->workers);
    if (plan->kind != PLAN_TASKS)
        buf_addf(out, "; read as a plan of %s", plan_kind_name(plan->kind));
    buf_addstr(out, "\n\n");
}

static void add_critical_path(const struct plan_file *pf, struct buf *out)
{
    const struct graph *g = &pf->graph;
    buf_addstr(out, "Critical path: ");
    for (size_t i = 0; i < g->critical_len; i++) {
        if (g->critical_len > PATH_MAX_TASKS && i == PATH_MAX_TASKS / 2) {
            buf_addf(out, " -> ... %zu more ...", g->critical_len - PATH_MAX_TASKS);
            i = g->critical_len - PATH_MAX_TASKS / 2;
        }
        text_addf(out, "%s%s", i ? " -> " : "", pf->plan.tasks[g->critical_path[i]].id);
    }
    buf_addstr(out, " (");
    add_plural(out, g->critical_len, "task");
    if (g->estimated) {
        buf_addstr(out, ", about ");
        text_format_duration(out, g->critical);
        buf_addstr(out, " of ");
        text_format_duration(out, g->total);
        buf_addstr(out, " total");
    }
    buf_addstr(out, ")\n");
}

static void add_groups(const struct plan *plan, struct buf *out)
{
    for (size_t i = 0; i < plan->group_count; i++) {
        text_addf(out, "%s%s", i ? ", " : "Groups: ", plan->groups[i].name);
        buf_addf(out, " (");
        add_plural(out, plan->groups[i].tasks, "task");
        buf_addf(out, ", at most %lld in parallel)", (long long)plan->groups[i].limit);
    }
    if (plan->group_count)
        buf_addch(out, '\n');
}

struct pairs {
    const struct plan *plan;
    struct buf *out;
    size_t n;
};

static bool add_pair(void *ctx, const struct overlap_pair *pair)
{
    struct pairs *p = ctx;
    if (++p->n > PAIRS_MAX) {
        buf_addstr(p->out, "  ... and more\n");
        return false;
    }
    if (p->n == 1)
        buf_addstr(p->out, "Never in parallel, because they own the same paths:\n");
    text_addf(p->out, "  %s and %s: %s", task_name(&p->plan->tasks[pair->a.task]),
              task_name(&p->plan->tasks[pair->b.task]), pair->a.claim->text);
    if (pair->path_a != pair->path_b)
        text_addf(p->out, " and %s", pair->b.claim->text);
    buf_addch(p->out, '\n');
    return true;
}

void plan_text(struct plan_file *pf, size_t columns, struct buf *out)
{
    add_heading(pf, out);
    if (pf->plan.task_count <= ROWS_MAX)
        add_table(pf, columns, out);
    else
        add_stages(pf, out);
    buf_addch(out, '\n');
    add_critical_path(pf, out);
    add_groups(&pf->plan, out);
    struct pairs pairs = {&pf->plan, out, 0};
    if (pf->plan.overlap == OVERLAP_SERIALISE)
        claims_overlaps(&pf->claims, &pf->graph, add_pair, &pairs);
}
