#include "threads/converge/converge.h"

#include "base/mem.h"
#include "base/text/shell_quote.h"
#include "base/text/text.h"
#include "git/batch.h"
#include "git/format/gitlinks.h"
#include "git/git.h"
#include "git/merge/merge.h"
#include "sys/interrupt.h"
#include "sys/proc/capture_many.h"
#include "threads/converge/land.h"
#include "threads/converge/pull_request.h"
#include "threads/relocate.h"

#include <string.h>

enum { MAX_OUTSIDE = 5, MAX_UNCOMMITTED = 10 };

const char *converge_end_name(enum converge_end end)
{
    static const char *const names[] = {"pending", "nothing", "made",   "updated",  "printed",
                                        "landed",  "refused", "failed", "conflict", "stopped"};
    return names[end];
}

void converge_end(struct converge_result *r, enum converge_end end, const char *fmt, ...)
{
    autobuf struct buf message = BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    buf_addv(&message, fmt, ap);
    va_end(ap);
    free(r->detail);
    r->detail = message.len ? buf_steal(&message) : NULL;
    r->end = end;
}

bool converge_stops(struct converge_result *r)
{
    if (!interrupt_signal())
        return false;
    converge_end(r, CONVERGE_STOPPED, "neither pushed nor merged");
    return true;
}

void converge_close(struct converge *c)
{
    for (size_t i = 0; i < c->results.n; i++) {
        free(c->results.v[i].detail);
        free(c->results.v[i].warning);
        buf_done(&c->results.v[i].commands);
    }
    vec_done(&c->results);
    forge_close(&c->forge);
    forge_url_done(&c->upstream);
    forge_url_done(&c->fork);
    thread_looks_close(&c->looks);
    threads_done(&c->threads);
    git_batch_free(c->batch);
    free(c->base_ref);
    free(c->unmerged);
}

static const char *get_remote(const struct converge *c)
{
    return c->opts.remote ? c->opts.remote : "origin";
}

static bool is_wanted(const struct converge *c, const char *id)
{
    const struct strv *only = c->opts.only;
    for (size_t i = 0; only && i < only->n; i++) {
        if (strcmp(only->v[i], id) == 0)
            return true;
    }
    return !only;
}

bool converge_leaves(const struct converge *c, const struct thread_damaged *d)
{
    return is_wanted(c, d->id);
}

static int check_only(const struct converge *c, struct err *err)
{
    if (!c->threads.n && !c->threads.damaged.n)
        return err_set(err, ERR_INPUT,
                       "there are no threads here; 'anabranch fanout PLAN' makes them");
    for (size_t i = 0; c->opts.only && i < c->opts.only->n; i++) {
        const char *id = c->opts.only->v[i];
        if (!threads_find(&c->threads, id) && !threads_find_damaged(&c->threads, id))
            return err_set(err, ERR_INPUT, "--only: there is no thread '%s'", id);
    }
    return 0;
}

/* A thread that `t` depends on and that we have not visited yet, or NULL. */
static const struct thread *find_unvisited_dependency(const struct converge *c,
                                                      const struct thread *t, const bool *visited)
{
    for (size_t i = 0; i < t->after.n; i++) {
        const struct thread *dependency = threads_find(&c->threads, t->after.v[i]);
        if (dependency && !visited[dependency - c->threads.v])
            return dependency;
    }
    return NULL;
}

static void add_result(struct converge *c, size_t index)
{
    if (is_wanted(c, c->threads.v[index].id))
        vec_push(&c->results,
                 (struct converge_result){.look = &c->looks.v[index], .commands = BUF_INIT});
}

/* Keeps the order of the threads, but puts each one after those that it depends on. */
static void sort_results(struct converge *c)
{
    bool *visited = mem_array(c->threads.n, sizeof(*visited));
    VEC(const struct thread *) stack = {0};
    for (size_t i = 0; i < c->threads.n; i++) {
        if (!visited[i])
            vec_push(&stack, &c->threads.v[i]);
        while (stack.n) {
            const struct thread *top = stack.v[stack.n - 1];
            visited[top - c->threads.v] = true;
            const struct thread *dependency = find_unvisited_dependency(c, top, visited);
            if (dependency) {
                vec_push(&stack, dependency);
                continue;
            }
            add_result(c, (size_t)(top - c->threads.v));
            stack.n--;
        }
    }
    vec_done(&stack);
    free(visited);
}

