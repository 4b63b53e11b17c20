#include "cli/run/resume_call.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/hash.h"
#include "clean/unbegun_runs.h"
#include "cli/common/live_run.h"
#include "cli/common/plan_opts.h"
#include "cli/frame/cli.h"
#include "git/state_paths.h"
#include "run/resume/decide.h"
#include "sys/fs/file.h"
#include "sys/guard/leftover_processes.h"
#include "sys/own_fd.h"
#include "sys/self_exe.h"
#include "view/resume_text.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { PATIENCE_MS = 10000 }; /* a little more than a warden has */
enum { PLAN_MAX = 1 << 30 };

/* --- which one ---------------------------------------------------------------------------- */

struct row {
    char *id;
    struct proc_id engine; /* 0: only its folder is known */
    bool well;
};

struct rows {
    VEC(struct row) list; /* newest first */
};

static bool take_row(void *ctx, const struct store_run *run)
{
    struct rows *rows = ctx;
    bool well = strcmp(run->state, "finished") == 0 && run->exit_code == EXIT_OK;
    vec_push(&rows->list, (struct row){mem_str(run->id), {(pid_t)run->pid, run->pid_start}, well});
    return true;
}

/* Newest first: an id begins with the time; of two rows with one id the store's. */
static int compare_rows(const void *a, const void *b)
{
    const struct row *ra = a, *rb = b;
    int order = strcmp(rb->id, ra->id);
    return order ? order : (rb->engine.pid > ra->engine.pid) - (rb->engine.pid < ra->engine.pid);
}

/* A run that died while its beginning was written has only its folder. */
static void add_folders(const struct lookup *look, struct rows *rows)
{
    autofree char *path = runs_path(look->state_dir);
    DIR *dir = opendir(path);
    for (struct dirent *d; dir && (d = readdir(dir));) {
        autofree char *file = mem_printf("%s/%s/run.json", path, d->d_name);
        if (access(file, F_OK) == 0)
            vec_push(&rows->list, (struct row){.id = mem_str(d->d_name)});
    }
    if (dir)
        (void)closedir(dir);
}

static int read_rows(const struct lookup *look, struct rows *rows, struct err *err)
{
    if (store_each_run(look->store, take_row, rows, err))
        return -1;
    add_folders(look, rows);
    if (rows->list.n)
        qsort(rows->list.v, rows->list.n, sizeof(*rows->list.v), compare_rows);
    size_t kept = 0;
    for (size_t i = 0; i < rows->list.n; i++) {
        if (kept && strcmp(rows->list.v[kept - 1].id, rows->list.v[i].id) == 0)
            free(rows->list.v[i].id);
        else
            rows->list.v[kept++] = rows->list.v[i];
    }
    rows->list.n = kept;
    return 0;
}

static void rows_done(struct rows *rows)
{
    for (size_t i = 0; i < rows->list.n; i++)
        free(rows->list.v[i].id);
    vec_done(&rows->list);
}

/* Whether a run was kept so that it could be gone on with by us; and its lock, -1 where it lives.
 */
static bool can_be_resumed(const struct lookup *look, const struct row *row, int *ret_lock)
{
    autofree char *dir = run_path(look->state_dir, row->id);
    autosaved struct run_folder saved;
    return run_folder_load(&saved, dir, NULL) == 0 && !saved.dropin &&
           run_folder_lock_after(dir, &row->engine, ret_lock, NULL) == 0;
}

/* A run that lives is asked to do it; whether it was, and has said something. */
static bool ask_alive(const char *dir, const struct resume_call *rc, int *ret_lock, int *ret_code)
{
    struct arena a = {0};
    struct node *request = node_new_map(&a);
    node_put_string(&a, request, "verb", rc->say ? "say" : "retry");
    node_put_string(&a, request, "task", rc->task);
    node_put_string(&a, request, "text", rc->say);
    if (rc->fresh)
        node_put_bool(&a, request, "fresh", true);
    bool answered = live_run_try(dir, request, ret_lock, ret_code);
    arena_done(&a);
    return answered;
}

