#include "run/rework/request.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "git/state_paths.h"
#include "run/limits/budget.h"
#include "run/limits/park.h"
#include "run/resume/resume_private.h"
#include "run/rework/continue_session.h"
#include "run/rework/repair.h"
#include "sys/fs/file.h"

#include <string.h>

enum { WORDS_MAX = 1 << 20 };

static const char *id_of(const struct run *run, uint32_t task)
{
    return run->pf->plan.tasks[task].id;
}

static int refuse_unfinished(const struct run *run, uint32_t task, struct err *err)
{
    const struct task_run *tr = &run->tasks[task];
    const char *id = id_of(run, task);
    if (tr->attempt)
        return err_set(err, ERR_INPUT, "'%s' is running; 'anabranch stop %s' stops it first", id,
                       id);
    if (tr->parked)
        return err_set(err, ERR_INPUT, "'%s' waits for a limit, and continues by itself", id);
    if (tr->status.attempts)
        return err_set(err, ERR_INPUT, "'%s' will be retried by itself", id);
    return err_set(err, ERR_INPUT, "'%s' has not started: it waits for its turn", id);
}

/* The missing dependency may itself be skipped. Follow the chain to the task that failed: that is
 * the one to retry. */
static int refuse_missing_dependency(const struct run *run, uint32_t task, uint32_t need,
                                     struct err *err)
{
    while (run->sched.state[need] == SCHED_SKIPPED && sched_lacks(&run->sched, need, &need))
        ;
    const char *id = id_of(run, task), *of = id_of(run, need);
    return err_set(err, ERR_INPUT,
                   "'%s' needs '%s', which did not succeed; 'anabranch retry %s' runs both", id, of,
                   of);
}

static int check_retry(const struct run *run, uint32_t task, struct err *err)
{
    const char *id = id_of(run, task);
    enum task_state state = run->tasks[task].status.state;
    uint32_t need;
    if (run->opts.judge)
        return err_set(err, ERR_INPUT,
                       "only --resume of the tool that started this run retries its tasks");
    if (state < TASK_LANDED)
        return refuse_unfinished(run, task, err);
    if (state == TASK_LANDED)
        return err_set(err, ERR_INPUT,
                       "'%s' has landed; when the run has ended, 'anabranch say' resumes its agent",
                       id);
    if (state == TASK_DONE)
        return err_set(err, ERR_INPUT, "'%s' is done; it can be retried when the run has ended",
                       id);
    if (sched_lacks(&run->sched, task, &need))
        return refuse_missing_dependency(run, task, need, err);
    if (run->budgets.run.exceeded)
        return err_set(err, ERR_INPUT, "the run's budget is used up; 'anabranch budget' raises it");
    if (budget_is_spent(run, task))
        return err_set(err, ERR_INPUT,
                       "'%s' has used up its budget; 'anabranch budget --task %s' raises it", id,
                       id);
    if (run->draining)
        return err_set(err, ERR_INPUT,
                       "run %s starts nothing more: '%s' can be retried when it has ended", run->id,
                       id);
    return 0;
}

/* The evidence that a resume would find in the store and in git. */
struct known {
    struct evidence_task past;
    struct buf branch; /* the commit of its branch */
    char *workspace;   /* a copy: reopening the last attempt frees the original */
    char *session;     /* NULL: no session can be resumed */
    bool safe;
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
    enum engine engine = run_engine(run, task);
    autofree char *out = attempt_file_path(run->dir, id_of(run, task), tr->status.attempts, "out");
    autobuf struct buf session = BUF_INIT;
    if (!run->base || !tr->branch || !tr->status.attempts || !agent_continues_ended(engine))
        return NULL;
    if (tr->last_session)
        return mem_str(tr->last_session);
    return agent_read_session(engine, out, &session) ? buf_steal(&session) : NULL;
}

