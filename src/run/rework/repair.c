#include "run/rework/repair.h"

#include "base/mem.h"
#include "git/merge/merge.h"
#include "run/attempt/attempt.h"
#include "run/attempt/fail.h"
#include "run/attempt/feedback.h"
#include "run/commit/unresolved.h"
#include "run/prepare/prepare.h"
#include "run/process/process.h"
#include "run/report.h"
#include "run/resume/decide.h"
#include "run/resume/resume_private.h"
#include "run/state/run_state.h"
#include "run/state/status.h"
#include "run/state/task.h"
#include "sys/fs/file.h"
#include "sys/own_fd.h"
#include "workspace/fill/included.h"
#include "workspace/workspace_hold.h"
#include "workspace/write_file.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { HUNKS_MAX = 16 << 10 }; /* bytes of conflicting lines that we show to an agent */

/* If an engine that died ran the attempt, we find the session only in its output. */
static bool find_session(struct attempt *attempt)
{
    const struct run *run = attempt->run;
    enum agent_engine engine = run_engine(run, attempt->task);
    const struct evidence_task *past = run->resume ? run->resume->tasks[attempt->task].past : NULL;
    autofree char *out = attempt_file(attempt, "out");
    autobuf struct buf session = BUF_INIT;
    const char *known = attempt_session(attempt);
    if (known && *known)
        return true;
    if (!past || !past->row.engine ||
        strcmp(past->row.engine, run_engine_name(run, attempt->task)) != 0 ||
        !agent_read_session(engine, out, &session))
        return false;
    free(attempt->agent.session);
    attempt->agent.session = buf_steal(&session);
    return true;
}

struct session_facts repair_session(struct attempt *attempt)
{
    const struct run *run = attempt->run;
    bool whole = run->base.name && attempt->has_workspace && attempt->prepare.done &&
                 workspace_is_whole(&attempt->ws);
    return (struct session_facts){
        .engine_resumes = agent_continues_ended(run_engine(run, attempt->task)),
        .is_known = whole && find_session(attempt),
        .has_workspace = whole,
        .tampered = attempt->tamper_error,
    };
}

/* Moves the task's branch, or creates it. */
static int move_branch(struct attempt *attempt, const char *to, struct err *err)
{
    struct git_place at = run_place(attempt->run);
    const char *branch = task_run(attempt)->branch;
    autobuf struct buf was = BUF_INIT;
    struct err none = {0};
    bool moved = true;
    (void)git_resolve(&at, branch, &was, &none);
    if (strcmp(was.s, to) != 0 &&
        git_move_ref(&at, branch, was.s, to, "anabranch: repair", &moved, err))
        return -1;
    return moved ? 0 : err_set(err, ERR_ENV, "someone else moved '%s'", branch);
}

static void set_start(struct attempt *attempt, const char *start)
{
    struct task_run *tr = task_run(attempt);
    autofree char *was = tr->start;
    if (!tr->first_start)
        tr->first_start = steal_ptr(was);
    tr->start = mem_str(start);
}

/* Finds the commit that failed the verification, for the agent to continue from. If the task lands
 * by a merge commit, returns that merge with its parents swapped. */
static int find_merged_commit(struct attempt *attempt, struct buf *ret, struct err *err)
{
    struct git_place at = run_place(attempt->run);
    autofree char *message = mem_printf("Merge what has landed into task %s", task_of(attempt)->id);
    const char *const parents[] = {task_run(attempt)->commit, attempt->landing.base.s, NULL};
    enum land_style style = attempt->run->pf->plan.land_style;
    autobuf struct buf tree = BUF_INIT;
    if (style == LAND_STYLE_SQUASH || style == LAND_STYLE_REBASE) {
        buf_add(ret, attempt->landing.commit.s, attempt->landing.commit.len);
        return 0;
    }
    return git_tree_of(&at, attempt->landing.commit.s, &tree, err) ||
                   git_commit_tree(&at, tree.s, parents, message, ret, err)
               ? -1
               : 0;
}

