#include "run/rework/request.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "git/state_paths.h"
#include "run/agent/run_agent.h"
#include "run/attempt/attempt.h"
#include "run/attempt/end.h"
#include "run/attempt/fail.h"
#include "run/attempt/salvage.h"
#include "run/limits/budget.h"
#include "run/prepare/prepare.h"
#include "run/report.h"
#include "run/resume/resume_private.h"
#include "run/rework/continue_session.h"
#include "run/rework/message.h"
#include "run/state/record.h"
#include "run/state/run_state.h"
#include "run/state/status.h"
#include "run/state/task.h"
#include "run/state/wake.h"
#include "run/watch/other_runs.h"
#include "sys/fs/file.h"

#include <string.h>

enum { WORDS_MAX = 1 << 20 };

static const char *id_of(const struct run *run, uint32_t task)
{
    return run->pf->plan.tasks[task].id;
}

/* A request about a task, and the evidence that a resume would find in the store and in git. */
struct known {
    struct run *run;
    uint32_t task;
    bool fresh; /* a retry from scratch */
    struct evidence_task past;
    struct buf branch; /* the commit of its branch */
    char *workspace;   /* a copy: reopening the last attempt frees the original */
    char *session;     /* NULL: no session can be resumed */
    bool loaded, safe;
};

static void known_done(struct known *k)
{
    buf_done(&k->branch);
    free(k->workspace);
    free(k->session);
}

static char *find_session(const struct run *run, uint32_t task)
{
    const struct task_run *tr = &run->tasks[task];
    enum agent_engine engine = run_engine(run, task);
    autofree char *out =
        attempt_file_path(run->files.dir, id_of(run, task), tr->status.attempts, "out");
    autobuf struct buf session = BUF_INIT;
    if (!run->base.name || !tr->branch || !tr->status.attempts || !agent_continues_ended(engine))
        return NULL;
    if (tr->last_session)
        return mem_str(tr->last_session);
    return agent_read_session(engine, out, &session) ? buf_steal(&session) : NULL;
}

static int load_known(struct known *k, struct err *err)
{
    const struct run *run = k->run;
    const struct task_run *tr = &run->tasks[k->task];
    struct git_place at = run_place(run);
    if (k->loaded)
        return 0;
    k->loaded = true;
    k->workspace = tr->status.workspace ? mem_str(tr->status.workspace) : NULL;
    k->past = (struct evidence_task){.row = {.id = id_of(run, k->task),
                                             .attempts = tr->status.attempts,
                                             .workspace = k->workspace},
                                     .state = tr->life->state};
    if (!run->base.name || !tr->branch || git_resolve(&at, tr->branch, &k->branch, NULL))
        return 0;
    k->past.branch_commit = k->branch.s;
    return git_is_ancestor(&at, k->branch.s, run->base.tip, &k->safe, err);
}

static bool is_session_known(struct known *k)
{
    struct attempt *attempt = k->run->tasks[k->task].attempt;
    if (attempt && attempt->tick) /* it may have told us its session just now */
        (void)attempt_read_output(attempt);
    const char *session = attempt ? attempt_session(attempt) : NULL;
    if (!attempt)
        session = k->session = find_session(k->run, k->task);
    return session && *session;
}

static bool find_fact(struct known *k, enum fact fact)
{
    if (fact == FACT_IN_HISTORY)
        return k->safe;
    if (fact == FACT_WORKED_IN)
        return resume_is_worked_in(k->run, &k->past);
    if (fact == FACT_HALF)
        return continue_session_is_half(k->run, &k->past);
    if (fact == FACT_QUEUED)
        return landing_has(&k->run->engine->landing, k->task);
    return fact == FACT_SESSION && is_session_known(k);
}

/* The missing dependency may itself be skipped. Follow the chain to the task that failed: that is
 * the one to retry. */
static bool find_missing_dependency(const struct run *run, uint32_t task, uint32_t *ret_need)
{
    bool lacks = sched_lacks(&run->engine->sched, task, ret_need);
    while (lacks && run->engine->sched.state[*ret_need] == SCHED_SKIPPED &&
           sched_lacks(&run->engine->sched, *ret_need, ret_need))
        ;
    return lacks;
}

static void add_attempt_facts(const struct task_run *tr, struct facts *f)
{
    const struct attempt *attempt = tr->attempt;
    facts_set(f, FACT_ATTEMPT, attempt);
    facts_set(f, FACT_WORKING, attempt && attempt->tick && !attempt->stopped);
    facts_set(f, FACT_STOPPED, attempt && attempt->stopped);
    facts_set(f, FACT_STOPPABLE,
              attempt && attempt->process.watch && !attempt->prepare.tearing_down);
    facts_set(f, FACT_STARTED, tr->status.attempts);
    facts_set(f, FACT_LIMITED, tr->life->parked);
    facts_set(f, FACT_SESSION_WAITS, tr->session);
}

