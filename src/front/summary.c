#include "front/summary.h"

#include "base/text.h"

#include <string.h>

static void add_task(const struct plan_file *pf, uint32_t t, const struct task_status *s,
                     size_t width, struct buf *out)
{
    buf_addf(out, "  %-*s  %-10s", (int)width, pf->plan.tasks[t].id, task_state_name(s->state));
    buf_addf(out, "  %10.10s  ", s->landed ? s->landed : s->commit ? s->commit : "");
    size_t start = out->len;
    if (s->finished && s->started)
        text_format_duration(out, s->finished - s->started);
    buf_addrep(out, ' ', out->len - start < 8 ? 8 - (out->len - start) : 0);
    if (s->attempts > 1)
        buf_addf(out, "  %d attempts", s->attempts);
    bool bad = s->state == TASK_FAILED || s->state == TASK_CONFLICTED || s->state == TASK_SKIPPED;
    if (bad && s->reason)
        buf_addf(out, "  %s%s%.300s", s->state == TASK_FAILED ? failure_names[s->failure] : "",
                 s->state == TASK_FAILED ? ": " : "", s->reason);
    while (out->len && out->s[out->len - 1] == ' ')
        buf_cut(out, out->len - 1);
    buf_addch(out, '\n');
}

static void add_conflict(const struct task_status *s, const char *base, struct buf *out)
{
    buf_addf(out, "\nTo resolve it by hand:\n  git switch %s && git merge %s\n", base, s->branch);
    if (s->workspace)
        buf_addf(out, "Its workspace is %s\n", s->workspace);
}

static void add_counts(const struct run_result *r, struct buf *out)
{
    const struct {
        size_t n;
        const char *word;
    } counts[] = {{r->landed, "landed"},
                  {r->done, "done"},
                  {r->failed, "failed"},
                  {r->conflicted, "in conflict"},
                  {r->skipped, "skipped"}};
    size_t shown = 0;
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        if (counts[i].n)
            buf_addf(out, "%s%zu %s", shown++ ? ", " : "", counts[i].n, counts[i].word);
    }
    buf_addstr(out, shown ? "\n" : "nothing was done\n");
}

void summary(const struct run *run, const struct plan_file *pf, const bool *wanted, bool quiet,
             struct buf *out)
{
    struct run_result r = run_result(run);
    size_t width = 4;
    for (size_t t = 0; t < pf->plan.task_count; t++)
        width = strlen(pf->plan.tasks[t].id) > width ? strlen(pf->plan.tasks[t].id) : width;
    for (uint32_t t = 0; t < pf->plan.task_count; t++) {
        struct task_status s = run_task(run, t);
        bool good = s.state == TASK_LANDED || s.state == TASK_DONE;
        if ((!wanted || wanted[t]) && !(quiet && good))
            add_task(pf, t, &s, width, out);
    }
    add_counts(&r, out);
    for (uint32_t t = 0; t < pf->plan.task_count; t++) {
        struct task_status s = run_task(run, t);
        if (s.state == TASK_CONFLICTED)
            add_conflict(&s, run_base(run), out);
    }
    if (!r.published && r.result)
        buf_addf(out, "\nYour checkout of %s could not follow. All that landed is on %s:\n  %s\n%s",
                 run_base(run), r.result, r.advice, r.refusal ? r.refusal : "");
    buf_addf(out, "Logs: %s\n", run_dir(run));
}