static int set_up_merged(struct attempt *attempt, struct err *err)
{
    autobuf struct buf merged = BUF_INIT;
    if (find_merged_commit(attempt, &merged, err) || move_branch(attempt, merged.s, err))
        return -1;
    set_start(attempt, attempt->landing.base.s);
    return 0;
}

int repair_set_up(struct attempt *attempt, enum repair repair, struct err *err)
{
    struct task_run *tr = task_run(attempt);
    if (repair == REPAIR_MERGED)
        return set_up_merged(attempt, err);
    if (repair == REPAIR_CONFLICT) { /* repair_prepare() moves the branch after this is recorded */
        set_start(attempt, attempt->run->base.tip);
    } else if (tr->status.failure == FAILURE_SCOPE && attempt->staged.branch_before.len) {
        return move_branch(attempt, attempt->staged.branch_before.s, err);
    }
    return 0;
}

void repair_wait(struct attempt *attempt)
{
    struct run *run = attempt->run;
    uint32_t task = attempt->task;
    struct task_run *tr = task_run(attempt);
    free(tr->session);
    tr->session = mem_str(attempt_session(attempt));
    attempt->has_workspace = false; /* the next attempt owns it */
    task_report_if(run, task, ENGINE_SESSION_KEPT, false);
    attempt_free(attempt);
    task_retry_later(run, task, 0);
}

/* Removes untracked files. Everything from the agent is committed, so these came from the
 * verification. */
