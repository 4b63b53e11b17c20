#include "run/rework/continue_session.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/text.h"
#include "git/state_paths.h"
#include "run/attempt/attempt.h"
#include "run/attempt/salvage.h"
#include "run/report.h"
#include "run/resume/resume_private.h"
#include "run/rework/follow_up.h"
#include "run/state/record.h"
#include "run/state/run_state.h"
#include "run/state/task.h"
#include "sys/fs/file.h"
#include "workspace/commit/salvage_list.h"

#include <string.h>

void continue_session_done(struct continue_session *t)
{
    buf_done(&t->start);
    buf_done(&t->from);
}

bool continue_session_is_half(const struct run *run, const struct evidence_task *past)
{
    struct workspace ws;
    resume_workspace(run, past->row.id, past, &ws);
    bool tree = workspace_has_tree(&ws);
    workspace_done(&ws);
    return tree && !resume_is_whole(run, past);
}

/* Finds the newest salvaged commit of the last attempt. */
static int find_salvage(const struct run *run, const struct evidence_task *past, struct buf *ret,
                        struct err *err)
{
    struct git_place at = run_place(run);
    autobuf struct buf out = BUF_INIT;
    autofree char *refs = mem_printf(SALVAGE_REFS "%s/%s/", run->id, past->row.id);
    if (git_call(&at, &out, err, "for-each-ref", "--sort=-version:refname",
                 "--format=%(refname:lstrip=5) %(objectname)", refs, NULL))
        return -1;
    for (char *next = out.s, *line; !ret->len && (line = strsep(&next, "\n"));) {
        char *end;
        long attempt = strtol(line, &end, 10);
        end += strspn(end, "-0123456789"); /* other names have a dot here */
        if (attempt == past->row.attempts && *end == ' ')
            buf_addstr(ret, end + 1);
    }
    return 0;
}

/* If there is salvaged work, we start with the agent's own commits and the files that it left. */
static int find_start(const struct run *run, uint32_t task, struct continue_session *t,
                      enum session_start *ret, struct err *err)
{
    struct facts f = {0};
    enum fact ask;
    facts_set(&f, FACT_LANDED, t->landed);
    facts_set(&f, FACT_WHOLE, !t->remade);
    facts_set(&f, FACT_HAS_COMMIT, run->tasks[task].commit);
    while (!session_start_decide(t->past->state, &f, ret, &ask)) {
        if (find_salvage(run, t->past, &t->from, err)) /* it asks for FACT_SALVAGED */
            return -1;
        facts_set(&f, ask, t->from.len);
    }
    return 0;
}

static int find_beginning(struct run *run, uint32_t task, struct continue_session *t,
                          struct err *err)
{
    struct git_place at = run_place(run);
    enum session_start start;
    t->remade = !resume_is_whole(run, t->past);
    if (find_start(run, task, t, &start, err))
        return -1;
    t->repair = start == SESSION_WITH_CONFLICT ? REPAIR_CONFLICT : REPAIR_OWN;
    if (start == SESSION_ON_SALVAGE)
        return git_call(&at, &t->start, err, "merge-base", t->from.s, run->base.tip, NULL);
    if (start == SESSION_ON_COMMIT)
        buf_addstr(&t->start, run->tasks[task].commit);
    else if (start != SESSION_AS_LEFT)
        buf_addstr(&t->start, run->base.tip);
    return 0;
}

/* Salvages work that the new start lacks. */
static bool save_leftovers(struct attempt *attempt, const struct continue_session *t)
{
    const struct task_run *tr = task_run(attempt);
    const char *since = t->repair == REPAIR_CONFLICT ? tr->commit : tr->start;
    const char *branch_commit = t->past->branch_commit;
    if (!t->remade && !attempt_salvage_since(attempt, since, "a person resumed its agent"))
        return false;
    bool moves = t->remade || t->repair == REPAIR_CONFLICT;
    return !moves || !branch_commit || t->safe || attempt_salvage_commit(attempt, branch_commit);
}