static struct facts known_facts(const struct known *k, uint32_t *ret_need)
{
    const struct run *run = k->run;
    uint32_t task = k->task;
    struct facts f = {0};
    facts_set(&f, FACT_FRESH, k->fresh);
    facts_set(&f, FACT_FOREIGN, run->opts.judge);
    facts_set(&f, FACT_NEED_MISSING, find_missing_dependency(run, task, ret_need));
    facts_set(&f, FACT_RUN_BUDGET_SPENT, run->engine->budgets.run.exceeded);
    facts_set(&f, FACT_TASK_BUDGET_SPENT, budget_is_spent(run, task));
    facts_set(&f, FACT_DRAINING, run->engine->draining);
    facts_set(&f, FACT_RESUMABLE, run->base.name && agent_continues_ended(run_engine(run, task)));
    add_attempt_facts(&run->tasks[task], &f);
    return f;
}

/* Decides what a request means now, and appends that to `text`. If we refuse it, fails with the
 * reason. Loads what is known of an ended task. */
static int decide_request(struct known *k, enum request_kind kind, enum request_answer *ret,
                          struct buf *text, struct err *err)
{
    enum task_state state = k->run->engine->tasks[k->task].state;
    uint32_t need = k->task;
    struct facts f = known_facts(k, &need);
    const struct decision_words words = {.id = id_of(k->run, k->task),
                                         .need = id_of(k->run, need),
                                         .run = k->run->id,
                                         .state = task_state_name(state)};
    struct request_verdict verdict;
    enum fact ask;
    while (!request_decide(kind, state, &f, &verdict, &ask)) {
        if (state >= TASK_LANDED && load_known(k, err))
            return -1;
        facts_set(&f, ask, find_fact(k, ask));
    }
    *ret = verdict.answer;
    decision_text(text, verdict.text, &words);
    return verdict.answer == REQUEST_REFUSE ? err_set(err, ERR_INPUT, "%s", text->s) : 0;
}

int request_judge(struct run *run, uint32_t task, enum request_kind kind, enum request_answer *ret,
                  struct buf *text, struct err *err)
{
    own_cleanup(known_done) struct known k = {.run = run, .task = task, .branch = BUF_INIT};
    return decide_request(&k, kind, ret, text, err);
}

/* Loads why the last attempt failed; forgets the feedback of earlier ones. */
static void recall_feedback(struct run *run, uint32_t task)
{
    struct task_run *tr = &run->tasks[task];
    autofree char *path =
        attempt_file_path(run->files.dir, id_of(run, task), tr->status.attempts, "feedback");
    autobuf struct buf text = BUF_INIT;
    bool some = file_read(path, WORDS_MAX, &text, NULL) == 0;
    free(tr->feedback);
    tr->feedback = some ? buf_steal(&text) : NULL;
}

static void add_unskipped(struct buf *text, size_t freed)
{
    if (freed)
        buf_addf(text, "; %zu task%s skipped because of it follow%s", freed,
                 freed == 1 ? " that was" : "s that were", freed == 1 ? "s" : "");
}

static int resume_session(struct run *run, uint32_t task, const struct known *k, const char *say,
                          struct buf *text, struct err *err)
{
    struct continue_session t =
        CONTINUE_SESSION_INIT(.past = &k->past, .session = k->session, .say = say, .safe = k->safe);
    recall_feedback(run, task);
    int rc = continue_session_find(run, task, &t, err);
    if (rc == 0) {
        task_report(run, task, ENGINE_RESTARTED);
        record_together(run);
        continue_session_go(run, task, &t);
        add_unskipped(text, task_take_back(run, task));
        record_end_of_group(run);
        task_report(run, task, ENGINE_READY);
        run_wake(run);
    }
    continue_session_done(&t);
    return rc;
}

/* Salvages and removes the rest of the last attempt. The task starts after that. */
static void discard_last_attempt(struct run *run, uint32_t task, const struct known *k)
{
    struct attempt *attempt = resume_reopen_as(run, task, &k->past);
    const char *commit = k->past.branch_commit;
    bool saved = attempt->agent.started || !commit || k->safe ||
                 strcmp(commit, run->tasks[task].start) == 0 ||
                 attempt_salvage_commit(attempt, commit);
    if (saved) {
        attempt_discard(attempt, "the run was interrupted and starts the task again");
    } else {
        attempt->has_workspace = false; /* keep what is left of it */
        attempt_fail(attempt, FAILURE_INTERNAL, "could not save the commits of its branch");
    }
}