static int load_known(const struct run *run, uint32_t task, struct known *k, struct err *err)
{
    const struct task_run *tr = &run->tasks[task];
    struct git_place at = run_place(run);
    k->workspace = tr->status.workspace ? mem_str(tr->status.workspace) : NULL;
    k->past = (struct evidence_task){
        .row = {.id = id_of(run, task), .attempts = tr->status.attempts, .workspace = k->workspace},
        .state = tr->status.state};
    if (!run->base || !tr->branch || git_resolve(&at, tr->branch, &k->branch, NULL))
        return 0;
    k->past.branch_commit = k->branch.s;
    return git_is_ancestor(&at, k->branch.s, run->tip, &k->safe, err);
}

/* A person may be resolving the conflict, or may have resolved it. */
static int check_conflict(const struct run *run, const struct known *k, struct err *err)
{
    if (k->past.state != TASK_CONFLICTED)
        return 0;
    if (k->safe)
        return err_set(err, ERR_INPUT, "'%s' has landed by another way", k->past.row.id);
    return resume_is_worked_in(run, &k->past)
               ? err_set(err, ERR_INPUT, "'%s' is being resolved in its workspace", k->past.row.id)
               : 0;
}

/* Loads why the last attempt failed; forgets the feedback of earlier ones. */
static void recall_feedback(struct run *run, uint32_t task)
{
    struct task_run *tr = &run->tasks[task];
    autofree char *path =
        attempt_file_path(run->dir, id_of(run, task), tr->status.attempts, "feedback");
    autobuf struct buf text = BUF_INIT;
    bool some = file_read(path, WORDS_MAX, &text, NULL) == 0;
    free(tr->feedback);
    tr->feedback = some ? buf_steal(&text) : NULL;
}

