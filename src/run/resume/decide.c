#include "run/resume/decide.h"

#include "agent/agent.h"
#include "base/arena.h"
#include "base/mem.h"
#include "git/config/frozen_config.h"
#include "git/git.h"
#include "git/merge/merge.h"
#include "git/state_paths.h"
#include "plan/engine/rules/decision.h"
#include "plan/engine/rules/resume_step.h"
#include "plan/plan.h"
#include "run/checkout/checkout_move.h"
#include "run/land/durable.h"
#include "run/preflight.h"
#include "run/prepare/overlay_fill.h"
#include "run/resume/evidence.h"
#include "run/resume/plan_compare.h"
#include "run/resume/replay.h"
#include "run/resume/resume_private.h"
#include "run/run.h"
#include "run/run_open.h"
#include "run/state/run_state.h"
#include "run/state/status.h"
#include "store/store.h"
#include "sys/clock.h"
#include "sys/fs/file.h"
#include "sys/own_fd.h"
#include "sys/proc/boot_id.h"

#include <stdlib.h>
#include <string.h>

bool resume_was_restarted(const struct run *run, const struct evidence_task *past)
{
    const char *state = run->resume->past.row.state;
    bool rests = past->events.next.session && state && strcmp(state, "running") != 0;
    autofree char *note =
        attempt_file_path(run->files.dir, past->row.id, past->row.attempts, "boot");
    return run->base.name && !rests && !boot_is_noted(note);
}

static bool commit_exists(const struct run *run, const char *commit)
{
    struct git_place at = run_place(run);
    autobuf struct buf found = BUF_INIT;
    return commit && git_resolve(&at, commit, &found, NULL) == 0;
}

static bool merges_now(const struct run *run, const char *commit)
{
    struct git_place at = run_place(run);
    automerge struct merge_result m = MERGE_RESULT_INIT;
    at.work_tree = run->pf->repo.root;
    return merge_trees(&at, run->base.tip, commit, &m, NULL) == 0 && m.clean;
}

static bool has_same_engine(const struct run *run, uint32_t task, const struct evidence_task *past)
{
    return past->row.engine && strcmp(past->row.engine, run_engine_name(run, task)) == 0;
}

static bool can_fall_back(const struct run *run, uint32_t task, const struct evidence_task *past)
{
    const struct fallback *f = &run->pf->plan.tasks[task].fallback;
    return past->events.parked_until > clock_wall() && (f->engine || f->model);
}

/* Finds the session that the agent can resume; NULL if there is none. */
static const char *find_session(const struct run *run, uint32_t task,
                                const struct evidence_task *past)
{
    enum agent_engine engine = run_engine(run, task);
    autofree char *out = attempt_file_path(run->files.dir, past->row.id, past->row.attempts, "out");
    autobuf struct buf session = BUF_INIT;
    if (past->events.next.session)
        return past->events.next.session;
    if (agent_find_session(engine, out, &session))
        return arena_str(&run->resume->past.arena, session.s);
    /* the last attempt has no output yet */
    return agent_facts(engine).continues ? past->events.resumed_session : NULL;
}

static bool find_fact(const struct run *run, uint32_t task, enum fact fact)
{
    struct resume_task *rt = &run->resume->tasks[task];
    if (!rt->past)
        return false; /* a new task has no evidence */
    if (fact == FACT_REBOOTED)
        return resume_was_restarted(run, rt->past);
    if (fact == FACT_SAME_ENGINE)
        return has_same_engine(run, task, rt->past);
    if (fact == FACT_COMMIT_EXISTS)
        return commit_exists(run, resume_commit(rt->past));
    if (fact == FACT_WORKED_IN)
        return resume_is_worked_in(run, rt->past);
    if (fact == FACT_MERGES)
        return merges_now(run, resume_commit(rt->past));
    if (fact == FACT_WHOLE)
        return rt->past->branch_commit && resume_is_whole(run, rt->past);
    if (fact == FACT_FALLBACK)
        return can_fall_back(run, task, rt->past);
    return fact == FACT_SESSION && (rt->session = find_session(run, task, rt->past));
}

/* Finds a dependency that runs again because of an edit, or returns NULL. */
static const char *find_edited_dependency(const struct run *run, uint32_t task, const bool *redo)
{
    const struct task *t = &run->pf->plan.tasks[task];
    for (size_t i = 0; i < t->dep_count; i++) {
        if (redo[t->deps[i]])
            return run->pf->plan.tasks[t->deps[i]].id;
    }
    return NULL;
}

