#include "view/dry_run_text.h"

#include "base/node/node_build.h"
#include "base/text/text.h"
#include "view/plan/text.h"

#include <string.h>

static void add_limit(struct buf *out, int64_t ms)
{
    size_t start = out->len;
    if (ms > 0)
        text_format_duration(out, ms);
    else
        buf_addstr(out, "none");
    size_t used = out->len - start;
    buf_addrep(out, ' ', used < 9 ? 9 - used : 1);
}

static void add_retries(struct buf *out, const struct task_terms *terms)
{
    size_t shown = 0;
    for (int f = 0; f < FAILURE_COUNT_; f++) {
        if (terms->retries[f] > 0)
            buf_addf(out, "%s%s %d", shown++ ? ", " : "", failure_names[f], terms->retries[f]);
    }
    buf_addstr(out, shown ? "\n" : "none\n");
}

static void add_terms(const struct run *run, const struct plan *plan, const bool *wanted,
                      struct buf *out)
{
    int width = 4;
    for (size_t t = 0; t < plan->task_count; t++) {
        int len = (int)strlen(plan->tasks[t].id);
        width = len > width ? len : width;
    }
    buf_addf(out, "%-*s  Engine    Timeout  Idle     Retries\n", width, "Task");
    for (uint32_t t = 0; t < plan->task_count; t++) {
        if (wanted && !wanted[t])
            continue;
        struct task_terms terms = run_terms(run, t);
        buf_addf(out, "%-*s  %-8s  ", width, plan->tasks[t].id, terms.engine);
        add_limit(out, terms.timeout);
        add_limit(out, terms.idle_timeout);
        add_retries(out, &terms);
    }
}

static void add_event(void *ctx, const struct event *ev)
{
    struct buf *out = ctx;
    const char *error = node_get_string(ev->data, "error", NULL);
    if (ev->kind == EV_GIT_STATE_CHANGED && error) {
        text_add_harmless(out, error);
        buf_addch(out, '\n');
    }
}

void dry_run_text(struct run *run, struct plan_file *pf, const bool *wanted, size_t columns,
                  struct buf *out)
{
    plan_text(pf, columns, out);
    buf_addstr(out, "\nBase: ");
    if (run_base(run)) {
        text_harmless(out, run_base(run), strlen(run_base(run)));
        buf_addf(out, " at %.10s\n", run_base_commit(run));
        run_observe(run, add_event, out);
        run_preview(run);
    } else {
        buf_addstr(out, "none, this is not a git repository\n");
    }
    buf_addf(out, "Workers: %zu\n\n", run_workers(run));
    add_terms(run, &pf->plan, wanted, out);
    buf_addstr(out, "\nEverything was checked, nothing was run or changed.\n");
}