static void refuse_uncommitted(const struct converge *c, struct converge_result *r)
{
    const struct strv *list = &r->look->uncommitted;
    autobuf struct buf out = BUF_INIT;
    for (size_t i = 0; i < list->n && i < MAX_UNCOMMITTED; i++)
        buf_addf(&out, "%s%s", i ? ", " : "", list->v[i] + 3);
    if (list->n > MAX_UNCOMMITTED)
        buf_addf(&out, " and %zu more", list->n - MAX_UNCOMMITTED);
    converge_end(r, CONVERGE_REFUSED, "it has uncommitted changes: %s%s", out.s,
                 c->opts.no_options ? "" : " (--commit commits them)");
}

/* A thread on another branch: its commits may be missing on its own branch. */
static void refuse_elsewhere(const struct converge *c, struct converge_result *r)
{
    const struct thread_look *l = r->look;
    const char *base = c->base_ref ? c->base_ref : l->thread->base ? l->thread->base : "its base";
    autobuf struct buf more = BUF_INIT;
    if (l->there_ahead)
        buf_addf(&more, ", with %zu commit%s that %s lacks,", l->there_ahead,
                 l->there_ahead == 1 ? "" : "s", git_short_name(base));
    converge_end(r, CONVERGE_REFUSED, "its worktree is on %s%s instead of its branch %s",
                 l->elsewhere, more.s, git_short_name(l->thread->branch));
}

static void check_paths(struct converge_result *r)
{
    autobuf struct buf outside = BUF_INIT;
    if (!r->look->own.outside)
        return;
    own_verdict_describe(&r->look->own, MAX_OUTSIDE, &outside);
    if (strcmp(r->look->thread->enforce, "block") == 0)
        converge_end(r, CONVERGE_REFUSED, "it changes paths that it does not own: %s", outside.s);
    else
        r->warning = mem_printf("it changes paths that it does not own: %s", outside.s);
}

/* A path with an unresolved conflict, or NULL. */
static const char *find_conflict(const struct thread_look *l)
{
    for (size_t i = 0; i < l->uncommitted.n; i++) {
        const char *entry = l->uncommitted.v[i];
        if (entry[0] == 'U' || entry[1] == 'U' || (entry[0] == entry[1] && strchr("AD", entry[0])))
            return entry + 3;
    }
    return NULL;
}

/* True if a merge would change nothing, because the work was squashed or rebased into the base. */
static int adds_nothing(const struct converge *c, const char *base, const char *head, bool *ret_yes,
                        struct err *err)
{
    struct git_place at = {
        .batch = c->batch, .git_dir = c->repo->common, .work_tree = c->repo->root};
    autofree char *name = mem_printf("%s^{tree}", base);
    automerge struct merge_result m = MERGE_RESULT_INIT;
    autobuf struct buf tree = BUF_INIT;
    bool found;
    if (merge_trees(&at, base, head, &m, err) ||
        git_batch_resolve(c->batch, name, &tree, &found, err))
        return -1;
    *ret_yes = m.clean && found && strcmp(m.tree.s, tree.s) == 0;
    return 0;
}

/* Compares with the local base, and for a pull request also with the remote-tracking branch. */
static int is_merged(const struct converge *c, const struct thread_look *l, bool *ret_yes,
                     struct err *err)
{
    bool check_remote = c->opts.way != CONVERGE_INTO_BASE && !c->opts.base;
    int rc = adds_nothing(c, l->base, l->head, ret_yes, err);
    for (size_t i = 1; rc == 0 && !*ret_yes && check_remote && i < l->own_bases.n; i++)
        rc = adds_nothing(c, l->own_bases.v[i], l->head, ret_yes, err);
    return rc;
}

static void check_merged(const struct converge *c, struct converge_result *r)
{
    struct err err = {0};
    bool merged;
    if (is_merged(c, r->look, &merged, &err))
        converge_end(r, CONVERGE_FAILED, "%s", err.msg);
    else if (merged)
        converge_end(r, CONVERGE_NOTHING, "%s", "");
}