static void add_past_facts(const struct resume *r, const struct evidence_task *past,
                           struct facts *f)
{
    const struct task_evidence *events = &past->events;
    facts_set(f, FACT_LANDED, resume_has_landed(&r->past, past));
    facts_set(f, FACT_FOLLOWS_LANDING, past->life.follows_landing);
    facts_set(f, FACT_STARTED, past->row.attempts);
    facts_set(f, FACT_RESTARTED, events->restarted);
    facts_set(f, FACT_MESSAGE, past->life.has_message);
    facts_set(f, FACT_REPAIR, events->next.repair);
    facts_set(f, FACT_SESSION_WAITS, events->next.session);
    facts_set(f, FACT_REMADE, events->next.remake_workspace);
    facts_set(f, FACT_UNVERIFIED,
              events->unverified && past->row.commit &&
                  strcmp(past->row.commit, events->unverified) == 0);
}

static void add_verdict(struct run *run, uint32_t task, const struct resume_verdict *v,
                        const char *need)
{
    struct resume_task *rt = &run->resume->tasks[task];
    autobuf struct buf why = BUF_INIT;
    rt->step = v->step;
    rt->why = v->why;
    rt->restarted = v->restarted;
    if (!need)
        return;
    decision_text(&why, v->why, &(struct decision_words){.need = need});
    rt->why = arena_str(&run->resume->past.arena, why.s);
}

static void decide_task(struct run *run, uint32_t task, bool *redo, bool keep_failed)
{
    const struct resume_task *rt = &run->resume->tasks[task];
    const char *need = find_edited_dependency(run, task, redo);
    enum task_state state = rt->past ? rt->past->state : TASK_WAITING;
    struct facts f = {0};
    struct resume_verdict verdict;
    enum fact ask;
    facts_set(&f, FACT_WANTED, !run->opts.wanted || run->opts.wanted[task]);
    facts_set(&f, FACT_NEW, !rt->past);
    facts_set(&f, FACT_CHANGED, rt->changed);
    facts_set(&f, FACT_NEED_REDONE, need);
    facts_set(&f, FACT_KEEP_FAILED, keep_failed);
    if (rt->past)
        add_past_facts(run->resume, rt->past, &f);
    redo[task] = resume_step_is_redone(&f);
    while (!resume_step_decide(state, &f, &verdict, &ask))
        facts_set(&f, ask, find_fact(run, task, ask));
    add_verdict(run, task, &verdict, need);
}

/* Finds unlanded tasks that are no longer in the plan. */
static void find_dropped(struct run *run)
{
    struct resume *r = run->resume;
    r->dropped = arena_array(&r->past.arena, r->past.n + 1, sizeof(struct evidence_task *));
    for (size_t i = 0; i < r->past.n; i++) {
        struct evidence_task *p = &r->past.tasks[i];
        if (!plan_find(&run->pf->plan, p->row.id) && !resume_has_landed(&r->past, p) &&
            p->state != TASK_DONE)
            r->dropped[r->dropped_count++] = p;
    }
}

static bool is_all_done(const struct run *run)
{
    const struct resume *r = run->resume;
    if (r->past.tip || r->past.result || r->dropped_count || !r->past.row.id ||
        strcmp(r->past.row.state, "finished") != 0)
        return false;
    for (size_t t = 0; t < run->pf->plan.task_count; t++) {
        const struct resume_task *rt = &r->tasks[t];
        bool kept = rt->step == RESUME_NOT_WANTED || rt->step == RESUME_KEEP;
        if (!kept || (!run->opts.keep && resume_has_leftovers(run, rt->past)))
            return false;
    }
    return true;
}

static int compare_plans(struct run *run, const struct resume_options *opts, struct err *err)
{
    size_t n = run->pf->plan.task_count;
    struct resume *r = run->resume;
    autofree bool *changed = mem_array(n, sizeof(bool)), *new = mem_array(n, sizeof(bool));
    if (opts->was && !resume_compare(opts->was, run->pf, changed, new))
        return err_set(err, ERR_INPUT,
                       "'%s' is a different plan now, without any task of run %s; --saved resumes "
                       "the plan as it was",
                       run->files.plan, run->id);
    for (uint32_t t = 0; t < n; t++) {
        struct evidence_task *p = evidence_find(&r->past, run->pf->plan.tasks[t].id);
        bool only_verify = p && changed[t] && p->events.unverified && opts->was &&
                           resume_asks_the_same(opts->was, run->pf, t);
        r->tasks[t] = (struct resume_task){.past = p, .changed = p && changed[t] && !only_verify};
        r->edited = r->edited || changed[t] || new[t];
    }
    find_dropped(run);
    r->edited = r->edited || r->dropped_count;
    return 0;
}

