#include "view/plan/graph.h"

#include "base/text/text.h"

#include <string.h>

enum { TITLE_COLUMNS = 60 };

/* The first line of a title, cut and harmless. */
static void add_title(struct buf *out, const char *title)
{
    autobuf struct buf safe = BUF_INIT;
    text_harmless(&safe, title, strcspn(title, "\n"));
    size_t len = text_fit(safe.s, safe.len, TITLE_COLUMNS);
    buf_add(out, safe.s, len);
    if (len < safe.len)
        buf_addstr(out, "...");
}

/* For each task on the critical path the next one on it; for the last one itself; UINT32_MAX for
 * tasks not on it. */
static uint32_t *critical_steps(const struct graph *g)
{
    uint32_t *next = mem_array(g->n, sizeof(*next));
    for (size_t t = 0; t < g->n; t++)
        next[t] = UINT32_MAX;
    for (size_t i = 0; i < g->critical_len; i++)
        next[g->critical_path[i]] = g->critical_path[i + 1 < g->critical_len ? i + 1 : i];
    return next;
}

static void add_dot_task(const struct task *t, bool critical, struct buf *out)
{
    buf_addf(out, "  t%u [label=\"%s", t->index, t->id);
    if (t->title) {
        autobuf struct buf title = BUF_INIT;
        add_title(&title, t->title);
        buf_addstr(out, "\\n");
        text_escape(out, title.s, "\"\\");
    }
    buf_addf(out, "\"%s%s];\n", t->read_only ? ", style=dashed" : "",
             critical ? ", penwidth=2" : "");
}

void plan_graph_dot(const struct plan_file *pf, struct buf *out)
{
    const struct plan *plan = &pf->plan;
    autofree uint32_t *next = critical_steps(&pf->graph);
    buf_addstr(out, "digraph plan {\n  rankdir=LR;\n  node [shape=box];\n");
    for (size_t i = 0; i < plan->task_count; i++)
        add_dot_task(&plan->tasks[i], next[i] != UINT32_MAX, out);
    for (uint32_t t = 0; t < plan->task_count; t++) {
        for (size_t k = 0; k < plan->tasks[t].dep_count; k++) {
            uint32_t dep = plan->tasks[t].deps[k];
            buf_addf(out, "  t%u -> t%u%s;\n", dep, t, next[dep] == t ? " [penwidth=2]" : "");
        }
    }
    buf_addstr(out, "}\n");
}

/* Mermaid needs entity codes for the characters of its own syntax. */
void plan_graph_mermaid_label(struct buf *out, const char *s)
{
    for (; *s; s++) {
        if (strchr("\"#;<>&[](){}|`", *s))
            buf_addf(out, "#%d;", *s);
        else
            buf_addch(out, *s);
    }
}

void plan_graph_mermaid(const struct plan_file *pf, struct buf *out)
{
    const struct plan *plan = &pf->plan;
    autofree uint32_t *next = critical_steps(&pf->graph);
    buf_addstr(out, "graph LR\n");
    for (uint32_t t = 0; t < plan->task_count; t++) {
        autobuf struct buf title = BUF_INIT;
        if (plan->tasks[t].title)
            add_title(&title, plan->tasks[t].title);
        buf_addf(out, "  t%u[\"%s", t, plan->tasks[t].id);
        if (title.len) {
            buf_addstr(out, "<br/>");
            plan_graph_mermaid_label(out, title.s);
        }
        buf_addstr(out, "\"]\n");
    }
    for (uint32_t t = 0; t < plan->task_count; t++) {
        for (size_t k = 0; k < plan->tasks[t].dep_count; k++) {
            uint32_t dep = plan->tasks[t].deps[k];
            buf_addf(out, "  t%u %s t%u\n", dep, next[dep] == t ? "==>" : "-->", t);
        }
    }
}
