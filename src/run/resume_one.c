/*
 * Going on with one task of a run that is over, because a person has something to say to its agent,
 * or wants it to be tried again. All other tasks stay as they are, but for those that were skipped
 * because of this one.
 *
 * Where the workspace is gone it is made again: of what has landed, where the task had; else of
 * what was saved of its last attempt. What is about to be done is in the event task.continued, and
 * what is said is in a file, before anything is changed: whoever goes on after our own death does
 * the same.
 */
#include "run/resume_private.h"

#include "base/build.h"
#include "base/mem.h"
#include "base/text.h"
#include "run/repair.h"
#include "run/salvage.h"
#include "sys/file.h"

#include <string.h>
#include <sys/stat.h>

/* --- deciding ----------------------------------------------------------------------------- */

/* The session that its last attempt was; NULL where its engine cannot go on with it. */
static const char *find_session(const struct run *run, uint32_t task, const struct past_task *past)
{
    enum engine engine = run_engine(run, task);
    autofree char *out = mem_printf("%s/%s/%d/out", run->dir, past->row.id, past->row.attempts);
    autobuf struct buf session = BUF_INIT;
    if (!run->base || !past->row.engine || !agent_continues_ended(engine) ||
        strcmp(past->row.engine, run_engine_name(run, task)) != 0)
        return NULL;
    if (past->session)
        return past->session;
    return agent_read_session(engine, out, &session)
               ? arena_str(&run->resume->past.arena, session.s)
               : past->given;
}

/* What is half there is for a resume to put right. */
static bool is_half(const struct run *run, const struct past_task *past)
{
    struct workspace ws;
    struct stat st;
    resume_workspace(run, past->row.id, past, &ws);
    bool tree = lstat(ws.path, &st) == 0;
    workspace_done(&ws);
    return tree && !resume_is_whole(run, past);
}

static bool is_about_to_land(const struct resume_task *rt)
{
    return rt->step == RESUME_LAND || rt->step == RESUME_COMMIT;
}

static int check(const struct run *run, uint32_t task, const struct resume_options *opts,
                 struct err *err)
{
    const struct resume_task *rt = &run->resume->tasks[task];
    const char *id = run->pf->plan.tasks[task].id;
    if (rt->step == RESUME_NOT_WANTED || !rt->past || !rt->past->row.attempts)
        return err_set(err, ERR_INPUT,
                       "task '%s' was not begun in run %s; 'anabranch resume' goes on with the run",
                       id, run->id);
    if (opts->say && is_about_to_land(rt))
        return err_set(err, ERR_INPUT,
                       "task '%s' was about to land when run %s ended: 'anabranch resume' first",
                       id, run->id);
    if (!opts->say && resume_has_landed(&run->resume->past, rt->past))
        return err_set(err, ERR_INPUT,
                       "task '%s' has landed; 'anabranch say' goes on with its agent", id);
    if (rt->past->state == TASK_CONFLICTED && resume_is_worked_in(run, rt->past))
        return err_set(err, ERR_INPUT, "task '%s' is being resolved in its workspace", id);
    return 0;
}

static int decide(struct run *run, uint32_t task, const struct resume_options *opts,
                  struct err *err)
{
    struct resume_task *rt = &run->resume->tasks[task];
    const char *session =
        opts->fresh || is_half(run, rt->past) ? NULL : find_session(run, task, rt->past);
    if (check(run, task, opts, err))
        return -1;
    if (opts->say && !session)
        return err_set(
            err, ERR_INPUT,
            "nothing can be said to task '%s': its agent's session cannot be gone on with; "
            "'anabranch retry' begins it again",
            rt->past->row.id);
    if (is_about_to_land(rt))
        return 0;
    rt->session = session;
    rt->step = session ? RESUME_CONTINUE : RESUME_RUN;
    rt->why = opts->say ? "you have something to say" : "it is to be tried again";
    return 0;
}

/* Whether all that a skipped task needs is there, or is on its way again. */
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
    if (decide(run, one->index, opts, err))
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

/* --- what it begins with ------------------------------------------------------------------ */

struct beginning {
    enum repair repair;
    bool remade;
    struct buf start; /* "": as it is */
    struct buf from;  /* what was saved, "": nothing */
};

/* The newest thing that was saved of its last attempt. */
static int find_salvage(const struct run *run, const struct past_task *past, struct buf *ret,
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
        end += strspn(end, "-0123456789"); /* what else there is has a point */
        if (attempt == past->row.attempts && *end == ' ')
            buf_addstr(ret, end + 1);
    }
    return 0;
}

/* With what the agent had committed itself, and the files that it left. */
static int begin_with_saved(const struct run *run, const char *saved, struct beginning *b,
                            struct err *err)
{
    struct git_place at = run_place(run);
    buf_addstr(&b->from, saved);
    return git_call(&at, &b->start, err, "merge-base", saved, run->tip, NULL);
}

static int begin_on_tip(const struct run *run, struct beginning *b)
{
    buf_addstr(&b->start, run->tip);
    return 0;
}