static int remove_untracked(const struct attempt *attempt, struct err *err)
{
    struct git_place at = workspace_place(&attempt->ws);
    autobrought struct included brought = BROUGHT_INIT;
    autobuf struct buf others = BUF_INIT;
    autoclose int root = open(workspace_at(&attempt->ws), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    autoworkfolder struct work_folder folder = WORK_FOLDER_INIT(root);
    at.excludes = attempt->prepare.excludes;
    if (root < 0)
        return err_sys(err, "open '%s'", attempt->ws.path);
    if (included_open(&brought, attempt->prepare.included_list, attempt->run->pf->repo.root, err) ||
        git_call(&at, &others, err, "ls-files", "-z", "--others", "--exclude-standard", NULL))
        return -1;
    for (const char *p = others.s; p < others.s + others.len; p += strlen(p) + 1) {
        bool nested = *p && p[strlen(p) - 1] == '/'; /* a repository: salvaged as one */
        const char *name;
        if (nested || included_has(&brought, p))
            continue;
        int fd = work_folder_enter(&folder, p, false, &name);
        if (fd < 0 || unlinkat(fd, name, 0) < 0)
            return err_sys(err, "remove '%s' in '%s'", p, attempt->ws.path);
    }
    return 0;
}

/* Only markers with git's names for the two sides count: other text may look like a marker. */
static bool is_marker(const char *line, const char *sign, const char *side)
{
    size_t len = strlen(sign);
    return strncmp(line, sign, len) == 0 && line[len] == ' ' &&
           strncmp(line + len + 1, side, strlen(side)) == 0;
}

static void add_hunks(const struct task_run *tr, const char *path, const char *text,
                      struct buf *out)
{
    size_t line = 1;
    bool inside = false;
    for (size_t n; *text && out->len < HUNKS_MAX; text += n + (text[n] == '\n'), line++) {
        n = strcspn(text, "\n");
        if (!inside && is_marker(text, "<<<<<<<", tr->start)) {
            inside = true;
            buf_addf(out, "\n%s, from line %zu on:\n\n", path, line);
        }
        if (inside)
            buf_addf(out, "%.*s\n", (int)(n < HUNKS_MAX ? n : HUNKS_MAX), text);
        if (is_marker(text, ">>>>>>>", tr->commit))
            inside = false;
    }
}

/* Sets text for this attempt alone, as it describes this workspace. */
static void set_brief(struct attempt *attempt, const struct buf *text)
{
    autobuf struct buf masked = BUF_INIT;
    secrets_mask(&attempt->run->secrets, text->s, text->len, &masked);
    free(attempt->agent.brief);
    attempt->agent.brief = buf_steal(&masked);
}

static int tell_conflict(struct attempt *attempt, const struct merge_result *m, struct err *err)
{
    const struct task_run *tr = task_run(attempt);
    struct git_place at = run_place(attempt->run);
    autobuf struct buf text = BUF_INIT, hunks = BUF_INIT;
    if (tr->life->has_message && tr->feedback)
        buf_addf(&text, "%s\n\n", tr->feedback);
    buf_addstr(&text,
               "Your work is in conflict with what has landed meanwhile. Your folder now has "
               "all that has landed, with your work merged into it. Git could not merge:\n");
    const char *end = m->conflicts.s + m->conflicts.len;
    for (const char *path = m->conflicts.s; path < end; path += strlen(path) + 1) {
        autobuf struct buf file = BUF_INIT;
        bool found;
        buf_addf(&text, "\n    %s", path);
        if (hunks.len < HUNKS_MAX && unresolved_read_blob(&at, m->tree.s, path, &file, &found, err))
            return -1;
        add_hunks(tr, path, file.s, &hunks);
    }
    buf_addf(&text,
             "\n\nBetween <<<<<<< and ======= is what has landed, between ======= and >>>>>>> is "
             "yours. Combine both, and remove the markers. A file without "
             "markers was removed, renamed or replaced on one side, or is not text: change it, "
             "remove it, or keep it as it is with 'git add'. Do not merge or rebase: we take "
             "the files in your folder when you are done.\n%s",
             hunks.s);
    set_brief(attempt, &text);
    task_report(attempt->run, attempt->task, ENGINE_MESSAGE_TOLD);
    return 0;
}

static int enter_stages(const struct attempt *attempt, const struct buf *stages, struct err *err)
{
    struct git_place at = workspace_place(&attempt->ws);
    autostrv struct strv args = {0};
    autobuf struct buf out = BUF_INIT, errout = BUF_INIT;
    int status = 0;
    strv_pushl(&args, "update-index", "-z", "--index-info", NULL);
    if (stages->len && git_feed(&at, &args, stages, &out, &errout, &status, err))
        return -1;
    return status ? err_set(err, ERR_ENV, "git update-index: %s", errout.s) : 0;
}

/* Repeats the merge that conflicted, in the work tree. */
static int repeat_merge(struct attempt *attempt, struct err *err)
{
    const struct task_run *tr = task_run(attempt);
    struct git_place at = run_place(attempt->run), here = workspace_place(&attempt->ws);
    automerge struct merge_result m = MERGE_RESULT_INIT;
    autobuf struct buf stages = BUF_INIT;
    workspace_set_tree(&attempt->ws, &at);
    return merge_trees(&at, tr->start, tr->commit, &m, err) ||
                   merge_stages(&at, tr->start, tr->commit, &stages, err) ||
                   git_call(&here, NULL, err, "read-tree", "--reset", "-u", m.tree.s, NULL) ||
                   enter_stages(attempt, &stages, err) || tell_conflict(attempt, &m, err)
               ? -1
               : 0;
}

/* Writes the text for the agent to a file. A resume reads it if we die during this attempt. */
static int keep_brief(const struct attempt *attempt, struct err *err)
{
    autofree char *path = attempt_file(attempt, "feedback");
    return file_replace_private(path, attempt->agent.brief, strlen(attempt->agent.brief), err);
}

static void check_out(struct attempt *attempt);

static void on_checked_out(struct attempt *attempt, int exit_code)
{
    autobuf struct buf log = BUF_INIT;
    struct err err = {0};
    if (process_lost_race(attempt, exit_code)) {
        check_out(attempt);
    } else if (attempt->stopped) {
        attempt_fail_stopped(attempt);
    } else if (exit_code != 0) {
        attempt_read_tail(attempt, "prepare.log", &log);
        attempt_fail(attempt, FAILURE_SETUP, "cannot check out the merged tree: %s", log.s);
    } else if (remove_untracked(attempt, &err) ||
               (attempt->repair == REPAIR_CONFLICT &&
                (repeat_merge(attempt, &err) || keep_brief(attempt, &err)))) {
        attempt_fail(attempt, FAILURE_SETUP, "%s", err.msg);
    } else {
        task_report(attempt->run, attempt->task, ENGINE_WORKSPACE_READY);
    }
}

static void check_out(struct attempt *attempt)
{
    struct git_place at = workspace_place(&attempt->ws);
    autofree char *log = attempt_file(attempt, "prepare.log");
    autostrv struct strv argv = {0}, env = {0};
    struct err err = {0};
    git_prepare(&at, &argv, &env);
    strv_pushl(&argv, "checkout", "--quiet", "--force", attempt->ws.branch + strlen("refs/heads/"),
               NULL);
    if (process_start(attempt, argv.v, env.v, NULL, log, on_checked_out, &err))
        attempt_error(attempt, &err);
}

void repair_prepare(struct attempt *attempt)
{
    struct task_run *tr = task_run(attempt);
    struct err err = {0};
    attempt->repair = tr->life->repair;
    task_report(attempt->run, attempt->task, ENGINE_REPAIR_BEGAN);
    if (attempt->repair < REPAIR_MERGED) {
        task_report(attempt->run, attempt->task, ENGINE_WORKSPACE_READY);
        return;
    }
    /* A git that died with the verification may have left this lock. */
    if (workspace_drop(&attempt->ws, "index.lock", &err)) {
        attempt_fail(attempt, FAILURE_SCOPE, "%s", err.msg);
        return;
    }
    if (attempt->repair == REPAIR_CONFLICT && move_branch(attempt, tr->start, &err)) {
        attempt_error(attempt, &err);
        return;
    }
    check_out(attempt);
}

/* The message may describe the folder before it was gone, so we add what is in the new one. */
static void tell_made_again(struct attempt *attempt, const char *from)
{
    const char *said = task_run(attempt)->feedback;
    autobuf struct buf text = BUF_INIT;
    buf_addf(&text, "%s\n\nWe made your folder again: it has %s.\n", said ? said : "",
             from ? "the files that you left" : "all that has landed");
    set_brief(attempt, &text);
}

static void on_made_again(struct attempt *attempt)
{
    struct task_run *tr = task_run(attempt);
    struct git_place here = workspace_place(&attempt->ws);
    autofree char *from = steal_ptr(tr->remake_from);
    struct err err = {0};
    attempt->prepare.after_prepare = NULL; /* from here on it is a normal attempt */
    if (from && git_call(&here, NULL, &err, "read-tree", "--reset", "-u", from, NULL))
        attempt_fail(attempt, FAILURE_SETUP, "%s", err.msg);
    else {
        tell_made_again(attempt, from);
        repair_prepare(attempt);
    }
}

/* A salvage commit has the agent's last own commit as its first parent: start there. */
void repair_make_again(struct attempt *attempt)
{
    const struct task_run *tr = task_run(attempt);
    struct git_place at = run_place(attempt->run);
    autofree char *parent =
        tr->remake_from ? mem_printf("%s^1", tr->remake_from) : mem_str(tr->start);
    autobuf struct buf commit = BUF_INIT;
    struct err err = {0};
    if (git_resolve(&at, parent, &commit, &err) || move_branch(attempt, commit.s, &err))
        attempt_fail(attempt, FAILURE_SETUP, "%s", err.msg);
    else
        prepare_again(attempt, on_made_again);
}

int repair_give_up(struct attempt *attempt, struct buf *ret_files, struct err *err)
{
    struct task_run *tr = task_run(attempt);
    struct git_place at = run_place(attempt->run);
    automerge struct merge_result m = MERGE_RESULT_INIT;
    autobuf struct buf start = BUF_INIT;
    workspace_set_tree(&attempt->ws, &at);
    if (merge_trees(&at, attempt->run->base.tip, tr->commit, &m, err) ||
        merge_describe(&at, &m, ret_files, err) ||
        git_call(&at, &start, err, "merge-base", tr->commit, tr->start, NULL) ||
        move_branch(attempt, tr->commit, err))
        return -1;
    set_start(attempt, start.s);
    free(steal_ptr(tr->first_start));
    return 0;
}