/* True if the thread has work that its base lacks, or if we cannot find out. */
static bool has_unmerged_work(const struct converge *c, const struct thread_look *l)
{
    struct err none = {0};
    bool merged;
    if (l->problem || l->uncommitted.n)
        return true;
    return l->ahead && (is_merged(c, l, &merged, &none) || !merged);
}

static bool precedes_result(const struct converge *c, const struct thread *t)
{
    for (size_t i = 0; i < c->results.n; i++) {
        if (pull_request_follows(c->results.v[i].look->thread, t))
            return true;
    }
    return false;
}

/* For requested threads we learn it from their results (record_unmerged()). */
static void find_unmerged_others(struct converge *c)
{
    c->unmerged = mem_array(c->threads.n + 1, sizeof(*c->unmerged));
    for (size_t i = 0; i < c->threads.n; i++) {
        const struct thread *t = &c->threads.v[i];
        c->unmerged[i] =
            !is_wanted(c, t->id) && precedes_result(c, t) && has_unmerged_work(c, &c->looks.v[i]);
    }
}

static void record_unmerged(struct converge *c, const struct converge_result *r)
{
    c->unmerged[r->look - c->looks.v] = r->end >= CONVERGE_REFUSED;
}

static void add_id(struct buf *out, const char *id)
{
    buf_addstr(out, out->len ? ", " : "");
    buf_addstr(out, id);
}

/* Lists threads that were not requested and must be merged before this one. *ret_needed: the first
 * one that it depends on, or NULL. */
static void list_missing(const struct converge *c, const struct thread *t, struct buf *out,
                         const char **ret_needed)
{
    for (size_t i = 0; i < c->threads.n; i++) {
        const struct thread *other = &c->threads.v[i];
        if (!c->unmerged[i] || is_wanted(c, other->id) || !pull_request_follows(t, other))
            continue;
        add_id(out, other->id);
        if (!*ret_needed && pull_request_depends(t, other->id))
            *ret_needed = other->id;
    }
    for (size_t i = 0; i < c->threads.damaged.n; i++) {
        const char *id = c->threads.damaged.v[i].id;
        if (!pull_request_depends(t, id))
            continue;
        add_id(out, id);
        *ret_needed = *ret_needed ? *ret_needed : id;
    }
}

/* A thread that lands here before the threads that it depends on could break the base. A pull
 * request can wait. */
static void check_order(const struct converge *c, struct converge_result *r)
{
    autobuf struct buf others = BUF_INIT;
    const char *needed = NULL;
    if (r->end != CONVERGE_PENDING)
        return;
    list_missing(c, r->look->thread, &others, &needed);
    if (!others.len)
        return;
    if (needed && c->opts.way == CONVERGE_INTO_BASE) {
        converge_end(r, CONVERGE_REFUSED,
                     "it depends on thread %s, which was left out and may not be merged yet",
                     needed);
        return;
    }
    autofree char *dependency = r->warning;
    r->warning =
        mem_printf("%s%sit must be merged after thread %s, which was left out and is not merged",
                   dependency ? dependency : "", dependency ? "; " : "", others.s);
}

static void check_thread(const struct converge *c, struct converge_result *r)
{
    const struct thread_look *l = r->look;
    bool commits = c->opts.commit && c->opts.way == CONVERGE_PRINT;
    if (r->end != CONVERGE_PENDING)
        return;
    if (l->problem)
        converge_end(r, CONVERGE_REFUSED, "%s", l->problem);
    else if (l->elsewhere)
        refuse_elsewhere(c, r);
    else if (find_conflict(l))
        converge_end(r, CONVERGE_REFUSED, "its worktree has an unresolved conflict: %s",
                     find_conflict(l));
    else if (l->uncommitted.n && !commits)
        refuse_uncommitted(c, r);
    else if (!l->uncommitted.n && (!l->ahead || strcmp(l->head, l->thread->base_commit) == 0))
        converge_end(r, CONVERGE_NOTHING, "%s", "");
    else if (!c->opts.base && !l->thread->base)
        converge_end(r, CONVERGE_REFUSED, "it was made from a commit, not from a branch%s",
                     c->opts.no_options ? "" : "; choose its base with --base");
    else if (!l->uncommitted.n)
        check_merged(c, r);
    if (r->end == CONVERGE_PENDING)
        check_paths(r);
}

