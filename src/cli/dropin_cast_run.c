#include "cli/dropin_cast.h"

#include "base/build.h"
#include "base/mem.h"
#include "base/shell.h"
#include "cli/cli.h"
#include "cli/dropin.h"
#include "front/streams_text.h"
#include "run/agent.h"
#include "run/run.h"
#include "run/streams_file.h"
#include "sys/self.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct session {
    struct cast_plan *plan;
    struct streams_file sf;
    struct run *run;
    char *branch, *subject;
};

static int failed(const char *message)
{
    cast_say(CAST_ERROR, "%s", message);
    return EXIT_TASK;
}

/* --- the manifest ------------------------------------------------------------------------- */

static void put_missing(struct arena *a, struct node *map, const char *key, const char *value)
{
    if (!node_get(map, key))
        build_put_string(a, map, key, value);
}

/* That tool let agents read the plan themselves: a batch of which the block says nothing more than
 * its id is described there. */
static void complete_batches(struct arena *a, struct node *batches)
{
    static const char *const texts[] = {"agents", "description", "prompt", "prompt_file"};
    node_each (batch, batches) {
        bool some = batch->kind != NODE_MAP;
        for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
            some = some || node_get(batch, texts[i]);
        if (!some)
            build_put_string(a, batch, "prompt", "Do what the plan's file says of this batch.");
    }
}

/* What that tool took for granted: the repository that it was called in, and agents that may do
 * everything. */
static void complete_manifest(struct cast_plan *p, const char *root)
{
    struct arena *a = &p->doc.arena;
    struct node *defaults = node_get(p->doc.root, "defaults");
    put_missing(a, p->doc.root, "cwd", root);
    if (!defaults)
        defaults = build_put_map(a, p->doc.root, "defaults");
    if (defaults->kind == NODE_MAP)
        put_missing(a, defaults, "permissions", "full");
    complete_batches(a, node_get(p->doc.root, "batches"));
}

static int tell_problems(const struct problems *ps)
{
    dropin_print_errors(ps, "");
    return failed("The plan cannot be carried out.");
}

/* Batches that follow one another are what that tool was made to cut; the rest is worth a word. */
static void warn_of_cuts(const struct streams *s)
{
    for (size_t i = 0; i < s->ties.n; i++) {
        const struct tie *tie = &s->ties.v[i];
        autobuf struct buf why = BUF_INIT;
        if (!tie->cut || tie->kind == TIE_FOLLOWS)
            continue;
        streams_say_tie(s, tie, &why);
        cast_say(CAST_WARN, "cut apart: %s (anabranch streams keeps them together)", why.s);
    }
}

static int open_streams(struct session *s, const char *root)
{
    autoproblems struct problems ps;
    struct streams_options opts = {
        .n = 1, .splits = &s->plan->split, .split_count = s->plan->count > 1};
    problems_init(&ps, s->plan->path);
    complete_manifest(s->plan, root);
    if (streams_file_take(&s->sf, &s->plan->doc, s->plan->path, &ps) ||
        streams_file_divide(&s->sf, &opts, &ps) || streams_file_plan(&s->sf, &ps))
        return tell_problems(&ps);
    warn_of_cuts(&s->sf.streams);
    return EXIT_OK;
}

/* --- while it runs ------------------------------------------------------------------------ */

static char letter(const char *id)
{
    return (char)(*id - 'a' + 'A');
}

static struct task_status status_of(const struct session *s, const char *id)
{
    return run_task(s->run, plan_find(&s->sf.plan.plan, id)->index);
}

static void tell_failure(const struct session *s, const struct event *ev)
{
    struct task_status st = status_of(s, ev->task);
    const char *output = build_string(ev->data, "output", "");
    if (st.exit_code)
        cast_say(CAST_ERROR, "Stream %c exited with code %d", letter(ev->task), st.exit_code);
    cast_say(CAST_ERROR, "Stream %c failed: %s", letter(ev->task), st.reason);
    if (*output)
        cast_say(CAST_ERROR, "Last lines of Stream %c log:", letter(ev->task));
    (void)fputs(output, stderr); /* harmless already */
}