static int refuse_alive(const struct row *row)
{
    return cli_fail(EXIT_USAGE, "run %s is still going on, as process %lld", row->id,
                    (long long)row->engine.pid);
}

/* The newest one that did not finish well; one that lives is nobody's business but its own. */
static int choose(const struct lookup *look, const struct rows *rows, char **ret_id, int *ret_lock)
{
    const struct row *alive = NULL;
    for (size_t i = 0; i < rows->list.n; i++) {
        const struct row *row = &rows->list.v[i];
        if (row->well || !can_be_resumed(look, row, ret_lock))
            continue;
        if (*ret_lock >= 0) {
            *ret_id = mem_str(row->id);
            return EXIT_OK;
        }
        alive = alive ? alive : row;
    }
    return alive ? refuse_alive(alive) : EXIT_OK;
}

/* The one that a word stands for, as for all commands; NULL, cli_fail_by, where there is none. */
static const struct row *match(struct lookup *look, const struct rows *rows, const char *word)
{
    const struct row *found = NULL;
    size_t n = 0;
    for (size_t i = 0; *word && i < rows->list.n; i++) {
        if (strncmp(rows->list.v[i].id, word, strlen(word)) == 0 && n++ == 0)
            found = &rows->list.v[i];
    }
    if (strcmp(word, "last") == 0 && rows->list.n)
        return &rows->list.v[0];
    if (n == 1)
        return found;
    autoreport struct report r = {0};
    (void)lookup_run(look, word, &r); /* it has the words for it */
    return NULL;
}

static int find(struct lookup *look, const struct rows *rows, const char *word,
                const struct resume_call *rc, char **ret_id, int *ret_lock)
{
    struct err err = {0};
    const struct row *row = match(look, rows, word);
    if (!row)
        return EXIT_USAGE;
    autofree char *dir = run_path(look->state_dir, row->id);
    if (access(dir, F_OK) < 0)
        return cli_fail(EXIT_USAGE, "cannot resume run %s: its folder is gone; run its plan again",
                        row->id);
    if (run_folder_lock_after(dir, &row->engine, ret_lock, &err))
        return cli_fail_by(&err);
    int code = EXIT_OK;
    if (*ret_lock < 0 && !rc->task)
        return refuse_alive(row);
    if (*ret_lock < 0 && ask_alive(dir, rc, ret_lock, &code))
        return code;
    *ret_id = mem_str(row->id);
    return EXIT_OK;
}

char *resume_run_of(struct lookup *look, const char *plan)
{
    own_cleanup(rows_done) struct rows rows = {0};
    autofree char *path = realpath(plan, NULL);
    if (!path || read_rows(look, &rows, NULL))
        return NULL;
    for (size_t i = 0; i < rows.list.n; i++) {
        autofree char *dir = run_path(look->state_dir, rows.list.v[i].id);
        autosaved struct run_folder saved;
        bool kept = run_folder_load(&saved, dir, NULL) == 0 && !saved.dropin && saved.plan_file;
        autofree char *its = kept ? realpath(saved.plan_file, NULL) : NULL;
        if (its && strcmp(its, path) == 0)
            return mem_str(rows.list.v[i].id);
    }
    return NULL;
}

/* --- the plan ----------------------------------------------------------------------------- */

/* Streams go on as they were divided: to divide an edited plan again would do batches twice. */
static void tell_of_edit(const struct run_folder *saved)
{
    autobuf struct buf text = BUF_INIT;
    char digest[HASH_SHA256_DIGITS + 1];
    if (!saved->digest || !saved->plan_file ||
        file_read_input(saved->plan_file, PLAN_MAX, &text, NULL))
        return;
    sha256_hex(text.s, text.len, digest);
    if (strcmp(digest, saved->digest) != 0)
        (void)fprintf(stderr, "anabranch: '%s' was edited since: its streams go on as they began\n",
                      saved->plan);
}

