#include "run/prepare/prepare.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/text.h"
#include "doc/doc.h"
#include "git/state_paths.h"
#include "run/agent/inputs.h"
#include "run/attempt/attempt.h"
#include "run/attempt/fail.h"
#include "run/attempt/feedback.h"
#include "run/prepare/fill.h"
#include "run/prepare/overlay_fill.h"
#include "run/process/plan_command.h"
#include "run/process/process.h"
#include "run/report.h"
#include "run/rework/repair.h"
#include "run/state/record.h"
#include "run/state/run_state.h"
#include "run/watch/other_runs.h"
#include "run/watch/watch.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"
#include "sys/guard/guard.h"
#include "workspace/fill/include.h"
#include "workspace/root_folder.h"
#include "workspace/workspace_hold.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

enum {
    COMMAND_MS = 10 * 60 * 1000, /* for setup and teardown */
    PROGRESS_MS = 1000,
    PROGRESS_MAX = 64 << 20,
    PORTS = 10,
};

static void stop_progress(struct attempt *attempt)
{
    watch_free(attempt->tick);
    attempt->tick = NULL;
}

/* Describes how a command failed; returns false if it did not. */
static bool describe_failure(struct attempt *attempt, const char *name, int exit_code,
                             struct buf *reason)
{
    autofree char *log = mem_printf("%s.err", name);
    if (attempt->command.overdue)
        buf_addf(reason, "workspace.%s timed out", name);
    else if (exit_code != 0)
        buf_addf(reason, "workspace.%s ended with %d: ", name, exit_code);
    if (reason->len && !attempt->command.overdue)
        attempt_read_tail(attempt, log, reason);
    return reason->len > 0;
}

static void start_work(struct attempt *attempt)
{
    if (attempt->prepare.after_prepare)
        attempt->prepare.after_prepare(attempt);
    else
        task_report(attempt->run, attempt->task, ENGINE_WORKSPACE_READY);
}

static void on_setup(struct attempt *attempt, int exit_code)
{
    autobuf struct buf replaced = BUF_INIT, reason = BUF_INIT;
    struct command_end end = {.name = "workspace.setup: ",
                              .process = process_describe_end(attempt, &replaced),
                              .overdue = !plan_command_ended(attempt),
                              .broken_first = true,
                              .tampered = attempt->tamper_error};
    struct command_verdict verdict = command_judge(&end);
    switch (verdict.next) {
    case COMMAND_STOPPED:
        attempt_fail_stopped(attempt);
        break;
    case COMMAND_BROKEN:
        attempt_fail_for(attempt, &verdict.why);
        break;
    case COMMAND_TIMED_OUT:
    case COMMAND_CANNOT_START:
    case COMMAND_FAILED:
        (void)describe_failure(attempt, "setup", exit_code, &reason);
        attempt_fail(attempt, FAILURE_SETUP, "%s", reason.s);
        break;
    case COMMAND_SUCCEEDED:
        start_work(attempt);
        break;
    }
}

static void run_setup(struct attempt *attempt)
{
    const struct plan_command *setup = &attempt->run->pf->plan.setup;
    struct err err = {0};
    attempt->prepare.done = true;
    if (!plan_command_is_set(setup))
        start_work(attempt);
    else if (plan_command_start(attempt, setup, "setup", COMMAND_MS, on_setup, &err))
        attempt_fail(attempt, FAILURE_SETUP, "%s", err.msg);
}

bool prepare_has_teardown(const struct attempt *attempt)
{
    return attempt->has_workspace && attempt->prepare.done &&
           plan_command_is_set(&attempt->run->pf->plan.teardown);
}

static void on_teardown(struct attempt *attempt, int exit_code)
{
    autobuf struct buf reason = BUF_INIT;
    struct err err = {0};
    (void)plan_command_ended(attempt);
    if (describe_failure(attempt, "teardown", exit_code, &reason)) {
        (void)err_set(&err, ERR_ENV, "%s", reason.s);
        record_error(attempt->run, attempt->task, &err);
    }
    attempt->prepare.after_teardown(attempt);
}

void prepare_teardown(struct attempt *attempt, void (*then)(struct attempt *attempt))
{
    struct err err = {0};
    if (!prepare_has_teardown(attempt)) {
        then(attempt);
        return;
    }
    attempt->prepare.tearing_down = true;
    attempt->prepare.after_teardown = then;
    if (plan_command_start(attempt, &attempt->run->pf->plan.teardown, "teardown", COMMAND_MS,
                           on_teardown, &err)) {
        record_error(attempt->run, attempt->task, &err);
        then(attempt);
    }
}

