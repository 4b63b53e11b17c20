#include "dropin/orchestra_view.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "git/state_paths.h"
#include "store/store.h"
#include "sys/clock.h"

#include <string.h>
#include <strings.h>

void orchestra_init(struct orchestra *o, struct plan_file *pf, const char *path)
{
    *o = (struct orchestra){.pf = pf, .path = path, .started = clock_wall()};
    o->tasks = mem_array(pf->plan.task_count, sizeof(*o->tasks));
    for (size_t i = 0; i < pf->plan.task_count; i++)
        o->tasks[i].result.cycles = -1;
}

void orchestra_done(struct orchestra *o)
{
    for (size_t i = 0; i < o->pf->plan.task_count; i++)
        orchestra_result_done(&o->tasks[i].result);
    free(o->tasks);
    idle_done(&o->idle);
}

/* Manifests cannot mark secrets, so we go by the names of variables. */
static void hide_secrets(struct env_vars *env)
{
    static const char *const endings[] = {"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD"};
    for (size_t i = 0; i < env->n; i++) {
        size_t len = strlen(env->v[i].name);
        for (size_t k = 0; k < ARRAY_LEN(endings); k++) {
            size_t end = strlen(endings[k]);
            if (len >= end && strcasecmp(env->v[i].name + len - end, endings[k]) == 0)
                env->v[i].secret = true;
        }
    }
}

void orchestra_settle(struct plan *plan)
{
    if (!plan->enforce)
        plan->enforce = ENFORCE_WARN;
    if (!plan->commit_message)
        plan->commit_message = "parallel-orchestra: task {id} [auto-commit]";
    for (size_t i = 0; i < plan->task_count; i++) {
        struct task *t = &plan->tasks[i];
        if (!t->permissions && !t->read_only)
            t->permissions = PERMISSIONS_FULL;
        hide_secrets(&t->env);
        if (t->retry.times[FAILURE_LIMIT] == PLAN_UNSET)
            t->retry.times[FAILURE_LIMIT] = t->retry.times[FAILURE_TRANSIENT];
    }
}

bool orchestra_judge(void *ctx, uint32_t task, const char *dir, struct buf *ret_reason)
{
    struct orchestra *o = ctx;
    struct orchestra_task *t = &o->tasks[task];
    (void)dir; /* orchestra_event() has read it */
    if (!t->result.failed)
        return false;
    t->code = 1;
    buf_addstr(ret_reason, t->result.reason ? t->result.reason : "its agent reported FAILED");
    return true;
}

static void read_result_of(struct orchestra *o, uint32_t task, const struct event *ev)
{
    struct orchestra_task *t = &o->tasks[task];
    int64_t signal = node_get_int(ev->data, "signal", 0);
    autofree char *out = attempt_file_path(run_dir(o->run), ev->task, ev->attempt, "out");
    t->has_code = true;
    t->code = signal ? (int)-signal : (int)node_get_int(ev->data, "exit_code", 0);
    orchestra_result_done(&t->result);
    orchestra_result_read(o, out, &t->result);
}

void orchestra_event(struct orchestra *o, const struct event *ev)
{
    const struct task *t = ev->task ? plan_find(&o->pf->plan, ev->task) : NULL;
    if (t && ev->kind == EV_TASK_EXITED)
        read_result_of(o, t->index, ev);
    else if (t && ev->kind == EV_TASK_PREPARING)
        o->tasks[t->index].has_code = false;
}

/* A task that a stopped run has not started counts as skipped. */
enum orchestra_end orchestra_end(const struct orchestra *o, uint32_t task)
{
    if (o->tasks[task].resumed)
        return ORCHESTRA_RESUMED;
    enum task_state state = run_task(o->run, task).state;
    if (state == TASK_LANDED || state == TASK_DONE)
        return ORCHESTRA_SUCCEEDED;
    return state == TASK_FAILED || state == TASK_CONFLICTED ? ORCHESTRA_FAILED : ORCHESTRA_SKIPPED;
}

bool orchestra_timed_out(const struct orchestra *o, uint32_t task)
{
    enum failure failure = run_task(o->run, task).failure;
    return orchestra_end(o, task) == ORCHESTRA_FAILED &&
           (failure == FAILURE_TIMEOUT || failure == FAILURE_IDLE);
}

const char *orchestra_category(const struct orchestra *o, uint32_t task)
{
    static const char *const names[FAILURE_COUNT_] = {
        [FAILURE_TIMEOUT] = "timeout",      [FAILURE_IDLE] = "timeout",
        [FAILURE_LIMIT] = "rate_limited",   [FAILURE_TRANSIENT] = "transient",
        [FAILURE_OVERLOADED] = "transient", [FAILURE_CONFLICT] = "conflict",
    };
    if (orchestra_end(o, task) != ORCHESTRA_FAILED)
        return "none";
    const char *name = names[run_task(o->run, task).failure];
    return name ? name : "permanent";
}

int orchestra_retries(const struct orchestra *o, uint32_t task)
{
    int attempts = run_task(o->run, task).attempts - o->tasks[task].before;
    return attempts > 1 ? attempts - 1 : 0;
}

int orchestra_load_idle(struct orchestra *o, struct err *err)
{
    autostore struct store *store = NULL;
    if (store_open(&store, run_state_dir(o->run), false, err))
        return -1;
    return idle_load(&o->idle, store, run_id(o->run), err);
}

double orchestra_seconds(const struct orchestra *o, uint32_t task)
{
    struct task_status s = run_task(o->run, task);
    bool ran = s.started && s.finished > s.started;
    return ran ? (double)idle_without(&o->idle, s.started, s.finished) / 1000 : 0;
}

const char *orchestra_agent(const struct orchestra *o, uint32_t task)
{
    const char *agent = o->pf->plan.tasks[task].agent;
    return agent ? agent : "";
}

const char *orchestra_name(const struct orchestra *o)
{
    const char *slash = strrchr(o->path, '/');
    if (o->pf->plan.name && *o->pf->plan.name)
        return o->pf->plan.name;
    return slash ? slash + 1 : o->path;
}
