#include "dropin/orchestra.h"

#include "base/mem.h"
#include "cli/frame/cli.h"
#include "cli/run/run_view.h"
#include "dropin/dropin.h"
#include "dropin/leftovers.h"
#include "dropin/orchestra_view.h"
#include "git/state_paths.h"
#include "run/resume/decide.h"
#include "run/state/merge_place.h"
#include "sys/clock.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"
#include "sys/guard/leftover_processes.h"
#include "sys/self_exe.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATIENCE_MS = 10000 }; /* for the remaining processes of a killed run */

static const char branch_prefix[] = "parallel-orchestra/";

static void print_warning(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void print_warning(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    cli_say("warning: ", fmt, ap);
    va_end(ap);
}

static int runner_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static int runner_error(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    cli_say("RunnerError: ", fmt, ap);
    va_end(ap);
    return EXIT_ENV;
}

/* The rest of the file is prose, whatever its name. */
static const struct doc_options manifest_syntax = {.front_matter = true,
                                                   .max_bytes = DROPIN_PLAN_MAX};

static int open_manifest(struct plan_file *pf, const char *path)
{
    autoproblems struct problems ps;
    problems_init(&ps, path);
    int rc = plan_file_open(pf, path, &manifest_syntax, &ps);
    dropin_print_problems(&ps, "ManifestError: ", true);
    if (rc == 0 && pf->plan.kind != PLAN_ORCHESTRA) {
        (void)fprintf(stderr, "ManifestError: 'po_plan_version' is missing\n");
        rc = -1;
    }
    return rc;
}

/* If `cwd` is outside any repository, that tool used the repository of the current folder. */
static void find_repository(struct plan_file *pf)
{
    autoproblems struct problems none = {0};
    struct err err = {0};
    if (pf->repo.root)
        return;
    problems_init(&none, "");
    git_close(&pf->repo);
    if (git_open(&pf->repo, ".", &err)) {
        git_close(&pf->repo);
        print_warning("%s", err.msg);
    } else if (pf->repo.root) { /* the project is not inside it */
        *pf->repo.prefix = '\0';
        (void)plan_file_reclaim(pf, &none); /* errors of the claims were printed before */
    }
}

/* The default folder for logs; a .gitignore hides it from git. */
static char *log_folder(const struct plan_file *pf)
{
    return mem_printf("%s/.claude/logs", pf->repo.root ? pf->repo.root : ".");
}

static void make_hidden_folder(const char *dir)
{
    static const char all[] = "*\n";
    autofree char *ignore = mem_printf("%s/.gitignore", dir);
    struct err err = {0};
    if (access(dir, F_OK) == 0)
        return;
    if (dirs_make(dir, &err) || file_create(ignore, all, strlen(all), &err))
        print_warning("%s", err.msg);
}

/* Agents start in other folders, so they need an absolute path. */
static char *make_absolute(const char *program)
{
    autofree char *here = getcwd(NULL, 0);
    if (!program || *program == '/' || !strchr(program, '/') || !here)
        return program ? mem_str(program) : NULL;
    return mem_printf("%s/%s", here, program);
}

static bool keeps_worktrees(void)
{
    const char *keep = getenv("PO_KEEP_WORKTREE");
    return keep && strcmp(keep, "1") == 0;
}

struct session {
    const struct orchestra_options *opts;
    char *logs; /* the default log folder, if it is used */
    struct orchestra o;
    struct orchestra_state state;
    bool warned; /* we have warned that the state cannot be saved */
    char *state_dir;
    char *branch;         /* pattern of branch names */
    bool *wanted;         /* per task */
    struct left_run left; /* an earlier run that we resume, or none */
    struct plan_file was; /* its plan */
};

static void update_state(struct session *s, bool now)
{
    struct err err = {0};
    if (orchestra_state_update(&s->state, now, &err) && !s->warned) {
        print_warning("cannot save the run's state: %s", err.msg);
        s->warned = true;
    }
}

static void on_event(void *ctx, const struct event *ev)
{
    struct session *s = ctx;
    orchestra_event(&s->o, ev);
    if (ev->kind == EV_TASK_LANDED || ev->kind == EV_TASK_DONE || s->state.dirty)
        update_state(s, false);
}

static void warn_of_leftovers(void *ctx, const struct left_remains *left)
{
    (void)ctx;
    print_warning("run %s of '%s' was killed and left behind:", left->run, left->plan);
    for (size_t i = 0; i < left->things->n; i++)
        (void)fprintf(stderr, "  %s\n", left->things->v[i]);
    (void)fprintf(stderr, "  to save and remove the leftovers: anabranch clean --run %s\n",
                  left->run);
}

/* Resumes a killed run, so that it leaves nothing behind and its tasks do not start twice. False
 * if there is none that we can resume. */
static bool resume_killed_run(struct session *s, const struct run_options *ro)
{
    struct run_options opts = *ro;
    struct resume_options resume = {.was = &s->was};
    autoproblems struct problems ps;
    struct err err = {0};
    left_run_find(&s->left, s->state_dir, branch_prefix, s->opts->manifest);
    if (s->left.lock < 0)
        return false;
    problems_init(&ps, "plan.json");
    opts.branch = s->left.saved.options.branch;
    opts.wanted = NULL;
    if (run_folder_plan(&s->left.saved, s->left.dir, &s->was, &ps) == 0 &&
        leftover_processes_end_run(s->left.saved.run, PATIENCE_MS, NULL, &err) == 0 &&
        run_reopen(&s->o.run, s->o.pf, &s->left.saved, &opts, &resume, &s->left.lock, &err) == 0)
        return true;
    print_warning("cannot resume run %s: %s", s->left.saved.run,
                  *err.msg ? err.msg : "its plan is damaged");
    return false;
}

/* Excludes tasks that an earlier run has finished. */
static void exclude_finished_tasks(struct session *s)
{
    for (size_t t = 0; t < s->o.pf->plan.task_count; t++) {
        s->o.tasks[t].resumed = s->state.done[t];
        s->wanted[t] = !s->state.done[t];
    }
}

static int open_run(struct session *s, const struct run_options *ro, struct err *err)
{
    struct err why = {0};
    bool resumes = s->opts->resume && orchestra_state_load(&s->state, &why) == 0;
    if (s->opts->resume && !resumes)
        print_warning("%s", why.msg);
    if (resumes && resume_killed_run(s, ro)) {
        orchestra_recall(&s->state, &s->o);
        exclude_finished_tasks(s);
        return 0;
    }
    exclude_finished_tasks(s);
    if (left_each(&s->o.pf->repo, s->state_dir, branch_prefix, warn_of_leftovers, s, &why))
        print_warning("%s", why.msg);
    return run_open(&s->o.run, s->o.pf, s->opts->manifest, ro, err);
}

static void print_tails(const struct session *s)
{
    for (uint32_t t = 0; t < s->o.pf->plan.task_count; t++) {
        if (!orchestra_timed_out(&s->o, t))
            continue;
        autobuf struct buf out = BUF_INIT;
        orchestra_tail(&s->o, t, &out);
        (void)fputs(out.s, stderr);
    }
}

static void print_kept_worktrees(const struct session *s)
{
    for (uint32_t t = 0; t < s->o.pf->plan.task_count; t++) {
        const char *path = run_task(s->o.run, t).workspace;
        if (path)
            (void)fprintf(stderr, "[%s] worktree kept: %s\n", s->o.pf->plan.tasks[t].id, path);
    }
}

/* Reports a failure that the agent did not cause; true if there was one. */
static bool report_runner_error(const struct session *s, uint32_t t)
{
    struct task_status st = run_task(s->o.run, t);
    const char *id = s->o.pf->plan.tasks[t].id;
    if (st.state == TASK_CONFLICTED) {
        (void)runner_error("merge conflict: task '%s' (branch %s): %s", id, st.branch, st.reason);
        autobuf struct buf advice = BUF_INIT;
        automergeplace struct merge_place place = {.base = run_base(s->o.run)};
        merge_place_find(&place, &s->o.pf->repo);
        merge_place_add(&place, st.branch, &advice);
        (void)fprintf(stderr, "  to resolve it: %s\n", advice.s);
        return true;
    }
    bool ours = st.failure == FAILURE_INTERNAL || st.failure == FAILURE_STOPPED ||
                (st.failure == FAILURE_SETUP && !st.exit_code);
    if (st.state != TASK_FAILED || !ours)
        return false;
    (void)runner_error("task '%s': %s", id, st.reason);
    return true;
}

static int exit_code(const struct session *s)
{
    struct run_result r = run_result(s->o.run);
    int code = r.failed || r.skipped ? EXIT_TASK : EXIT_OK;
    if (r.signal)
        return 128 + r.signal;
    for (uint32_t t = 0; t < s->o.pf->plan.task_count; t++) {
        if (report_runner_error(s, t))
            code = EXIT_ENV;
    }
    if (!r.published && r.result) {
        code = runner_error("the checkout of %s could not follow; all landed work is on %s",
                            run_base(s->o.run), r.result);
        (void)fprintf(stderr, "  to merge it: %s\n", r.advice);
    }
    return code;
}

static int finish_run(struct session *s)
{
    autobuf struct buf out = BUF_INIT;
    struct err err = {0};
    s->o.finished = clock_wall();
    if (orchestra_load_idle(&s->o, &err))
        print_warning("%s", err.msg);
    orchestra_summary(&s->o, s->opts->quiet, &out);
    (void)cli_print(out.s, out.len);
    print_tails(s);
    print_kept_worktrees(s);
    int code = exit_code(s);
    if (s->opts->report && orchestra_report(&s->o, s->opts->report, &err))
        code = runner_error("%s", err.msg);
    return code;
}

static int execute_run(struct session *s, const struct run_options *ro)
{
    bool draw = !s->opts->no_dashboard && run_view_can_draw(stderr);
    struct run_view view;
    struct err err = {0};
    if (open_run(s, ro, &err)) {
        dropin_cut_option(&err);
        return runner_error("%s", err.msg);
    }
    run_observe(s->o.run, on_event, s);
    run_view_begin(&view, draw ? VIEW_LIVE : VIEW_LINES, stderr, s->o.run, s->o.pf, ro->wanted);
    if (s->logs)
        make_hidden_folder(s->logs);
    update_state(s, true);
    int rc = run_go(s->o.run, &err);
    run_view_end(&view);
    int code = finish_run(s);
    if (rc)
        code = runner_error("%s", err.msg);
    if (code == EXIT_OK && orchestra_state_remove(&s->state, &err))
        print_warning("%s", err.msg);
    else if (code != EXIT_OK)
        update_state(s, true);
    run_close(s->o.run);
    return code;
}

/* Branch names contain eight random digits, so that no other run has them. */
static void choose_names(struct session *s)
{
    const struct plan_file *pf = s->o.pf;
    uint32_t random = 0;
    if (getentropy(&random, sizeof(random)) < 0)
        random = (uint32_t)clock_mono();
    s->branch = mem_printf("%s{id}-%08x", branch_prefix, random);
    s->state_dir =
        pf->repo.root ? state_path(pf->repo.common) : mem_printf("%s/.anabranch", pf->project);
    s->wanted = mem_array(pf->plan.task_count, sizeof(*s->wanted));
}

static void session_done(struct session *s)
{
    left_run_done(&s->left);
    plan_file_close(&s->was);
    free(s->logs);
    free(s->state_dir);
    free(s->branch);
    free(s->wanted);
}

static int prepare_and_run(struct session *s)
{
    static const char *const write_env[] = {"PO_WORKTREE_GUARD=1", NULL};
    struct plan_file *pf = s->o.pf;
    find_repository(pf);
    orchestra_settle(&pf->plan);
    choose_names(s);
    autofree char *claude = make_absolute(s->opts->claude);
    struct run_options ro = {
        .workers = s->opts->workers,
        .wanted = s->wanted,
        .engine_exe = claude,
        .keep = keeps_worktrees(),
        .self = self_path(),
        .log_dir = s->opts->no_log ? NULL : s->opts->log_dir,
        .own_file = s->state.path,
        .no_log = s->opts->no_log,
        .branch = s->branch,
        .merge_subject = "Merge parallel-orchestra task {id}",
        .write_env = write_env,
        .write_at_root = true,
        .read_in_place = true,
        .silent_ok = true,
        .unchanged_ok = true,
        .judge = orchestra_judge,
        .blame = orchestra_blame,
        .judge_ctx = &s->o,
    };
    if (!ro.log_dir && !ro.no_log)
        ro.log_dir = s->logs = log_folder(pf);
    if (!dropin_finds_claude(&pf->plan, claude)) /* the engine says this too, in other words */
        return runner_error("claude executable not found: '%s' (see --claude-exe)",
                            claude ? claude : "claude");
    return execute_run(s, &ro);
}

/* The target of a symlink: that tool looked for everything beside the file itself. NULL: no link.
 */
static char *follow_link(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISLNK(st.st_mode) ? realpath(path, NULL) : NULL;
}

int orchestra_run(const struct orchestra_options *opts)
{
    struct orchestra_options o = *opts;
    autofree char *target = follow_link(o.manifest);
    struct session s = {.opts = &o, .left = {.lock = -1}};
    struct err err = {0};
    autoplan struct plan_file pf;
    autobuf struct buf out = BUF_INIT;
    int code = EXIT_OK;
    if (strcmp(o.manifest, "-") == 0) /* that tool reads a file of this name */
        o.manifest = "./-";
    else if (target)
        o.manifest = target;
    if (open_manifest(&pf, o.manifest))
        return EXIT_USAGE;
    orchestra_init(&s.o, &pf, o.manifest);
    if (o.dry_run) {
        orchestra_dry_run(&s.o, o.workers, &out);
        code = cli_print(out.s, out.len);
    } else if (o.report && orchestra_report_check(o.report, &err)) {
        code = runner_error("%s", err.msg);
    } else {
        code = orchestra_state_init(&s.state, &s.o, &err) ? runner_error("%s", err.msg)
                                                          : prepare_and_run(&s);
        orchestra_state_done(&s.state);
    }
    orchestra_done(&s.o);
    session_done(&s);
    return code;
}