/* Parses the last complete line of the progress output; NULL if there is none. */
static const struct node *read_progress(const struct attempt *attempt, struct doc *doc)
{
    autofree char *path = mem_printf("%s/bring.out", attempt->dir);
    autobuf struct buf text = BUF_INIT;
    autoproblems struct problems ps;
    struct doc_options opts = {.syntax = DOC_JSON};
    *doc = (struct doc){0};
    if (file_read(path, PROGRESS_MAX, &text, NULL))
        return NULL;
    while (text.len && text.s[text.len - 1] != '\n')
        buf_cut(&text, text.len - 1);
    if (!text.len)
        return NULL;
    buf_cut(&text, text.len - 1);
    const char *lf = strrchr(text.s, '\n'), *line = lf ? lf + 1 : text.s;
    problems_init(&ps, "bring");
    return doc_parse(doc, NULL, line, strlen(line), &opts, &ps) ? NULL : doc->root;
}

static void report_progress(struct attempt *attempt, const struct node *count)
{
    struct arena a = {0};
    autobuf struct buf action = BUF_INIT;
    buf_addstr(&action, "copying included files: ");
    text_format_count(&action, node_get_int(count, "files", 0));
    buf_addstr(&action, ", ");
    text_format_bytes(&action, node_get_int(count, "bytes", 0));
    struct node *data = node_new_map(&a);
    node_put_string(&a, data, "action", action.s);
    record(attempt->run, EV_TASK_ACTION, attempt->task, data);
    arena_done(&a);
}

static void on_progress(void *ctx)
{
    struct attempt *attempt = ctx;
    struct doc doc;
    const struct node *count = read_progress(attempt, &doc);
    if (count)
        report_progress(attempt, count);
    doc_done(&doc);
    watch_again(attempt->tick, PROGRESS_MS);
}

static void record_created(struct attempt *attempt, const struct node *count)
{
    static const char *const keys[] = {"files", "bytes", "shared", "kept"};
    struct arena a = {0};
    struct node *data = node_new_map(&a);
    node_put_string(&a, data, "workspace", attempt->ws.path);
    struct node *brought = count ? node_put_map(&a, data, "brought") : NULL;
    for (size_t i = 0; brought && i < ARRAY_LEN(keys); i++)
        node_put_int(&a, brought, keys[i], node_get_int(count, keys[i], 0));
    record(attempt->run, EV_WORKSPACE_CREATED, attempt->task, data);
    arena_done(&a);
}

/* If no files were included, there are no lists: forget their names. */
static void drop_missing_lists(struct attempt *attempt)
{
    if (access(attempt->prepare.included_list, F_OK) == 0)
        return;
    free(attempt->prepare.excludes);
    free(attempt->prepare.included_list);
    attempt->prepare.excludes = attempt->prepare.included_list = NULL;
}

static void on_included(struct attempt *attempt, int exit_code)
{
    autobuf struct buf tail = BUF_INIT;
    struct doc doc;
    stop_progress(attempt);
    drop_missing_lists(attempt);
    if (attempt->stopped) {
        attempt_fail_stopped(attempt);
    } else if (exit_code != 0) {
        attempt_read_tail(attempt, "bring.err", &tail);
        attempt_fail(attempt, FAILURE_SETUP, "cannot copy included files: %s", tail.s);
    } else {
        record_created(attempt, read_progress(attempt, &doc));
        doc_done(&doc);
        run_setup(attempt);
    }
}

static void add_patterns(struct strv *argv, const char *option, const struct strings *patterns)
{
    for (size_t i = 0; i < patterns->n; i++)
        strv_pushf(argv, "%s%s", option, patterns->v[i]);
}

void prepare_bring_argv(const struct run *run, const char *to, const char *excludes,
                        const char *brought, const char *keep, struct strv *argv)
{
    const struct plan *plan = &run->pf->plan;
    strv_pushl(argv, run->opts.self, "__bring", "--root", run->pf->repo.root, "--prefix",
               run->pf->repo.prefix, "--work", run->work.dir, "--excludes", excludes, "--brought",
               brought, NULL);
    if (run->opts.write_at_root)
        strv_push(argv, "--at-top");
    add_patterns(argv, "--share=", &plan->share);
    if (keep)
        strv_pushl(argv, "--keep", run->files.state, "--run", run->id, "--folder", keep, NULL);
    strv_pushl(argv, "--", to, NULL);
    add_patterns(argv, "", &plan->include);
}

