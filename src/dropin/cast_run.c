#include "dropin/cast.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/node/node_build.h"
#include "clean/clean.h"
#include "cli/frame/cli.h"
#include "dropin/dropin.h"
#include "dropin/leftovers.h"
#include "git/state_paths.h"
#include "plan/decode/task.h"
#include "project/streams_file.h"
#include "run/run.h"
#include "run/state/merge_place.h"
#include "sys/self_exe.h"
#include "view/event_lines.h"
#include "view/plan/streams_text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct session {
    struct cast_plan *plan;
    struct streams_file sf;
    struct run *run;
    char *branch, *subject;
    char *state_dir;
    struct strv left; /* killed runs with leftovers */
    bool saved;       /* some work that did not land was saved */
};

static const char branch_prefix[] = "cast-parallel-";

static void put_missing(struct arena *a, struct node *map, const char *key, const char *value)
{
    if (!node_get(map, key))
        node_put_string(a, map, key, value);
}

/* That tool let agents read the plan themselves. If the block gives only the id of a batch, the
 * plan's text describes the batch. A batch without agents runs as one agent. */
static void complete_batch(struct arena *a, struct node *batch)
{
    static const char *const texts[] = {"agents", "description", "prompt", "prompt_file"};
    struct node *agents = node_get(batch, "agents");
    bool some = false;
    if (agents && agents->kind == NODE_LIST && !agents->n)
        node_unlink(batch, agents);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        some = some || node_get(batch, texts[i]);
    if (!some)
        node_put_string(a, batch, "prompt", "Do what the plan's file says of this batch.");
}

/* That tool accepts any text as an id. We replace ids that are no valid task names, but print
 * the original: see show_names(). */
static void replace_ids(struct cast_plan *p, struct node *batches)
{
    automap struct map seen = {0};
    size_t place = 0;
    node_each (batch, batches) {
        struct node *id = node_get(batch, "id");
        const char *name = p->names.v[place++];
        bool text = id->kind == NODE_STRING || id->kind == NODE_INT;
        if (text && task_id_valid(name) && !map_put(&seen, name, strlen(name), id))
            continue;
        node_unlink(batch, id);
        node_put_string(&p->doc.arena, batch, "id", arena_printf(&p->doc.arena, "_%zu", place));
    }
}

static void show_names(struct session *s)
{
    struct plan_batches *batches = &s->sf.manifest.plan.batches;
    for (size_t i = 0; i < batches->n && i < s->plan->names.n; i++)
        batches->v[i].id = s->plan->names.v[i];
}

static void complete_batches(struct cast_plan *p, struct node *batches)
{
    replace_ids(p, batches);
    node_each (batch, batches)
        complete_batch(&p->doc.arena, batch);
}

/* That tool read only the ids; remove the rest. */
static void keep_ids(struct node *map, const char *const *keys)
{
    for (struct node *n = map->first, *next; n; n = next) {
        bool kept = false;
        next = n->next;
        for (size_t i = 0; keys[i]; i++)
            kept = kept || strcmp(n->name, keys[i]) == 0;
        if (!kept)
            node_unlink(map, n);
    }
}

static void remove_all_but_ids(struct cast_plan *p)
{
    static const char *const of_plan[] = {"plan_id", "batches", NULL}, *const of_batch[] = {"id",
                                                                                            NULL};
    keep_ids(p->doc.root, of_plan);
    node_each (batch, node_get(p->doc.root, "batches"))
        keep_ids(batch, of_batch);
}

/* The assumptions of that tool: the repository of the current folder, and agents with full
 * permissions. */
static void complete_manifest(struct cast_plan *p, const char *root)
{
    struct arena *a = &p->doc.arena;
    struct node *defaults = node_get(p->doc.root, "defaults");
    put_missing(a, p->doc.root, "cwd", root);
    if (!defaults)
        defaults = node_put_map(a, p->doc.root, "defaults");
    if (defaults->kind == NODE_MAP)
        put_missing(a, defaults, "permissions", "full");
    complete_batches(p, node_get(p->doc.root, "batches"));
}

static int print_problems(const struct problems *ps)
{
    dropin_print_problems(ps, "", false);
    return cast_fail(EXIT_TASK, "Cannot run the plan.");
}

/* Cutting between consecutive batches is the purpose of that tool; warn about other cuts. */
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