/* Runs git for the user, with the user's hooks and name. We name the repository, because the file
 * .git in the worktree may name another one by now, with other hooks. */
static int call_git(const struct converge *c, const struct thread *t, const struct strv *args,
                    struct err *err)
{
    own_cleanup(proc_job_done) struct proc_job job = PROC_JOB_INIT;
    strv_pushl(&job.argv, "git", "-C", t->path, NULL);
    for (size_t i = 0; i < args->n; i++)
        strv_push(&job.argv, args->v[i]);
    git_environment(&job.env);
    strv_pushf(&job.env, "GIT_DIR=%s", t->admin);
    strv_pushf(&job.env, "GIT_COMMON_DIR=%s", c->repo->common);
    strv_pushf(&job.env, "GIT_WORK_TREE=%s", t->path);
    strv_push(&job.env, "GIT_TERMINAL_PROMPT=0");
    int rc = capture_many(&job, 1, err);
    const char *message = job.errout.len ? job.errout.s : job.out.s;
    if (rc == 0 && job.status != 0) {
        const char *better = strstr(message, "! [");
        message = better ? better : strncmp(message, "fatal: ", 7) == 0 ? message + 7 : message;
        rc = err_set(err, ERR_ENV, "git %s: %.*s", job.argv.v[3], (int)strcspn(message, "\n"),
                     message);
    }
    return rc;
}

/* git add would obey the configuration of submodules, so we stage them ourselves. */
static int commit_thread(const struct converge *c, const struct thread *t, struct err *err)
{
    autobuf struct buf message = BUF_INIT;
    autostrv struct strv add = {0}, commit = {0};
    struct git_place at = {.git_dir = t->admin, .common = c->repo->common, .work_tree = t->path};
    strv_pushl(&add, "add", "-A", "--", ".", NULL);
    pull_request_title(t, &message);
    strv_pushl(&commit, "commit", "-q", "-m", message.s, NULL);
    if (gitlinks_stage(&at, 0, &add, err) || call_git(c, t, &add, err))
        return -1;
    return call_git(c, t, &commit, err);
}

static bool commit_one(const struct converge *c, struct converge_result *r)
{
    const struct thread_look *l = r->look;
    struct err err = {0};
    if (l->problem || l->elsewhere || !l->uncommitted.n || find_conflict(l))
        return false;
    if (commit_thread(c, l->thread, &err))
        converge_end(r, interrupt_signal() ? CONVERGE_STOPPED : CONVERGE_FAILED, "%s",
                     interrupt_signal() ? "its work is not committed yet" : err.msg);
    else if (interrupt_signal())
        converge_end(r, CONVERGE_STOPPED, "its work was committed, but nothing else was done");
    return true;
}

static int load_looks(struct converge *c, struct err *err)
{
    return thread_looks_open(&c->looks, c->repo, c->batch, &c->threads, c->base_ref, false, err);
}

/* After commits we look at all threads again. */
static int commit_all(struct converge *c, struct err *err)
{
    bool some = false;
    for (size_t i = 0; i < c->results.n; i++)
        some = (!converge_stops(&c->results.v[i]) && commit_one(c, &c->results.v[i])) || some;
    if (!some || interrupt_signal())
        return 0;
    size_t *places = mem_array(c->results.n, sizeof(*places));
    for (size_t i = 0; i < c->results.n; i++)
        places[i] = (size_t)(c->results.v[i].look - c->looks.v);
    thread_looks_close(&c->looks);
    int rc = load_looks(c, err);
    for (size_t i = 0; i < c->results.n; i++)
        c->results.v[i].look = rc ? NULL : &c->looks.v[places[i]];
    free(places);
    return rc;
}

static const char *get_base(const struct converge *c, const struct thread *t)
{
    return c->opts.base ? c->opts.base : git_short_name(t->base);
}

/* Saves the pull request for the next time. Reloads the file first, because someone may have
 * changed it. */