static int find_beginning(struct run *run, uint32_t task, struct beginning *b, struct err *err)
{
    const struct past_task *past = run->resume->tasks[task].past;
    const struct task_run *tr = &run->tasks[task];
    bool landed = resume_has_landed(&run->resume->past, past);
    autobuf struct buf saved = BUF_INIT;
    b->repair = past->state == TASK_CONFLICTED && !landed ? REPAIR_CONFLICT : REPAIR_OWN;
    b->remade = !resume_is_whole(run, past);
    if (b->repair == REPAIR_CONFLICT)
        return begin_on_tip(run, b);
    if (!b->remade) {
        if (landed && tr->commit) /* the rest of it is done */
            buf_addstr(&b->start, tr->commit);
        return 0;
    }
    if (!landed && find_salvage(run, past, &saved, err))
        return -1;
    return saved.len ? begin_with_saved(run, saved.s, b, err) : begin_on_tip(run, b);
}

/* What there is that the beginning does not have is saved first. */
static bool save(struct job *job, const struct past_task *past, const struct beginning *b)
{
    const struct task_run *tr = task_run(job);
    const struct past *all = &job->run->resume->past;
    const char *since = b->repair == REPAIR_CONFLICT ? tr->commit : tr->start;
    if (!b->remade && !job_salvage_since(job, since, "its agent was told to go on"))
        return false;
    bool moves = b->remade || b->repair == REPAIR_CONFLICT;
    return !moves || !past->branch_commit || past_has_commit(all, past->branch_commit) ||
           job_salvage_commit(job, past->branch_commit);
}

/* --- what is said ------------------------------------------------------------------------- */

static void add_failure(const struct task_run *tr, struct buf *out)
{
    const struct task_status *s = &tr->status;
    if (s->state == TASK_FAILED && s->reason)
        buf_addf(out, "Your last attempt at this failed: %s\n", s->reason);
    else if (s->state == TASK_DONE)
        buf_addstr(out, "Your last attempt at this changed nothing.\n");
    if (s->state == TASK_FAILED && tr->feedback)
        buf_addf(out, "%s\n", tr->feedback);
    buf_addstr(out, "Try again: finish the task that you were given.\n");
}

static void tell(struct run *run, uint32_t task)
{
    struct task_run *tr = &run->tasks[task];
    autobuf struct buf text = BUF_INIT;
    if (run->resume->say)
        buf_addf(&text, "%s\n", run->resume->say);
    else
        add_failure(tr, &text);
    free(tr->feedback);
    tr->feedback = buf_steal(&text);
}

static int keep_words(const struct run *run, uint32_t task, struct err *err)
{
    const struct task_run *tr = &run->tasks[task];
    autofree char *path = mem_printf("%s/%s/%d/feedback", run->dir, run->pf->plan.tasks[task].id,
                                     tr->status.attempts);
    return file_replace_private(path, tr->feedback, strlen(tr->feedback), err);
}

/* --- going -------------------------------------------------------------------------------- */

static void record_continued(struct run *run, uint32_t task)
{
    const struct task_run *tr = &run->tasks[task];
    const char *words = run->resume->say ? run->resume->say : "try again";
    autobuf struct buf masked = BUF_INIT, safe = BUF_INIT;
    struct arena a = {0};
    struct node *data = build_map(&a);
    secrets_mask(&run->secrets, words, strlen(words), &masked);
    text_harmless(&safe, masked.s, masked.len);
    build_put_string(&a, data, "text", safe.s);
    build_put_string(&a, data, "session", tr->session);
    build_put_string(&a, data, "tree", repair_words[tr->repair]);
    if (tr->remade)
        build_put_bool(&a, data, "remade", true);
    build_put_string(&a, data, "from", tr->from);
    record_step(run, EV_TASK_CONTINUED, task, data);
    arena_done(&a);
}

static void set_off(struct run *run, uint32_t task, const struct beginning *b)
{
    struct task_run *tr = &run->tasks[task];
    bool conflict = b->repair == REPAIR_CONFLICT;
    if (tr->status.state == TASK_LANDED || tr->landed)
        resume_set(&tr->commit, &tr->status.commit, NULL);
    resume_set(&tr->landed, &tr->status.landed, NULL);
    resume_set(&tr->reason, &tr->status.reason, NULL);
    if (b->start.len)
        resume_set(&tr->start, NULL, b->start.s);
    tr->status.state = TASK_WAITING;
    tr->status.finished = 0;
    tr->session = mem_str(run->resume->tasks[task].session);
    tr->repair = b->repair;
    tr->in_conflict = tr->in_conflict || conflict;
    tr->said = true;
    tr->remade = b->remade;
    resume_set(&tr->from, NULL, b->from.len ? b->from.s : NULL);
    sched_set_lanes(&run->sched, task, tr->lane, -1); /* no other engine knows the session */
    record_continued(run, task);
}

void resume_one_go(struct run *run, uint32_t task)
{
    const struct past_task *past = run->resume->tasks[task].past;
    struct task_run *tr = &run->tasks[task];
    struct beginning b = {.start = BUF_INIT, .from = BUF_INIT};
    struct job *job = resume_reopen(run, task);
    struct err err = {0};
    if (past->state == TASK_CONFLICTED)
        resume_set(&tr->commit, &tr->status.commit, resume_commit(past));
    int rc = find_beginning(run, task, &b, &err);
    if (rc == 0 && !save(job, past, &b))
        rc = err_set(&err, ERR_ENV, "what there is of task '%s' could not be saved", past->row.id);
    job->has_workspace = false; /* it is the next attempt's */
    job_free(job);
    if (rc == 0)
        tell(run, task);
    if (rc || keep_words(run, task, &err))
        run_fail(run, &err);
    else
        set_off(run, task, &b);
    buf_done(&b.start);
    buf_done(&b.from);
}
