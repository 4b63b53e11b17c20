#include "run/notify/message.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/text.h"
#include "doc/doc.h"
#include "project/secrets.h"
#include "run/run.h"
#include "run/state/run_state.h"

#include <string.h>

char *notify_message_plan_name(const struct run *run)
{
    if (run->pf->plan.name)
        return mem_str(run->pf->plan.name);
    const char *slash = strrchr(run->files.plan, '/');
    const char *file = slash ? slash + 1 : run->files.plan;
    const char *dot = strrchr(file, '.');
    return dot && dot > file ? mem_dup(file, (size_t)(dot - file)) : mem_str(file);
}

size_t notify_message_total(const struct run *run)
{
    size_t n = 0;
    for (size_t i = 0; i < run->pf->plan.task_count; i++)
        n += !run->opts.wanted || run->opts.wanted[i];
    return n;
}

size_t notify_message_failed(const struct run *run)
{
    struct run_result r = run_result(run);
    return r.failed + r.conflicted;
}

bool notify_message_all_well(const struct run *run)
{
    struct run_result r = run_result(run);
    return r.published && !run->engine->failed && r.landed + r.done == notify_message_total(run);
}

/* Builds the body that claude-orchestra sent at the end of a run: servers of its users read it. */
static struct node *build_orchestra_body(const struct run *run, const char *plan, enum notify_on on,
                                         struct arena *a)
{
    struct run_result r = run_result(run);
    size_t total = notify_message_total(run), good = r.landed + r.done,
           failed = notify_message_failed(run);
    struct node *map = node_new_map(a);
    node_put_string(a, map, "event", on == NOTIFY_DONE ? "complete" : "failure");
    node_put_string(a, map, "manifest", plan);
    node_put_int(a, map, "total", (int64_t)total);
    node_put_int(a, map, "succeeded", (int64_t)good);
    node_put_int(a, map, "failed", (int64_t)failed);
    node_put_int(a, map, "skipped", (int64_t)(total - good - failed));
    int64_t tenths = (run->finished - run->started + 50) / 100;
    node_put_real(a, map, "duration_sec", (double)tenths / 10);
    return map;
}

static struct node *build_event_body(const char *plan, const struct event *ev, struct arena *a)
{
    struct node *map = event_encode(ev, a);
    node_put_string(a, map, "plan", plan);
    return map;
}

static char *write_sentence(const struct run *run, const struct event *ev, enum notify_on on)
{
    static const char *const outcomes[] = {
        [NOTIFY_FAILED] = "failed",
        [NOTIFY_CONFLICTED] = "is in conflict",
        [NOTIFY_PARKED] = "waits for a usage limit",
        [NOTIFY_WAITING] = "waits for a person",
    };
    static const char *const causes[] = {
        [NOTIFY_FAILED] = "reason",
        [NOTIFY_CONFLICTED] = "files",
        [NOTIFY_PARKED] = "reason",
        [NOTIFY_WAITING] = "question",
    };
    if (on == NOTIFY_DONE)
        return mem_printf("All tasks are done: %zu", notify_message_total(run));
    if (!ev->task)
        return mem_printf("%zu of %zu tasks failed", notify_message_failed(run),
                          notify_message_total(run));
    const char *why = ev->data ? node_get_string(ev->data, causes[on], NULL) : NULL;
    autobuf struct buf out = BUF_INIT;
    if (ev->data && node_get(ev->data, "landed")) /* it failed after the task had landed */
        buf_addf(&out, "Further work on task %s, which has landed, failed", ev->task);
    else
        buf_addf(&out, "Task %s %s", ev->task, outcomes[on]);
    if (why) {
        buf_addstr(&out, ": ");
        text_add_harmless(&out, why);
    }
    return buf_steal(&out);
}

/* Masks secrets, because the text leaves the machine: an agent's error message may quote a
 * secret. */
static char *mask_secrets(const struct run *run, const char *s)
{
    autobuf struct buf out = BUF_INIT;
    secrets_mask(&run->secrets, s, strlen(s), &out);
    return buf_steal(&out);
}

void notify_message_init(struct notify_message *notice, const struct run *run,
                         const struct event *ev, enum notify_on on)
{
    const struct plan *plan = &run->pf->plan;
    const struct task *t = ev->task ? plan_find(plan, ev->task) : NULL;
    bool orchestra = plan->kind == PLAN_ORCHESTRA && (on == NOTIFY_DONE || on == NOTIFY_FAILED);
    autofree char *name = notify_message_plan_name(run);
    autobuf struct buf body = BUF_INIT;
    struct arena a = {0};
    doc_write_line(&body, orchestra ? build_orchestra_body(run, name, on, &a)
                                    : build_event_body(name, ev, &a));
    buf_addch(&body, '\n');
    arena_done(&a);
    autofree char *text = write_sentence(run, ev, on);
    *notice = (struct notify_message){
        .event = event_name(ev->kind),
        .task = t ? (int64_t)t->index : -1,
        .body = mask_secrets(run, body.s),
        .text = mask_secrets(run, text),
    };
}

void notify_message_done(struct notify_message *notice)
{
    free(notice->body);
    free(notice->text);
}
