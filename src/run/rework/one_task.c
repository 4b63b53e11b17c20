/*
 * Resumes one task of a run that is over, because a person sends its agent a message or retries it.
 * Other tasks stay as they are, except those that were skipped because of this one. See
 * continue_session.h.
 */
#include "run/resume/resume_private.h"

#include "base/mem.h"
#include "git/state_paths.h"
#include "run/rework/continue_session.h"

#include <string.h>

/* Finds the session of the last attempt; NULL if its engine cannot resume it. */
static const char *find_session(const struct run *run, uint32_t task,
                                const struct evidence_task *past)
{
    enum engine engine = run_engine(run, task);
    autofree char *out = attempt_file_path(run->dir, past->row.id, past->row.attempts, "out");
    autobuf struct buf session = BUF_INIT;
    if (!run->base || !past->row.engine || !agent_continues_ended(engine) ||
        strcmp(past->row.engine, run_engine_name(run, task)) != 0)
        return NULL;
    if (past->events.next.session)
        return past->events.next.session;
    return agent_read_session(engine, out, &session)
               ? arena_str(&run->resume->past.arena, session.s)
               : past->events.resumed_session;
}

static bool is_about_to_land(const struct resume_task *rt)
{
    return rt->step == RESUME_LAND || rt->step == RESUME_COMMIT;
}

static int check_resume(const struct run *run, uint32_t task, const struct resume_options *opts,
                        struct err *err)
{
    const struct resume_task *rt = &run->resume->tasks[task];
    const char *id = run->pf->plan.tasks[task].id;
    if (rt->step == RESUME_NOT_WANTED || !rt->past || !rt->past->row.attempts)
        return err_set(err, ERR_INPUT,
                       "task '%s' has not started in run %s; 'anabranch resume' resumes the run",
                       id, run->id);
    if (opts->say && is_about_to_land(rt))
        return err_set(
            err, ERR_INPUT,
            "task '%s' was about to land when run %s ended: run 'anabranch resume' first", id,
            run->id);
    if (!opts->say && resume_has_landed(&run->resume->past, rt->past))
        return err_set(err, ERR_INPUT, "task '%s' has landed; 'anabranch say' resumes its agent",
                       id);
    if (rt->past->state == TASK_CONFLICTED && resume_is_worked_in(run, rt->past))
        return err_set(err, ERR_INPUT, "task '%s' is being resolved in its workspace", id);
    return 0;
}

static int decide_task(struct run *run, uint32_t task, const struct resume_options *opts,
                       struct err *err)
{
    struct resume_task *rt = &run->resume->tasks[task];
    bool fresh = opts->fresh || rt->restarted || continue_session_is_half(run, rt->past);
    const char *session = fresh ? NULL : find_session(run, task, rt->past);
    if (check_resume(run, task, opts, err))
        return -1;
    if (opts->say && !session)
        return err_set(err, ERR_INPUT,
                       "cannot send a message to task '%s': its agent has no session to resume; "
                       "'anabranch retry' starts it again",
                       rt->past->row.id);
    if (is_about_to_land(rt))
        return 0;
    rt->session = session;
    rt->step = session ? RESUME_CONTINUE : RESUME_RUN;
    if (!rt->restarted)
        rt->why = opts->say ? "you sent its agent a message" : "you retried it";
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
        TAKE_UP_INIT(.past = rt->past, .session = rt->session, .say = run->resume->say,
                     .landed = resume_has_landed(all, rt->past),
                     .safe = evidence_has_commit(all, rt->past->branch_commit));
    struct err err = {0};
    if (continue_session_find(run, task, &t, &err))
        run_fail(run, &err);
    else
        continue_session_go(run, task, &t);
    continue_session_done(&t);
}