/* Copying may take long, so another process does it. */
static int start_include(struct attempt *attempt, struct err *err)
{
    const struct run *run = attempt->run;
    autofree char *out = mem_printf("%s/bring.out", attempt->dir);
    autofree char *errlog = mem_printf("%s/bring.err", attempt->dir);
    own_cleanup(agent_call_done) struct agent_call call = {.interrupt_signal = SIGTERM,
                                                           .is_ours = true};
    attempt->prepare.excludes = mem_printf("%s/excludes", attempt->dir);
    attempt->prepare.included_list = mem_printf("%s/brought", attempt->dir);
    prepare_bring_argv(run, attempt->ws.path, attempt->prepare.excludes,
                       attempt->prepare.included_list, NULL, &call.argv);
    git_environment(&call.env);
    call.dir = mem_str(run->pf->repo.root);
    if (process_start_guarded(attempt, &call, NULL, out, errlog, on_included, err))
        return -1;
    attempt->tick = loop_timer(run->loop, PROGRESS_MS, on_progress, attempt);
    return 0;
}

bool prepare_brings(const struct run *run)
{
    const struct plan *plan = &run->pf->plan;
    const struct git_repo *repo = &run->pf->repo;
    return include_is_needed(repo->root, repo->prefix, plan->include.n + plan->share.n);
}

/* The overlay already shows the included files: only their lists are missing. */
static void use_shared_include(struct attempt *attempt)
{
    struct doc doc;
    attempt->prepare.excludes = attempt_file(attempt, "excludes");
    attempt->prepare.included_list = attempt_file(attempt, "brought");
    drop_missing_lists(attempt);
    record_created(attempt, read_progress(attempt, &doc));
    doc_done(&doc);
    run_setup(attempt);
}

static void include_files(struct attempt *attempt)
{
    struct err err = {0};
    if (overlay_fill_has_brought(attempt)) {
        use_shared_include(attempt);
    } else if (!prepare_brings(attempt->run)) {
        record_created(attempt, NULL);
        run_setup(attempt);
    } else if (start_include(attempt, &err)) {
        attempt_fail(attempt, FAILURE_SETUP, "%s", err.msg);
    }
}

void prepare_filled(struct attempt *attempt, int exit_code)
{
    autobuf struct buf tail = BUF_INIT;
    if (attempt->stopped) {
        attempt_fail_stopped(attempt);
    } else if (exit_code == 0) {
        include_files(attempt);
    } else {
        attempt_read_tail(attempt, "prepare.log", &tail);
        attempt_fail(attempt, FAILURE_SETUP, "cannot fill the workspace: %s", tail.s);
    }
}

static char *workspace_cwd(const struct attempt *attempt)
{
    const struct run *run = attempt->run;
    bool in_prefix =
        *run->pf->repo.prefix && (task_of(attempt)->read_only || !run->opts.write_at_root);
    return in_prefix ? mem_printf("%s/%s", attempt->ws.path, run->pf->repo.prefix)
                     : mem_str(attempt->ws.path);
}

/* Records the attempt's workspace. */
static void record_workspace(struct attempt *attempt)
{
    struct task_run *tr = task_run(attempt);
    attempt->has_workspace = true;
    repo_watch_own(attempt->run, tr->branch);
    tr->status.branch = tr->branch + strlen("refs/heads/");
    free(tr->workspace);
    tr->workspace = mem_str(attempt->ws.path);
    tr->status.workspace = tr->workspace;
    attempt->cwd = workspace_cwd(attempt);
}

static int make_workspace(struct attempt *attempt, struct err *err)
{
    struct run *run = attempt->run;
    struct task_run *tr = &run->tasks[attempt->task];
    const struct task *t = task_of(attempt);
    autofree char *path = mem_printf("%s/%s/%s", run->work.dir, run->id, t->id);
    const char *start = t->dep_count || tr->life->start_at_tip ? run->base.tip : run->base.start;
    autobuf struct buf branch = BUF_INIT;
    buf_addstr(&branch, "refs/heads/");
    attempt_expand(attempt, run->opts.branch ? run->opts.branch : "anabranch/{run}/{id}", &branch);
    if (workspace_create(&attempt->ws, &run->pf->repo, path, branch.s, start, run->batch, err))
        return -1;
    free(tr->branch);
    free(tr->start);
    free(steal_ptr(tr->first_start));
    tr->branch = buf_steal(&branch);
    tr->start = mem_str(start);
    task_report(run, attempt->task, ENGINE_WORKSPACE_MADE);
    record_workspace(attempt);
    return root_folder_hide(run->work.dir, err) || fill_workspace(attempt, err) ? -1 : 0;
}