static int divide_batches(struct session *s, const char *root, struct problems *ps)
{
    struct streams_options opts = {
        .n = 1, .splits = &s->plan->split, .split_count = s->plan->count > 1};
    problems_init(ps, s->plan->path);
    complete_manifest(s->plan, root);
    if (streams_file_take(&s->sf, &s->plan->doc, s->plan->path, ps))
        return -1;
    show_names(s);
    return streams_file_divide(&s->sf, &opts, ps) || streams_file_plan(&s->sf, ps) ? -1 : 0;
}

/* That tool used only the ids. If the rest of the block is invalid, we use only the ids as well;
 * the sessions read the file. */
static int divide_by_ids_only(struct session *s, const char *root, const struct problems *wrong)
{
    autoproblems struct problems ps = {0};
    streams_file_close(&s->sf);
    s->sf = (struct streams_file){0};
    int code = cast_load(s->plan);
    if (code != EXIT_OK)
        return code;
    cast_say(CAST_WARN, "Using only the ids of the batches, because the rest is invalid; the "
                        "sessions read the plan's file:");
    dropin_print_problems(wrong, "", false);
    remove_all_but_ids(s->plan);
    return divide_batches(s, root, &ps) ? print_problems(&ps) : EXIT_OK;
}

static int open_streams(struct session *s, const char *root)
{
    autoproblems struct problems ps = {0};
    int code = divide_batches(s, root, &ps) ? divide_by_ids_only(s, root, &ps) : EXIT_OK;
    if (code == EXIT_OK)
        warn_of_cuts(&s->sf.streams);
    return code;
}

static char get_stream_letter(const char *id)
{
    return (char)(*id - 'a' + 'A');
}

static struct task_status get_status(const struct session *s, const char *id)
{
    return run_task(s->run, plan_find(&s->sf.plan.plan, id)->index);
}

static void print_failure(const struct session *s, const struct event *ev)
{
    struct task_status st = get_status(s, ev->task);
    const char *output = node_get_string(ev->data, "output", "");
    if (st.exit_code)
        cast_say(CAST_ERROR, "Stream %c exited with code %d", get_stream_letter(ev->task),
                 st.exit_code);
    cast_say(CAST_ERROR, "Stream %c failed: %s", get_stream_letter(ev->task), st.reason);
    if (*output)
        cast_say(CAST_ERROR, "Last lines of Stream %c log:", get_stream_letter(ev->task));
    (void)fputs(output, stderr); /* harmless already */
}

static void print_conflict(const struct session *s, const struct event *ev)
{
    cast_say(CAST_ERROR, "Merge conflict: %s into %s", node_get_string(ev->data, "branch", "?"),
             run_base(s->run));
    cast_say(CAST_ERROR, "Conflicting files: %s", node_get_string(ev->data, "files", "?"));
}

/* While the branch does not have the work, the event names the ref that has it. */
static void print_merge(const struct session *s, const struct event *ev)
{
    const char *kept = node_get_string(ev->data, "kept", NULL);
    if (kept)
        cast_say(CAST_SUCCESS, "Merged Stream %c into %s, not yet into %s.",
                 get_stream_letter(ev->task), kept, run_base(s->run));
    else
        cast_say(CAST_SUCCESS, "Merged Stream %c into %s.", get_stream_letter(ev->task),
                 run_base(s->run));
}

/* Prints events of which that tool knew nothing. */
static void print_notice(struct session *s, const struct event *ev)
{
    static const enum event_kind notices[] = {
        EV_GIT_STATE_CHANGED, EV_SCOPE_VIOLATED, EV_TASK_SALVAGED, EV_TASK_WAITING,
        EV_LIMIT_OPENED,      EV_LIMIT_CLOSED,   EV_BUDGET_WARNED, EV_BUDGET_EXCEEDED,
        EV_NOTIFY_FAILED,     EV_RUN_PAUSED,     EV_TASK_STOPPING,
    };
    autobuf struct buf text = BUF_INIT;
    bool listed = false;
    for (size_t i = 0; i < ARRAY_LEN(notices); i++)
        listed = listed || notices[i] == ev->kind;
    if (!listed || !event_text(ev, &text))
        return;
    s->saved = s->saved || (ev->kind == EV_TASK_SALVAGED && node_get(ev->data, "ref"));
    if (ev->task)
        cast_say(CAST_WARN, "Stream %c: %s", get_stream_letter(ev->task), text.s);
    else
        cast_say(CAST_WARN, "%s", text.s);
}