static int save_pull(const struct converge *c, const char *id, const char *address,
                     const char *state, struct err *err)
{
    autothreads struct threads now = {0};
    if (threads_load(&now, c->repo, err))
        return -1;
    struct thread *ours[] = {threads_find(&c->threads, id), threads_find(&now, id)};
    for (size_t i = 0; i < 2 && ours[i]; i++) {
        free(ours[i]->pull);
        free(ours[i]->pull_state);
        ours[i]->pull = mem_str(address);
        ours[i]->pull_state = mem_str(state);
    }
    return ours[1] ? thread_save(ours[1], err) : 0;
}

static void make_pull_request(struct converge *c, struct converge_result *r,
                              const struct forge_pull *p)
{
    const struct thread *t = r->look->thread;
    autobuf struct buf address = BUF_INIT;
    enum forge_deed deed;
    struct err err = {0};
    if (forge_propose(&c->forge, p, &address, &deed, &err)) {
        if (interrupt_signal())
            converge_end(r, CONVERGE_STOPPED, "it was pushed, but its pull request may be missing");
        else
            converge_end(r, CONVERGE_FAILED, "%s", err.msg);
        return;
    }
    const char *known = deed != FORGE_MADE && t->pull_state ? t->pull_state : "open";
    autofree char *state = mem_str(deed == FORGE_MADE && p->draft ? "draft" : known);
    if (save_pull(c, t->id, address.s, state, &err))
        converge_end(r, CONVERGE_FAILED, "it has a pull request, %s, but: %s", address.s, err.msg);
    else
        converge_end(r, deed == FORGE_MADE ? CONVERGE_MADE : CONVERGE_UPDATED, "%s", address.s);
}

static void push_thread(struct converge *c, struct converge_result *r, const struct forge_pull *p)
{
    const struct thread *t = r->look->thread;
    autostrv struct strv args = {0};
    struct err err = {0};
    strv_pushl(&args, "push", "--quiet", "-u", get_remote(c), t->branch, NULL);
    if (call_git(c, t, &args, &err)) {
        if (interrupt_signal())
            converge_end(r, CONVERGE_STOPPED, "it may or may not have reached '%s'", get_remote(c));
        else
            converge_end(r, CONVERGE_FAILED, "%s", err.msg);
        return;
    }
    make_pull_request(c, r, p);
}

static void print_commands(struct converge *c, struct converge_result *r,
                           const struct forge_pull *p)
{
    const struct thread *t = r->look->thread;
    autobuf struct buf title = BUF_INIT, body = BUF_INIT;
    struct forge_pull harmless = *p;
    pull_request_harmless(p->title, &title);
    pull_request_harmless(p->body, &body);
    harmless.title = title.s;
    harmless.body = body.s;
    if (r->look->uncommitted.n) {
        shell_quote(&r->commands, "git -C", t->path, "add", "-A", NULL);
        shell_quote(&r->commands, " &&\ngit -C", t->path, "commit", "-m", title.s, NULL);
        buf_addstr(&r->commands, " &&\n");
    }
    shell_quote(&r->commands, "git -C", t->path, "push", "-u", get_remote(c), t->branch, NULL);
    forge_print(&c->forge, &harmless, &r->commands);
    buf_addch(&r->commands, '\n');
    converge_end(r, CONVERGE_PRINTED, "%s", "");
}

static void converge_one(struct converge *c, struct converge_result *r)
{
    const struct thread *t = r->look->thread;
    if (converge_stops(r))
        return;
    autofree char *file = mem_printf("%s/anabranch-pull.md", t->admin);
    autobuf struct buf title = BUF_INIT, body = BUF_INIT;
    pull_request_title(t, &title);
    pull_request_body(r->look, &c->threads, c->unmerged, &body);
    struct forge_pull p = {.branch = git_short_name(t->branch),
                           .base = get_base(c, t),
                           .repo = c->upstream.repo,
                           .owner = c->fork.owner,
                           .title = title.s,
                           .body = body.s,
                           .draft = c->opts.draft,
                           .known = t->pull,
                           .dir = t->path,
                           .git_dir = t->admin,
                           .common = c->repo->common,
                           .body_file = file};
    if (c->opts.way == CONVERGE_PRINT)
        print_commands(c, r, &p);
    else
        push_thread(c, r, &p);
}