/* Takes a block of ports. If the plan does not ask for ports, it is no failure if none are free. */
static int take_ports(struct attempt *attempt, struct err *err)
{
    int64_t wanted = attempt->run->pf->plan.ports;
    if (wanted != 0)
        attempt->prepare.port =
            ports_take(&attempt->run->work.ports, wanted > 0 ? (int)wanted : PORTS);
    if (wanted > 0 && !attempt->prepare.port)
        return err_set(err, ERR_ENV, "no %lld ports in a row are free", (long long)wanted);
    return 0;
}

/* True if the task works in the project's own folder. A task with dependencies needs their work
 * there, and a checkout that could not follow the base lacks it. */
static bool works_in_place(const struct attempt *attempt)
{
    const struct run *run = attempt->run;
    const struct task *t = task_of(attempt);
    if (!run->base.name)
        return true;
    return run->opts.read_in_place && t->read_only &&
           (!t->dep_count || strcmp(run->base.tip, run->base.published) == 0);
}

void prepare(struct attempt *attempt)
{
    struct run *run = attempt->run;
    struct err err = {0};
    bool in_place = works_in_place(attempt);
    if (take_ports(attempt, &err) || (!in_place && make_workspace(attempt, &err))) {
        attempt_fail(attempt, FAILURE_SETUP, "%s", err.msg);
    } else if (in_place) {
        attempt->cwd = mem_str(run->pf->project);
        task_report(attempt->run, attempt->task, ENGINE_WORKSPACE_READY);
    }
}

/* Finds a file of this attempt, or else of an earlier one that made the workspace; NULL if there
 * is none. */
static char *find_attempt_file(const struct attempt *attempt, int number, const char *name)
{
    for (; number > 0; number--) {
        autofree char *path =
            attempt_file_path(attempt->run->files.dir, task_of(attempt)->id, number, name);
        if (access(path, F_OK) == 0)
            return steal_ptr(path);
    }
    return NULL;
}

void prepare_adopt(struct attempt *attempt, int number)
{
    const struct run *run = attempt->run;
    const struct task_run *tr = task_run(attempt);
    autofree char *usual = mem_printf("%s/%s/%s", run->work.dir, run->id, task_of(attempt)->id);
    workspace_adopt(&attempt->ws, &run->pf->repo, tr->status.workspace, usual, tr->branch,
                    run->batch);
    attempt->prepare.excludes = find_attempt_file(attempt, number, "excludes");
    attempt->prepare.included_list = find_attempt_file(attempt, number, "brought");
    record_workspace(attempt);
}

void prepare_adopted(struct attempt *attempt)
{
    struct err err = {0};
    prepare_adopt(attempt, attempt->number - 1);
    attempt->prepare.done = true;
    if (workspace_enter(&attempt->ws, &err))
        attempt_fail(attempt, FAILURE_SCOPE, "%s", err.msg);
    else if (take_ports(attempt, &err))
        attempt_fail(attempt, FAILURE_SETUP, "%s", err.msg);
    else
        repair_prepare(attempt);
}

/* Removes the lists of the lost workspace: the files will be included again. */
static int remove_include_lists(struct attempt *attempt, struct err *err)
{
    char **const lists[] = {&attempt->prepare.excludes, &attempt->prepare.included_list};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        if (*lists[i] && dirs_remove_file(*lists[i], err))
            return -1;
        free(*lists[i]);
        *lists[i] = NULL;
    }
    return 0;
}

void prepare_again(struct attempt *attempt, void (*ready)(struct attempt *attempt))
{
    struct err err = {0};
    attempt->prepare.after_prepare = ready;
    prepare_adopt(attempt, attempt->number);
    if (take_ports(attempt, &err) || remove_include_lists(attempt, &err) ||
        workspace_clear(&attempt->ws, &err) || workspace_restore(&attempt->ws, &err) ||
        root_folder_hide(attempt->run->work.dir, &err) || fill_by_git(attempt, &err))
        attempt_fail(attempt, FAILURE_SETUP, "%s", err.msg);
}