static int resume_decide(struct run *run, const struct resume_options *opts, struct err *err)
{
    struct resume *r = run->resume;
    const struct graph *g = &run->pf->graph;
    autofree bool *redo = mem_array(g->n, sizeof(bool));
    r->tasks = arena_array(&r->past.arena, g->n + 1, sizeof(*r->tasks));
    if (compare_plans(run, opts, err))
        return -1;
    for (size_t i = 0; i < g->n; i++)
        decide_task(run, g->order[i], redo, opts->keep_failed);
    if (opts->task && resume_one_decide(run, opts, err))
        return -1;
    for (size_t t = 0; t < g->n; t++)
        r->count[r->tasks[t].step]++;
    r->nothing = !opts->task && is_all_done(run);
    return 0;
}

/* Finds the commit with everything landed: the run's tip, else the result branch for the user if
 * the base could not follow, else the base. */
static void find_tip(struct run *run, const struct run_folder *saved)
{
    const struct evidence *past = &run->resume->past;
    const char *tip = past->tip ? past->tip : past->result ? past->result : past->base;
    if (!run->base.name)
        return;
    free(run->base.tip);
    run->base.tip = mem_str(tip);
    free(run->base.start);
    run->base.start =
        mem_str(commit_exists(run, saved->base_commit) ? saved->base_commit : past->base);
    free(run->base.published); /* treat commits on the base as others' work, which we merge */
    run->base.published = mem_str(run->base.start);
}

/* The result branch becomes the tip again and is deleted, so it must not be checked out. */
static int check_result(const struct run *run, struct err *err)
{
    autofree char *ref = mem_printf(PAST_BRANCH "%s/" STORE_RESULT, run->id);
    autobuf struct buf path = BUF_INIT;
    if (!run->resume->past.result)
        return 0;
    if (checkout_move_find(run, ref, &path, err))
        return -1;
    return path.len
               ? err_set(err, ERR_INPUT,
                         "'%s' is checked out in '%s', and resuming would delete it: switch to "
                         "another branch there first",
                         ref + strlen("refs/heads/"), path.s)
               : 0;
}

static int load_evidence(struct run *run, const struct run_folder *saved,
                         const struct resume_options *opts, struct err *err)
{
    struct git_place at = run_place(run);
    struct evidence_query query = {.run = run->id,
                                   .at = &at,
                                   .base_ref = run->base.ref,
                                   .base_commit = saved->base_commit,
                                   .branch = run->opts.branch};
    if (store_open(&run->journal.store, run->files.state, !opts->look_only, err) ||
        evidence_load(&run->resume->past, run->journal.store, &query, err) ||
        replay_journal(&run->resume->past, run->journal.store, run->id,
                       opts->was ? opts->was : run->pf, err) ||
        check_result(run, err) || overlay_fill_see_past(run, err))
        return -1;
    find_tip(run, saved);
    return 0;
}

/* Uses git's configuration as it was when the run began: later changes, perhaps by an agent, have
 * no effect. Runs of earlier versions have no such copy. */
static int use_frozen_git(struct run *run, struct err *err)
{
    autofree char *state = state_path(run->pf->repo.common);
    autofree char *dir = run_file_path(state, run->id, RUN_GIT);
    bool there;
    if (git_frozen_use(&run->pf->repo, dir, run->guard.path ? run->guard.path : run->opts.self,
                       &there, err))
        return -1;
    if (there)
        git_frozen_news(&run->pf->repo, dir, &run->notices.git_news);
    return 0;
}

int run_reopen(struct run **ret, struct plan_file *pf, const struct run_folder *saved,
               const struct run_options *opts, const struct resume_options *resume, int *lock,
               struct err *err)
{
    const char *path = resume->plan ? resume->plan : saved->plan;
    struct run *run = run_new(pf, path, opts, mem_str(saved->run), saved->started);
    run->files.plan_copy = resume->plan ? NULL : saved->plan_file;
    run->resume = mem_alloc(sizeof(*run->resume));
    run->files.lock = steal_fd(lock);
    if ((pf->repo.common && use_frozen_git(run, err)) || preflight(run, err) ||
        (!resume->look_only && durable_mend(run, err)) || load_evidence(run, saved, resume, err) ||
        resume_decide(run, resume, err)) {
        run_close(run);
        return -1;
    }
    run_schedule(run);
    *ret = run;
    return 0;
}