/* Resets the retry counts. The next attempt starts at the run's tip. */
static void reset_counts(struct run *run, uint32_t task)
{
    struct task_run *tr = &run->tasks[task];
    memset(tr->retries_used, 0, sizeof(tr->retries_used));
    tr->start_at_tip = true;
    landing_unsettle(&run->landing, task);
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
        TAKE_UP_INIT(.past = &k->past, .session = k->session, .say = say, .safe = k->safe);
    recall_feedback(run, task);
    int rc = continue_session_find(run, task, &t, err);
    if (rc == 0) {
        reset_counts(run, task);
        record_together(run);
        continue_session_go(run, task, &t);
        buf_addf(text, "'%s' resumes its session", id_of(run, task));
        add_unskipped(text, task_take_back(run, task));
        record_end_of_group(run);
        sched_ready(&run->sched, task);
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
    bool saved = attempt->agent_started || !commit || k->safe ||
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
    reset_counts(run, task);
    tr->start_at_tip = tr->status.attempts > 0;
    tr->in_conflict = false;
    resume_forget(tr);
    if (!left)
        tr->status.workspace = tr->status.branch = NULL;
    sched_set_lanes(&run->sched, task, tr->lane, tr->fallback_lane);
    record_together(run);
    record_restart(run, task, left);
    buf_addf(text, "'%s' %s", id_of(run, task),
             tr->status.attempts ? "starts again" : "runs after all");
    add_unskipped(text, task_take_back(run, task));
    record_end_of_group(run);
    if (left)
        discard_last_attempt(run, task, k);
    else
        sched_ready(&run->sched, task);
    run_wake(run);
}

int request_retry(struct run *run, uint32_t task, bool fresh, struct buf *text, struct err *err)
{
    own_cleanup(known_done) struct known k = {.branch = BUF_INIT};
    if (check_retry(run, task, err) || load_known(run, task, &k, err) ||
        check_conflict(run, &k, err))
        return -1;
    k.session = fresh || continue_session_is_half(run, &k.past) ? NULL : find_session(run, task);
    if (k.session)
        return resume_session(run, task, &k, NULL, text, err);
    restart_task(run, task, &k, text);
    return 0;
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

static char *join_messages(const char *first, const char *words)
{
    return first ? mem_printf("%s\n\n%s", first, words) : mem_str(words);
}

/* Adds the message to the feedback for the next attempt. In a conflict, other text tells the agent
 * what is wrong. */
static int say_next(struct run *run, uint32_t task, const char *words, struct err *err)
{
    struct task_run *tr = &run->tasks[task];
    bool other = tr->repair == REPAIR_CONFLICT && !tr->has_message;
    /* We record an attempt that resumes a session only when its agent starts. */
    int attempt = tr->status.attempts - (tr->attempt && tr->attempt->session);
    autofree char *all = join_messages(other ? NULL : tr->feedback, words);
    if (continue_session_keep_words(run, task, attempt, all, err))
        return -1;
    free(tr->feedback);
    tr->feedback = steal_ptr(all);
    tr->has_message = true;
    record_said(run, task, words);
    return 0;
}

/* Keeps the message for a working agent. This needs a session that we can resume. */
static int say_later(struct run *run, uint32_t task, const char *words, struct err *err)
{
    struct task_run *tr = &run->tasks[task];
    const char *id = id_of(run, task), *session = park_session(tr->attempt);
    if (!run->base || !agent_continues_ended(run_engine(run, task)))
        return err_set(err, ERR_INPUT, "'%s' is running, and its engine accepts no messages", id);
    if (!session || !*session)
        return err_set(
            err, ERR_INPUT,
            "'%s' has just started, and its session is not known yet: try again in a moment", id);
    autofree char *all = join_messages(tr->pending_message, words);
    if (continue_session_keep_words(run, task, tr->status.attempts, all, err))
        return -1;
    free(tr->pending_message);
    tr->pending_message = steal_ptr(all);
    record_said(run, task, words);
    return 0;
}

static int say_before_end(struct run *run, uint32_t task, const char *words, struct buf *text,
                          struct err *err)
{
    const struct task_run *tr = &run->tasks[task];
    const char *id = id_of(run, task);
    enum task_state state = tr->status.state;
    bool works = tr->attempt && state == TASK_RUNNING && tr->attempt->tick && !tr->attempt->stopped;
    if (!tr->status.attempts)
        return err_set(err, ERR_INPUT, "'%s' has not started: edit its prompt instead", id);
    if (works) {
        buf_addf(text, "the agent of '%s' gets the message when it is done, before its work lands",
                 id);
        return say_later(run, task, words, err);
    }
    if (tr->attempt && (state >= TASK_RUNNING || tr->attempt->stopped))
        return err_set(err, ERR_INPUT,
                       "'%s' is about to end: its agent is done; try again when it has ended", id);
    buf_addf(text, "the agent of '%s' gets the message when it continues", id);
    return say_next(run, task, words, err);
}

int request_say(struct run *run, uint32_t task, const char *words, struct buf *text,
                struct err *err)
{
    own_cleanup(known_done) struct known k = {.branch = BUF_INIT};
    if (run->tasks[task].status.state < TASK_LANDED)
        return say_before_end(run, task, words, text, err);
    if (check_retry(run, task, err) || load_known(run, task, &k, err) ||
        check_conflict(run, &k, err))
        return -1;
    k.session = continue_session_is_half(run, &k.past) ? NULL : find_session(run, task);
    if (k.session)
        return resume_session(run, task, &k, words, text, err);
    return err_set(err, ERR_INPUT,
                   "cannot send a message to '%s': its agent has no session to resume; "
                   "'anabranch retry' starts it again",
                   id_of(run, task));
}

void request_pass_on(struct attempt *attempt)
{
    struct task_run *tr = task_run(attempt);
    autofree char *words = steal_ptr(tr->pending_message);
    if (!words)
        return;
    autofree char *all = join_messages(attempt->has_feedback ? tr->feedback : NULL, words);
    attempt_tell(attempt, all);
}

bool request_follow_up(struct attempt *attempt)
{
    struct run *run = attempt->run;
    struct task_run *tr = task_run(attempt);
    autofree char *words = steal_ptr(tr->pending_message);
    struct err err = {0};
    if (!words)
        return false;
    if (run->stopping || run->failed || run_is_draining(run)) {
        (void)err_set(&err, ERR_ENV, "its agent did not get the message: the run ends");
        record_error(run, attempt->task, &err);
        return false;
    }
    resume_set(&tr->session, NULL, park_session(attempt));
    tr->repair = REPAIR_OWN;
    tr->has_message = true;
    tr->status.state = TASK_WAITING;
    free(tr->feedback);
    tr->feedback = mem_str(words);
    continue_session_record(run, attempt->task, words);
    repair_wait(attempt);
    return true;
}