static void tell_conflict(const struct session *s, const struct event *ev)
{
    cast_say(CAST_ERROR, "Merge conflict: %s into %s", build_string(ev->data, "branch", "?"),
             run_base(s->run));
    cast_say(CAST_ERROR, "Conflicting files: %s", build_string(ev->data, "files", "?"));
}

static void on_event(void *ctx, const struct event *ev)
{
    const struct session *s = ctx;
    if (!ev->task)
        return;
    char who = letter(ev->task);
    if (ev->kind == EV_TASK_STARTED)
        cast_say(CAST_INFO, "Stream %c at work in %s (log: %s)", who,
                 build_string(ev->data, "workspace", "?"), build_string(ev->data, "log", "?"));
    else if (ev->kind == EV_TASK_COMMITTED || ev->kind == EV_TASK_DONE)
        cast_say(CAST_SUCCESS, "Stream %c completed.", who);
    else if (ev->kind == EV_TASK_LANDED)
        cast_say(CAST_SUCCESS, "Merged Stream %c into %s.", who, run_base(s->run));
    else if (ev->kind == EV_TASK_RETRIED || ev->kind == EV_TASK_PARKED)
        cast_say(CAST_WARN, "Stream %c is tried again: %s", who,
                 build_string(ev->data, "reason", ""));
    else if (ev->kind == EV_TASK_FAILED)
        tell_failure(s, ev);
    else if (ev->kind == EV_TASK_CONFLICTED)
        tell_conflict(s, ev);
}

/* --- its end ------------------------------------------------------------------------------ */

static void tell_kept(const struct session *s)
{
    cast_say(CAST_ERROR, "Merge failed. Worktrees preserved for manual resolution:");
    for (size_t i = 0; i < s->sf.plan.plan.task_count; i++) {
        const char *id = s->sf.plan.plan.tasks[i].id;
        struct task_status st = status_of(s, id);
        autobuf struct buf next = BUF_INIT;
        if (st.state != TASK_CONFLICTED)
            continue;
        shell_add(&next, "git switch", run_base(s->run), NULL);
        shell_add(&next, " && git merge", st.branch, NULL);
        cast_say(CAST_ERROR, "  %c: %s", letter(id), st.workspace);
        cast_say(CAST_ERROR, "  to resolve it: %s", next.s);
    }
    cast_say(CAST_ERROR, "  and then, to tidy up: anabranch resume %s", run_id(s->run));
}

static void tell_failures(const struct session *s)
{
    cast_say(CAST_ERROR, "One or both sessions failed. Logs preserved at:");
    for (size_t i = 0; i < s->sf.plan.plan.task_count; i++) {
        const char *id = s->sf.plan.plan.tasks[i].id;
        cast_say(CAST_ERROR, "  %c: %s/%s", letter(id), run_dir(s->run), id);
    }
    cast_say(CAST_ERROR, "What they had done is saved: anabranch salvage");
    cast_say(CAST_ERROR, "To do the rest: anabranch resume %s", run_id(s->run));
}

static int finish(const struct session *s)
{
    struct run_result r = run_result(s->run);
    if (r.failed || r.skipped)
        tell_failures(s);
    if (r.conflicted)
        tell_kept(s);
    if (!r.published && r.result) {
        cast_say(CAST_ERROR, "The checkout of %s could not follow. All that was merged is on %s:",
                 run_base(s->run), r.result);
        cast_say(CAST_ERROR, "  %s", r.advice);
    }
    if (r.signal)
        return 128 + r.signal;
    if (r.exit_code)
        return EXIT_TASK;
    cast_say(CAST_SUCCESS, "Parallel execution complete. All results merged into %s.",
             run_base(s->run));
    return EXIT_OK;
}