static void on_event(void *ctx, const struct event *ev)
{
    struct session *s = ctx;
    print_notice(s, ev);
    if (!ev->task)
        return;
    char who = get_stream_letter(ev->task);
    if (ev->kind == EV_TASK_STARTED)
        cast_say(CAST_INFO, "Stream %c running in %s (log: %s)", who,
                 node_get_string(ev->data, "workspace", "?"),
                 node_get_string(ev->data, "log", "?"));
    else if (ev->kind == EV_TASK_COMMITTED || ev->kind == EV_TASK_DONE)
        cast_say(CAST_SUCCESS, "Stream %c completed.", who);
    else if (ev->kind == EV_TASK_LANDED)
        print_merge(s, ev);
    else if (ev->kind == EV_TASK_RETRIED || ev->kind == EV_TASK_PARKED)
        cast_say(CAST_WARN, "Retrying stream %c: %s", who, node_get_string(ev->data, "reason", ""));
    else if (ev->kind == EV_TASK_FAILED)
        print_failure(s, ev);
    else if (ev->kind == EV_TASK_CONFLICTED)
        print_conflict(s, ev);
}

static void print_kept_worktrees(const struct session *s)
{
    automergeplace struct merge_place place = {.base = run_base(s->run)};
    merge_place_find(&place, &s->sf.plan.repo);
    cast_say(CAST_ERROR, "Merge failed. Worktrees preserved for manual resolution:");
    for (size_t i = 0; i < s->sf.plan.plan.task_count; i++) {
        const char *id = s->sf.plan.plan.tasks[i].id;
        struct task_status st = get_status(s, id);
        autobuf struct buf next = BUF_INIT;
        if (st.state != TASK_CONFLICTED)
            continue;
        merge_place_add(&place, st.branch, &next);
        cast_say(CAST_ERROR, "  %c: %s", get_stream_letter(id), st.workspace);
        cast_say(CAST_ERROR, "  to resolve it: %s", next.s);
    }
    cast_say(CAST_ERROR, "  then clean up: anabranch resume %s", run_id(s->run));
}

static void print_failed_streams(const struct session *s)
{
    cast_say(CAST_ERROR, "One or both sessions failed. Logs preserved at:");
    for (size_t i = 0; i < s->sf.plan.plan.task_count; i++) {
        const char *id = s->sf.plan.plan.tasks[i].id;
        cast_say(CAST_ERROR, "  %c: %s/%s", get_stream_letter(id), run_dir(s->run), id);
    }
    if (s->saved)
        cast_say(CAST_ERROR, "Their work is saved: anabranch salvage");
    cast_say(CAST_ERROR, "To resume: anabranch resume %s", run_id(s->run));
}