/* The file that has the plan now; NULL where the plan as it was run is to be used. */
static const char *plan_now(const struct run_folder *saved, const struct resume_call *rc)
{
    if (rc->saved)
        return NULL;
    if (saved->options.derived) {
        tell_of_edit(saved);
        return NULL;
    }
    if (rc->plan)
        return rc->plan;
    if (!saved->plan_file || access(saved->plan_file, F_OK) == 0 || errno != ENOENT)
        return saved->plan_file;
    (void)fprintf(stderr, "anabranch: '%s' is gone: the plan is taken as it was run\n",
                  saved->plan);
    return NULL;
}

static int open_was(const struct run_folder *saved, const char *dir, struct plan_file *pf)
{
    autoproblems struct problems ps = {0};
    problems_init(&ps, "plan.json");
    if (run_folder_plan(saved, dir, pf, &ps) == 0)
        return EXIT_OK;
    plan_print_problems(&ps);
    return EXIT_USAGE;
}

static int open_now(const char *path, const struct resume_call *rc, struct plan_file *pf)
{
    autoproblems struct problems ps = {0};
    problems_init(&ps, path);
    int failed = plan_file_open(pf, path, &rc->doc, &ps);
    plan_print_problems(&ps);
    return failed ? cli_fail(EXIT_USAGE,
                             "the plan was edited since; --saved goes on with it as it was")
                  : EXIT_OK;
}

/* --- going on ----------------------------------------------------------------------------- */

static void set_wanted(const struct run_folder *saved, const struct plan *plan, bool *wanted)
{
    for (size_t i = 0; i < saved->only.n; i++) {
        const struct task *t = plan_find(plan, saved->only.v[i]);
        if (t)
            wanted[t->index] = true;
    }
}

static void show(const struct run *run, const struct plan_file *pf, const struct resume_call *rc)
{
    autobuf struct buf out = BUF_INIT;
    struct arena a = {0};
    if (rc->call->json && rc->dry_run) {
        doc_write_line(&out, resume_json(run, pf, &a));
        buf_addch(&out, '\n');
    } else if (!rc->call->json && !rc->call->quiet) {
        resume_text(run, pf, &out);
    }
    arena_done(&a);
    (void)cli_print(out.s, out.len); /* the end of the program tells where that fails */
}

static int go(struct run *run, const struct plan_file *pf, const struct resume_call *rc,
              const bool *wanted)
{
    autobuf struct buf out = BUF_INIT;
    bool nothing = run_resumed(run)->nothing;
    if (!nothing || rc->call->json)
        show(run, pf, rc);
    if (nothing && !rc->call->json)
        buf_addf(&out, "Run %s has finished: nothing is left to do\n", run_id(run));
    if (nothing)
        return cli_print(out.s, out.len);
    return rc->dry_run ? EXIT_OK : run_call_go(rc->call, run, pf, wanted);
}

static int open_and_go(struct plan_file *pf, const struct plan_file *was,
                       const struct run_folder *saved, const struct resume_call *rc, int *lock)
{
    struct run_options ro = saved->options;
    struct resume_options resume = {.was = was == pf ? NULL : was,
                                    .plan = rc->plan,
                                    .keep_failed = rc->keep_failed,
                                    .task = rc->task,
                                    .say = rc->say,
                                    .fresh = rc->fresh,
                                    .look_only = rc->dry_run};
    autofree bool *wanted = mem_array(pf->plan.task_count, sizeof(*wanted));
    struct err err = {0};
    struct run *run;
    ro.workers = rc->workers ? rc->workers : ro.workers;
    ro.engine_exe = rc->engine_exe ? rc->engine_exe : ro.engine_exe;
    ro.keep = ro.keep || rc->keep;
    ro.self = self_path();
    if (run_call_check(rc->call, rc->cmd, &ro) != EXIT_OK)
        return EXIT_USAGE;
    set_wanted(saved, &pf->plan, wanted);
    ro.wanted = saved->only.n ? wanted : NULL;
    if (run_reopen(&run, pf, saved, &ro, &resume, lock, &err))
        return cli_fail_by(&err);
    int code = go(run, pf, rc, rc->task ? run_resumed(run)->wanted : ro.wanted);
    run_close(run);
    return code;
}