/* --- all of it ---------------------------------------------------------------------------- */

/* In the words of this command line. */
static int cannot_begin(const struct err *err)
{
    if (strstr(err->msg, "--base"))
        return failed("No branch is checked out: switch to the one to merge into first");
    return failed(err->msg);
}

static int go(struct session *s)
{
    const char *logger[] = {"python3", s->plan->logger, NULL};
    struct run_options ro = {
        .workers = s->sf.streams.n,
        .self = self_path(),
        .branch = s->branch,
        .merge_subject = s->subject,
        .write_at_root = true,
        .silent_ok = true,
        .unchanged_ok = true,
        .streams = true,
        .derived = true,
        .logger = s->plan->logger ? logger : NULL,
    };
    struct err err = {0};
    if (run_open(&s->run, &s->sf.plan, s->plan->path, &ro, &err))
        return cannot_begin(&err);
    run_observe(s->run, on_event, s);
    int code = run_go(s->run, &err) ? failed(err.msg) : finish(s);
    run_close(s->run);
    return code;
}

static int check_claude(const struct plan *plan)
{
    for (size_t i = 0; i < plan->task_count; i++) {
        const struct task *t = &plan->tasks[i];
        if ((!t->engine || t->engine == ENGINE_CLAUDE) && agent_check(ENGINE_CLAUDE, t, NULL, NULL))
            return failed("claude was not found on PATH");
    }
    return EXIT_OK;
}

static void print_head(const struct cast_plan *p)
{
    cast_header("cast parallel \xe2\x80\x94 %s (%zu batches, split at %zu)", p->id.s, p->count,
                p->split);
    cast_dim("  Plan file: %s", p->path);
    cast_dim("  Stream A: batches %s", p->ids[0].s);
    if (p->ids[1].len)
        cast_dim("  Stream B: batches %s", p->ids[1].s);
    (void)cli_print("\n", 1);
}

static bool is_taken(const struct git_repo *repo, const char *stream, const char *suffix)
{
    struct git_place at = {.git_dir = repo->common};
    autofree char *ref = mem_printf("refs/heads/cast-parallel-%s-%s", stream, suffix);
    autobuf struct buf commit = BUF_INIT;
    return git_resolve(&at, ref, &commit, NULL) == 0;
}

/* A branch that an earlier process of this number left for a person, as they are numbered alike in
 * every container, stays that person's. */
static void choose_names(struct session *s, const struct git_repo *repo)
{
    autofree char *suffix = mem_printf("%ld", (long)getpid());
    for (int i = 2; is_taken(repo, "a", suffix) || is_taken(repo, "b", suffix); i++) {
        free(suffix);
        suffix = mem_printf("%ld-%d", (long)getpid(), i);
    }
    s->branch = mem_printf("cast-parallel-{id}-%s", suffix);
    s->subject = mem_printf("Merge branch '%s'", s->branch);
}

static int find_repository(struct session *s, char **ret_root)
{
    struct git_repo repo = {0};
    struct err err = {0};
    int rc = git_open(&repo, ".", &err);
    if (rc == 0 && repo.root) {
        *ret_root = mem_str(repo.root);
        choose_names(s, &repo);
    }
    git_close(&repo);
    return *ret_root ? EXIT_OK : failed(rc ? err.msg : "This is not a git repository");
}

int cast_run(struct cast_plan *plan)
{
    struct session s = {.plan = plan};
    autofree char *root = NULL;
    int code = find_repository(&s, &root);
    if (code != EXIT_OK)
        return code;
    code = open_streams(&s, root);
    if (code == EXIT_OK)
        code = check_claude(&s.sf.plan.plan);
    if (code == EXIT_OK) {
        print_head(plan);
        code = go(&s);
    }
    streams_file_close(&s.sf);
    free(s.branch);
    free(s.subject);
    return code;
}