static int print_result(const struct session *s)
{
    struct run_result r = run_result(s->run);
    if (r.failed || r.skipped)
        print_failed_streams(s);
    if (r.conflicted)
        print_kept_worktrees(s);
    if (!r.published && r.result) {
        cast_say(CAST_ERROR,
                 "The checkout of %s could not follow. All merged work is on %s:", run_base(s->run),
                 r.result);
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

/* Replaces options of anabranch by words of this command line. */
static int report_open_error(const struct err *err)
{
    if (strstr(err->msg, "--base"))
        return cast_fail(EXIT_TASK,
                         "No branch is checked out: switch to the one to merge into first");
    return cast_fail(EXIT_TASK, "%s", err->msg);
}

static int run_streams(struct session *s)
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
        return report_open_error(&err);
    run_observe(s->run, on_event, s);
    int code = run_go(s->run, &err) ? cast_fail(EXIT_TASK, "%s", err.msg) : print_result(s);
    run_close(s->run);
    return code;
}

static void print_head(const struct cast_plan *p)
{
    cast_header("cast parallel \xe2\x80\x94 %s (%zu batches, split at %zu)", p->id.s, p->count,
                p->split);
    cast_dim("  Plan file: %s", p->path);
    cast_dim("  Stream A: batches %s", p->ids[0].s);
    if (p->split < p->count)
        cast_dim("  Stream B: batches %s", p->ids[1].s);
    (void)cli_print("\n", 1);
}

static bool is_branch_taken(const struct git_repo *repo, const char *stream, const char *suffix)
{
    struct git_place at = {.git_dir = repo->common};
    autofree char *ref = mem_printf("refs/heads/cast-parallel-%s-%s", stream, suffix);
    autobuf struct buf commit = BUF_INIT;
    return git_resolve(&at, ref, &commit, NULL) == 0;
}

/* In containers process numbers repeat. An earlier process with our number may have left a
 * branch for the user; choose another name. */
static void choose_names(struct session *s, const struct git_repo *repo)
{
    autofree char *suffix = mem_printf("%ld", (long)getpid());
    for (int i = 2; is_branch_taken(repo, "a", suffix) || is_branch_taken(repo, "b", suffix); i++) {
        free(suffix);
        suffix = mem_printf("%ld-%d", (long)getpid(), i);
    }
    s->branch = mem_printf("%s{id}-%s", branch_prefix, suffix);
    s->subject = mem_printf("Merge branch '%s'", s->branch);
}

static int find_repository(struct session *s, struct git_repo *repo)
{
    struct err err = {0};
    if (git_open(repo, ".", &err) || !repo->root)
        return cast_fail(EXIT_TASK, "%s", *err.msg ? err.msg : "This is not a git repository");
    s->state_dir = state_path(repo->common);
    choose_names(s, repo);
    return EXIT_OK;
}

static void warn_of_leftovers(void *ctx, const struct left_remains *left)
{
    struct session *s = ctx;
    strv_push(&s->left, left->run);
    cast_say(CAST_WARN, "Run %s of %s was killed and left behind:", left->run, left->plan);
    for (size_t i = 0; i < left->things->n; i++)
        cast_say(CAST_WARN, "  %s", left->things->v[i]);
    if (s->plan->clean)
        return;
    cast_say(CAST_WARN, "To resume it: anabranch resume %s", left->run);
    cast_say(CAST_WARN, "To save and remove the leftovers: cast-parallel --clean, or");
    cast_say(CAST_WARN, "  anabranch clean --run %s", left->run);
}

static void print_cleaned(void *ctx, const struct clean_item *item)
{
    (void)ctx;
    if (item->action == CLEAN_REMOVED)
        cast_say(CAST_INFO, "Removed %s %s: %s", item->kind, item->name, item->why);
    else if (item->action == CLEAN_FAILED)
        cast_say(CAST_WARN, "Could not remove %s %s: %s", item->kind, item->name, item->why);
}

static int clean_leftovers(const struct session *s, const struct git_repo *repo, struct err *err)
{
    autostore struct store *store = NULL;
    if (store_open(&store, s->state_dir, true, err))
        return -1;
    struct clean_options opts = {.repo = repo,
                                 .state_dir = s->state_dir,
                                 .store = store,
                                 .self = self_path(),
                                 .waiting = cli_waiting,
                                 .tell = print_cleaned};
    for (size_t i = 0; i < s->left.n; i++) {
        opts.run = s->left.v[i];
        if (clean(&opts, err))
            return -1;
    }
    return 0;
}

/* Leftovers of killed runs do not stop a new run. */
static void handle_leftovers(struct session *s, const struct git_repo *repo)
{
    struct err err = {0};
    if (left_each(repo, s->state_dir, branch_prefix, warn_of_leftovers, s, &err) ||
        (s->plan->clean && s->left.n && clean_leftovers(s, repo, &err)))
        cast_say(CAST_WARN, "%s", err.msg);
}

int cast_run(struct cast_plan *plan)
{
    struct session s = {.plan = plan};
    struct git_repo repo = {0};
    int code = find_repository(&s, &repo);
    if (code == EXIT_OK)
        code = open_streams(&s, repo.root);
    if (code == EXIT_OK && !dropin_finds_claude(&s.sf.plan.plan, NULL))
        code = cast_fail(EXIT_TASK, "claude was not found on PATH");
    if (code == EXIT_OK) {
        handle_leftovers(&s, &repo);
        print_head(plan);
        code = run_streams(&s);
    }
    streams_file_close(&s.sf);
    git_close(&repo);
    strv_done(&s.left);
    free(s.state_dir);
    free(s.branch);
    free(s.subject);
    return code;
}