/* If only the remote has the base, we compare with the remote-tracking branch. */
static int find_base(struct converge *c, struct err *err)
{
    struct git_place at = {.batch = c->batch, .git_dir = c->repo->common};
    autobuf struct buf id = BUF_INIT;
    if (!c->opts.base)
        return 0;
    c->base_ref = mem_printf("refs/heads/%s", c->opts.base);
    if (git_resolve(&at, c->base_ref, &id, err) == 0)
        return 0;
    if (err->code != ERR_INPUT || c->opts.way == CONVERGE_INTO_BASE)
        return err_set(err, err->code, "--base: there is no branch '%s'", c->opts.base);
    free(c->base_ref);
    const char *remote = c->opts.upstream ? c->opts.upstream : get_remote(c);
    c->base_ref = mem_printf("refs/remotes/%s/%s", remote, c->opts.base);
    return git_resolve(&at, c->base_ref, &id, err)
               ? err_set(err, err->code, "--base: there is no branch '%s', here or at '%s'",
                         c->opts.base, remote)
               : 0;
}

static int find_remote(const struct converge *c, struct err *err)
{
    struct git_place at = {.git_dir = c->repo->common};
    struct err why = {0};
    if (git_call(&at, NULL, &why, "remote", "get-url", "--", get_remote(c), NULL) == 0)
        return 0;
    return err_set(err, ERR_INPUT, "there is no remote '%s' to push to%s", get_remote(c),
                   c->opts.no_options ? ""
                                      : "; choose another with --remote, or land here with "
                                        "--into-base");
}

/* If both remotes are the same repository, there is no fork. */
static int find_fork(struct converge *c, struct err *err)
{
    if (!c->opts.upstream)
        return 0;
    if (!forge_knows_forks(&c->forge))
        return err_set(err, ERR_INPUT, "--upstream works only with gh");
    if (forge_url_find(&c->upstream, c->repo, c->opts.upstream, err) ||
        forge_url_find(&c->fork, c->repo, get_remote(c), err))
        return err_wrap(err, "--upstream");
    return 0;
}

/* Tells the forge's program the repository if it needs that. */
static int find_place(struct converge *c, struct err *err)
{
    autoplace struct forge_url place = {0};
    if (!forge_wants_place(&c->forge))
        return 0;
    if (forge_url_find(&place, c->repo, get_remote(c), err))
        return -1;
    return forge_locate(&c->forge, place.repo, c->opts.way == CONVERGE_PRINT, err);
}

static int check_way(struct converge *c, struct err *err)
{
    if (c->opts.way == CONVERGE_INTO_BASE)
        return 0;
    if (forge_open(&c->forge, c->repo, err) || find_fork(c, err))
        return -1;
    if (c->opts.way == CONVERGE_PUSH && (find_remote(c, err) || forge_check(&c->forge, err)))
        return -1;
    return find_place(c, err);
}

int converge(struct converge *c, const struct git_repo *repo, const struct converge_options *opts,
             struct err *err)
{
    *c = (struct converge){.repo = repo, .opts = *opts, .batch = git_batch_new(repo->common)};
    if (threads_load(&c->threads, repo, err) || threads_relocate(&c->threads, repo, err) ||
        check_only(c, err) || check_way(c, err) || find_base(c, err) || load_looks(c, err))
        return -1;
    sort_results(c);
    if (opts->commit && opts->way != CONVERGE_PRINT && commit_all(c, err))
        return -1;
    for (size_t i = 0; i < c->results.n; i++)
        check_thread(c, &c->results.v[i]);
    find_unmerged_others(c);
    for (size_t i = 0; i < c->results.n; i++)
        check_order(c, &c->results.v[i]);
    for (size_t i = 0; i < c->results.n; i++)
        record_unmerged(c, &c->results.v[i]);
    if (opts->way == CONVERGE_INTO_BASE)
        return converge_land(c, err);
    for (size_t i = 0; i < c->results.n; i++) {
        if (c->results.v[i].end == CONVERGE_PENDING)
            converge_one(c, &c->results.v[i]);
        record_unmerged(c, &c->results.v[i]);
    }
    return 0;
}