/* If something is left of the last attempt, the row keeps its old state until that is salvaged. */
static void record_restart(struct run *run, uint32_t task, bool left)
{
    struct arena a = {0};
    struct node *data = node_new_map(&a);
    node_put_bool(&a, data, "fresh", true);
    node_put_int(&a, data, "delay_ms", 0);
    if (!run->tasks[task].status.attempts)
        record_step(run, EV_TASK_UNSKIPPED, task, NULL);
    else if (left)
        record(run, EV_TASK_RETRIED, task, data);
    else
        record_step(run, EV_TASK_RETRIED, task, data);
    arena_done(&a);
}

static void restart_task(struct run *run, uint32_t task, const struct known *k, struct buf *text)
{
    struct task_run *tr = &run->tasks[task];
    bool left = resume_has_leftovers(run, &k->past);
    task_report_if(run, task, ENGINE_RESTARTED_FRESH, tr->status.attempts > 0);
    resume_forget(run, task);
    if (!left)
        tr->status.workspace = tr->status.branch = NULL;
    record_together(run);
    record_restart(run, task, left);
    add_unskipped(text, task_take_back(run, task));
    record_end_of_group(run);
    if (left)
        discard_last_attempt(run, task, k);
    else
        task_report(run, task, ENGINE_READY);
    run_wake(run);
}

/* Carries out a request about an ended task. */
static int rework_task(struct known *k, enum request_answer answer, const char *say,
                       struct buf *text, struct err *err)
{
    if (load_known(k, err))
        return -1;
    if (answer == REQUEST_RESUME_SESSION)
        return resume_session(k->run, k->task, k, say, text, err);
    restart_task(k->run, k->task, k, text);
    return 0;
}

int request_retry(struct run *run, uint32_t task, bool fresh, struct buf *text, struct err *err)
{
    own_cleanup(known_done) struct known k = {
        .run = run, .task = task, .fresh = fresh, .branch = BUF_INIT};
    enum request_answer answer;
    return decide_request(&k, REQUEST_RETRY, &answer, text, err) ||
                   rework_task(&k, answer, NULL, text, err)
               ? -1
               : 0;
}

static void record_said(struct run *run, uint32_t task, const char *words)
{
    struct arena a = {0};
    struct node *data = node_new_map(&a);
    continue_session_put_words(run, &a, data, words);
    record(run, EV_TASK_SAID, task,
           data); /* leave the row as it is: it describes the last recorded attempt */
    arena_done(&a);
}

/* Adds the message to the feedback for the next attempt. In a conflict, other text tells the agent
 * what is wrong. */
static int say_next(struct run *run, uint32_t task, const char *words, struct err *err)
{
    struct task_run *tr = &run->tasks[task];
    bool other = tr->life->repair == REPAIR_CONFLICT && !tr->life->has_message;
    /* We record an attempt that resumes a session only when its agent starts. */
    int attempt = tr->status.attempts - (tr->attempt && tr->attempt->agent.session);
    autofree char *all = message_join(other ? NULL : tr->feedback, words);
    if (continue_session_keep_words(run, task, attempt, all, err))
        return -1;
    free(tr->feedback);
    tr->feedback = steal_ptr(all);
    task_report(run, task, ENGINE_MESSAGE_WAITS);
    record_said(run, task, words);
    return 0;
}

/* Keeps the message for a working agent. */
static int say_later(struct run *run, uint32_t task, const char *words, struct err *err)
{
    struct task_run *tr = &run->tasks[task];
    autofree char *all = message_join(tr->pending_message, words);
    if (continue_session_keep_words(run, task, tr->status.attempts, all, err))
        return -1;
    free(tr->pending_message);
    tr->pending_message = steal_ptr(all);
    task_report(run, task, ENGINE_MESSAGE_WAITS);
    record_said(run, task, words);
    return 0;
}

int request_say(struct run *run, uint32_t task, const char *words, struct buf *text,
                struct err *err)
{
    own_cleanup(known_done) struct known k = {.run = run, .task = task, .branch = BUF_INIT};
    enum request_answer answer;
    if (decide_request(&k, REQUEST_SAY, &answer, text, err))
        return -1;
    if (answer == REQUEST_DELIVER_LATER)
        return say_later(run, task, words, err);
    if (answer == REQUEST_DELIVER_NEXT)
        return say_next(run, task, words, err);
    return rework_task(&k, answer, words, text, err);
}