static void add_retry_message(const struct task_run *tr, struct buf *out)
{
    enum task_state state = tr->life->state;
    if (state == TASK_FAILED && tr->reason)
        buf_addf(out, "Your last attempt at this failed: %s\n", tr->reason);
    else if (state == TASK_DONE)
        buf_addstr(out, "Your last attempt at this changed nothing.\n");
    if (state == TASK_FAILED && tr->feedback)
        buf_addf(out, "%s\n", tr->feedback);
    buf_addstr(out, "Try again: finish the task that you were given.\n");
}

static char *make_message(const struct task_run *tr, const char *say)
{
    autobuf struct buf text = BUF_INIT;
    if (say)
        buf_addf(&text, "%s\n", say);
    else
        add_retry_message(tr, &text);
    return buf_steal(&text);
}

int continue_session_keep_words(const struct run *run, uint32_t task, int attempt,
                                const char *words, struct err *err)
{
    autofree char *path =
        attempt_file_path(run->files.dir, run->pf->plan.tasks[task].id, attempt, "feedback");
    return file_replace_private(path, words, strlen(words), err);
}

int continue_session_find(struct run *run, uint32_t task, struct continue_session *t,
                          struct err *err)
{
    struct task_run *tr = &run->tasks[task];
    const bool had_branch = tr->status.branch, had_workspace = tr->status.workspace;
    struct attempt *attempt = resume_reopen_as(run, task, t->past);
    if (t->past->state == TASK_CONFLICTED)
        task_set(&tr->commit, &tr->status.commit, resume_commit(t->past));
    int rc = find_beginning(run, task, t, err);
    if (rc == 0 && !save_leftovers(attempt, t))
        rc = err_set(err, ERR_ENV, "could not save the work of task '%s'", t->past->row.id);
    attempt->has_workspace = false; /* the next attempt owns it */
    attempt_free(attempt);
    autofree char *words = rc ? NULL : make_message(tr, t->say);
    if (rc || continue_session_keep_words(run, task, tr->status.attempts, words, err)) {
        tr->status.branch = had_branch ? tr->status.branch : NULL;
        tr->status.workspace = had_workspace ? tr->status.workspace : NULL;
        return -1;
    }
    free(tr->feedback);
    tr->feedback = steal_ptr(words);
    return 0;
}

void continue_session_put_words(const struct run *run, struct arena *a, struct node *data,
                                const char *words)
{
    autobuf struct buf masked = BUF_INIT, safe = BUF_INIT;
    secrets_mask(&run->secrets, words, strlen(words), &masked);
    text_harmless(&safe, masked.s, masked.len);
    node_put_string(a, data, "text", safe.s);
}

void continue_session_record(struct run *run, uint32_t task, const char *say)
{
    const struct task_run *tr = &run->tasks[task];
    const struct next_session next = {.session = tr->session,
                                      .repair = tr->life->repair,
                                      .remake_workspace = tr->life->start == START_RESTORED,
                                      .remake_from = tr->remake_from};
    struct arena a = {0};
    struct node *data = node_new_map(&a);
    continue_session_put_words(run, &a, data, say ? say : "try again");
    next_session_encode(&next, &a, data);
    record_step(run, EV_TASK_CONTINUED, task, data);
    arena_done(&a);
}

void continue_session_go(struct run *run, uint32_t task, const struct continue_session *t)
{
    struct task_run *tr = &run->tasks[task];
    if (t->landed)
        follow_up_begin(run, task);
    if (tr->life->state == TASK_LANDED || tr->landed)
        task_set(&tr->commit, &tr->status.commit, NULL);
    task_set(&tr->landed, &tr->status.landed, NULL);
    task_set(&tr->reason, &tr->status.reason, NULL);
    if (t->start.len)
        task_set(&tr->start, NULL, t->start.s);
    tr->status.finished = 0;
    task_set(&tr->session, NULL, t->session);
    task_set(&tr->remake_from, NULL, t->from.len ? t->from.s : NULL);
    const struct engine_event ev = {
        .kind = ENGINE_SESSION_RESUMED,
        .task = task,
        .next = {.repair = t->repair, .remade = t->remade, .has_message = true}};
    (void)run_report(run, &ev);
    continue_session_record(run, task, t->say);
}
