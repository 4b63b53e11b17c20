/*
 * Resumes one task of a run that is over, because a person sends its agent a message or retries it.
 * Other tasks stay as they are, except those that were skipped because of this one. See
 * continue_session.h.
 */
#include "run/resume/resume_private.h"

#include "agent/agent.h"
#include "base/mem.h"
#include "git/state_paths.h"
#include "plan/engine/rules/request_rule.h"
#include "run/report.h"
#include "run/resume/decide.h"
#include "run/resume/evidence.h"
#include "run/rework/continue_session.h"
#include "run/state/run_state.h"
#include "run/state/status.h"

#include <string.h>

/* Finds the session of the last attempt; NULL if its engine cannot resume it. */
static const char *find_session(const struct run *run, uint32_t task,
                                const struct evidence_task *past)
{
    enum agent_engine engine = run_engine(run, task);
    autofree char *out = attempt_file_path(run->files.dir, past->row.id, past->row.attempts, "out");
    autobuf struct buf session = BUF_INIT;
    if (!run->base.name || !past->row.engine || !agent_continues_ended(engine) ||
        strcmp(past->row.engine, run_engine_name(run, task)) != 0)
        return NULL;
    if (past->events.next.session)
        return past->events.next.session;
    return agent_read_session(engine, out, &session)
               ? arena_str(&run->resume->past.arena, session.s)
               : past->events.resumed_session;
}

static bool find_fact(const struct run *run, uint32_t task, enum fact fact,
                      const char **ret_session)
{
    const struct evidence_task *past = run->resume->tasks[task].past;
    if (!past)
        return false; /* a new task has no evidence */
    if (fact == FACT_WORKED_IN)
        return resume_is_worked_in(run, past);
    if (fact == FACT_HALF)
        return continue_session_is_half(run, past);
    return fact == FACT_SESSION && (*ret_session = find_session(run, task, past));
}

static struct facts known_facts(const struct resume *r, const struct resume_task *rt, bool fresh)
{
    struct facts f = {0};
    facts_set(&f, FACT_STARTED,
              rt->step != RESUME_NOT_WANTED && rt->past && rt->past->row.attempts);
    facts_set(&f, FACT_ABOUT_TO_LAND, rt->step == RESUME_LAND || rt->step == RESUME_COMMIT);
    facts_set(&f, FACT_LANDED, rt->past && resume_has_landed(&r->past, rt->past));
    facts_set(&f, FACT_FRESH, fresh);
    facts_set(&f, FACT_REBOOTED, rt->restarted);
    return f;
}

static int decide_task(struct run *run, uint32_t task, const struct resume_options *opts,
                       struct err *err)
{
    struct resume_task *rt = &run->resume->tasks[task];
    const struct decision_words words = {.id = run->pf->plan.tasks[task].id, .run = run->id};
    enum task_state state = rt->past ? rt->past->state : TASK_WAITING;
    struct facts f = known_facts(run->resume, rt, opts->fresh);
    autobuf struct buf text = BUF_INIT;
    struct request_verdict verdict;
    const char *session = NULL;
    enum fact ask;
    while (!request_decide_after_run(opts->say ? REQUEST_SAY : REQUEST_RETRY, state, &f, &verdict,
                                     &ask))
        facts_set(&f, ask, find_fact(run, task, ask, &session));
    if (verdict.answer == REQUEST_REFUSE) {
        decision_text(&text, verdict.text, &words);
        return err_set(err, ERR_INPUT, "%s", text.s);
    }
    if (verdict.answer == REQUEST_LAND)
        return 0;
    rt->session = session;
    rt->step = verdict.answer == REQUEST_RESUME_SESSION ? RESUME_CONTINUE : RESUME_RUN;
    rt->why = verdict.text ? verdict.text : rt->why;
    return 0;
}

/* True if every dependency of a skipped task has succeeded or runs again. */
static bool may_follow(const struct run *run, uint32_t task, const bool *wanted)
{
    const struct task *t = &run->pf->plan.tasks[task];
    const struct resume *r = run->resume;
    bool some = false;
    for (size_t i = 0; i < t->dep_count; i++) {
        enum resume_step step = r->tasks[t->deps[i]].step;
        some = some || wanted[t->deps[i]];
        if (!wanted[t->deps[i]] && step != RESUME_KEEP && step != RESUME_FOUND)
            return false;
    }
    return some && r->tasks[task].past && r->tasks[task].past->state == TASK_SKIPPED;
}

int resume_one_decide(struct run *run, const struct resume_options *opts, struct err *err)
{
    struct resume *r = run->resume;
    const struct graph *g = &run->pf->graph;
    const struct task *one = plan_find(&run->pf->plan, opts->task);
    if (!one)
        return err_set(err, ERR_INPUT, "run %s has no task '%s'", run->id, opts->task);
    if (decide_task(run, one->index, opts, err))
        return -1;
    bool *wanted = arena_array(&r->past.arena, g->n + 1, sizeof(bool));
    wanted[one->index] = true;
    for (size_t i = 0; i < g->n; i++) {
        uint32_t t = g->order[i];
        wanted[t] = wanted[t] || may_follow(run, t, wanted);
    }
    for (size_t t = 0; t < g->n; t++) {
        if (!wanted[t])
            r->tasks[t].step = RESUME_NOT_WANTED;
    }
    r->one = one->id;
    r->say = opts->say;
    r->wanted = run->opts.wanted = wanted;
    return 0;
}

void resume_one_go(struct run *run, uint32_t task)
{
    const struct resume_task *rt = &run->resume->tasks[task];
    const struct evidence *all = &run->resume->past;
    struct continue_session t =
        CONTINUE_SESSION_INIT(.past = rt->past, .session = rt->session, .say = run->resume->say,
                              .landed = resume_has_landed(all, rt->past),
                              .safe = evidence_has_commit(all, rt->past->branch_commit));
    struct err err = {0};
    if (t.landed && rt->past->state != TASK_LANDED)
        resume_record_found(run, task);
    if (continue_session_find(run, task, &t, &err))
        run_fail(run, &err);
    else
        continue_session_go(run, task, &t);
    continue_session_done(&t);
}