static int with_plan(const struct run_folder *saved, const char *dir, const struct resume_call *rc,
                     int *lock)
{
    autoplan struct plan_file was = {0}, now = {0};
    const char *path = plan_now(saved, rc);
    int code = open_was(saved, dir, &was);
    struct err err = {0};
    if (code == EXIT_OK && path)
        code = open_now(path, rc, &now);
    if (code != EXIT_OK)
        return code;
    if (!path && run_folder_recall(saved, &rc->doc, &was.plan, &err))
        return cli_fail_by(&err);
    return open_and_go(path ? &now : &was, &was, saved, rc, lock);
}

static int resume_locked(const struct lookup *look, const char *id, const struct resume_call *rc,
                         int *lock)
{
    autofree char *dir = run_path(look->state_dir, id);
    autosaved struct run_folder saved;
    struct err err = {0};
    bool loaded = run_folder_load(&saved, dir, &err) == 0;
    if (!loaded || run_folder_check(look->store, id, dir, &err))
        return cli_fail(EXIT_USAGE, "cannot resume run %s: %s", id, err.msg);
    if (saved.dropin)
        return cli_fail(EXIT_USAGE, "run %s was started as %s, and is gone on with by its --resume",
                        id, saved.dropin);
    if (saved.options.derived && rc->plan)
        return cli_fail(EXIT_USAGE,
                        "run %s is one of streams, which go on as they began: --plan is not for it",
                        id);
    if (rc->dry_run ? leftover_processes_await_run(id, PATIENCE_MS, &err)
                    : leftover_processes_end_run(id, PATIENCE_MS, NULL, &err))
        return cli_fail_by(&err);
    return with_plan(&saved, dir, rc, lock);
}

/* Runs of which there is nothing to resume; *ret_named is whether the word stands for one. */
static int tell_unbegun(const struct lookup *look, const char *word, const struct resume_call *rc,
                        bool *ret_named, struct err *err)
{
    autostrv struct strv ids = {0};
    int failed = unbegun_remove_all(look->store, look->state_dir, rc->dry_run, &ids, err);
    for (size_t i = 0; i < ids.n; i++) {
        *ret_named |= word && *word && strncmp(ids.v[i], word, strlen(word)) == 0;
        (void)fprintf(stderr,
                      "anabranch: run %s was killed before it began: there is nothing to resume, "
                      "and its folder %s\n",
                      ids.v[i], rc->dry_run ? "would be removed" : "is removed");
    }
    return failed;
}

int resume_call(struct lookup *look, const char *word, const struct resume_call *rc)
{
    bool named = false;
    own_cleanup(rows_done) struct rows rows = {0};
    autofree char *id = NULL;
    autoclose int lock = -1;
    struct err err = {0};
    if (tell_unbegun(look, word, rc, &named, &err) || read_rows(look, &rows, &err))
        return cli_fail_by(&err);
    if (named)
        return EXIT_OK;
    int code = word ? find(look, &rows, word, rc, &id, &lock) : choose(look, &rows, &id, &lock);
    if (code != EXIT_OK || (rc->task && !id)) /* the run itself does it */
        return code;
    if (id)
        return resume_locked(look, id, rc, &lock);
    static const char none[] = "Nothing to resume: every run has finished\n";
    return cli_print(none, rc->call->json ? 0 : strlen(none));
}
