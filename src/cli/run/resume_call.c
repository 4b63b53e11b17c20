#include "cli/run/resume_call.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/hash.h"
#include "base/text/text.h"
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

enum { PATIENCE_MS = 10000 }; /* a little longer than the warden waits */
enum { PLAN_MAX = 1 << 30 };

struct row {
    char *id;
    struct proc_id engine; /* 0: we know only its folder */
    bool succeeded;
    bool is_open; /* it runs, or was killed */
};

struct rows {
    VEC(struct row) list; /* newest first */
};

static bool add_row(void *ctx, const struct store_run *run)
{
    struct rows *rows = ctx;
    bool succeeded = strcmp(run->state, "finished") == 0 && run->exit_code == EXIT_OK;
    vec_push(&rows->list, (struct row){mem_str(run->id),
                                       {(pid_t)run->pid, run->pid_start},
                                       succeeded,
                                       strcmp(run->state, "running") == 0});
    return true;
}

/* Newest first: an id begins with the time. If two rows have one id, the store's row comes first.
 */
static int compare_rows(const void *a, const void *b)
{
    const struct row *ra = a, *rb = b;
    int order = strcmp(rb->id, ra->id);
    return order ? order : (rb->engine.pid > ra->engine.pid) - (rb->engine.pid < ra->engine.pid);
}

/* A run that died before the store recorded it has only its folder. */
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
    if (store_each_run(look->store, add_row, rows, err))
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

/* True if we can resume the run: its folder was kept, and it belongs to no drop-in. *ret_lock is
 * its lock, or -1 if the run is alive. */
static bool try_lock_run(const struct lookup *look, const struct row *row, int *ret_lock)
{
    autofree char *dir = run_path(look->state_dir, row->id);
    autosaved struct run_folder saved;
    return run_folder_load(&saved, dir, NULL) == 0 && !saved.dropin &&
           run_folder_lock_after(dir, &row->engine, ret_lock, NULL) == 0;
}

/* Sends the request to a live run. True if it answered; false if it has ended meanwhile. */
static bool send_to_live_run(const char *dir, const struct resume_call *call, int *ret_lock,
                             int *ret_code)
{
    autoarena struct arena a = {0};
    struct node *request = node_new_map(&a);
    node_put_string(&a, request, "verb", call->say ? "say" : "retry");
    node_put_string(&a, request, "task", call->task);
    node_put_string(&a, request, "text", call->say);
    if (call->fresh)
        node_put_bool(&a, request, "fresh", true);
    bool answered = live_run_try(dir, request, ret_lock, ret_code);
    return answered;
}

static int fail_live_run(const struct row *row)
{
    return cli_fail(EXIT_USAGE, "run %s is still running, as process %lld", row->id,
                    (long long)row->engine.pid);
}

/* Chooses the newest run that did not succeed. We pass over a live run, and refuse if there is no
 * other. */
static int choose_newest(const struct lookup *look, const struct rows *rows, char **ret_id,
                         int *ret_lock)
{
    const struct row *alive = NULL;
    for (size_t i = 0; i < rows->list.n; i++) {
        const struct row *row = &rows->list.v[i];
        if (row->succeeded || !try_lock_run(look, row, ret_lock))
            continue;
        if (*ret_lock >= 0) {
            *ret_id = mem_str(row->id);
            return EXIT_OK;
        }
        alive = alive ? alive : row;
    }
    return alive ? fail_live_run(alive) : EXIT_OK;
}

/* Finds the run that `word` names, as lookup_run() does. Prints why and returns NULL if there is
 * none. */
static const struct row *match_id(struct lookup *look, const struct rows *rows, const char *word)
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
    (void)lookup_run(look, word, &r); /* prints the message */
    return NULL;
}

static int find_run(struct lookup *look, const struct rows *rows, const char *word,
                    const struct resume_call *call, char **ret_id, int *ret_lock)
{
    struct err err = {0};
    const struct row *row = match_id(look, rows, word);
    if (!row)
        return EXIT_USAGE;
    autofree char *dir = run_path(look->state_dir, row->id);
    if (access(dir, F_OK) < 0)
        return cli_fail(EXIT_USAGE, "cannot resume run %s: its folder is gone; run its plan again",
                        row->id);
    if (run_folder_lock_after(dir, &row->engine, ret_lock, &err))
        return cli_fail_by(&err);
    int code = EXIT_OK;
    if (*ret_lock < 0 && !call->task)
        return fail_live_run(row);
    if (*ret_lock < 0 && send_to_live_run(dir, call, ret_lock, &code))
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
        autofree char *file = kept ? realpath(saved.plan_file, NULL) : NULL;
        if (file && strcmp(file, path) == 0)
            return mem_str(rows.list.v[i].id);
    }
    return NULL;
}

/* Streams keep their division: to divide an edited plan again would do batches twice. */
static void warn_of_edit(const struct run_folder *saved)
{
    autobuf struct buf text = BUF_INIT;
    char digest[HASH_SHA256_DIGITS + 1];
    if (!saved->digest || !saved->plan_file ||
        file_read_input(saved->plan_file, PLAN_MAX, &text, NULL))
        return;
    sha256_hex(text.s, text.len, digest);
    if (strcmp(digest, saved->digest) != 0)
        (void)fprintf(stderr,
                      "anabranch: '%s' was edited since: its streams stay as they were divided\n",
                      saved->plan);
}

/* Finds the plan's present file. NULL: use the saved plan. */
static const char *find_plan_file(const struct run_folder *saved, const struct resume_call *call)
{
    if (call->saved)
        return NULL;
    if (saved->options.derived) {
        warn_of_edit(saved);
        return NULL;
    }
    if (call->plan)
        return call->plan;
    if (!saved->plan_file || access(saved->plan_file, F_OK) == 0 || errno != ENOENT)
        return saved->plan_file;
    (void)fprintf(stderr, "anabranch: '%s' is gone: using the saved plan of the run\n",
                  saved->plan);
    return NULL;
}

static int open_saved_plan(const struct run_folder *saved, const char *dir, struct plan_file *pf)
{
    autoproblems struct problems ps = {0};
    problems_init(&ps, "plan.json");
    if (run_folder_plan(saved, dir, pf, &ps) == 0)
        return EXIT_OK;
    plan_print_problems(&ps);
    return EXIT_USAGE;
}

static int open_plan_file(const char *path, const struct resume_call *call, struct plan_file *pf)
{
    autoproblems struct problems ps = {0};
    problems_init(&ps, path);
    int failed = plan_file_open(pf, path, &call->doc, &ps);
    plan_print_problems(&ps);
    return failed ? cli_fail(EXIT_USAGE,
                             "the plan was edited since; --saved uses the plan as it was run")
                  : EXIT_OK;
}

static void set_wanted(const struct run_folder *saved, const struct plan *plan, bool *wanted)
{
    for (size_t i = 0; i < saved->only.n; i++) {
        const struct task *t = plan_find(plan, saved->only.v[i]);
        if (t)
            wanted[t->index] = true;
    }
}

static void print_decisions(const struct run *run, const struct plan_file *pf,
                            const struct resume_call *call)
{
    autobuf struct buf out = BUF_INIT;
    autoarena struct arena a = {0};
    if (call->run_call->json && call->dry_run)
        doc_write_whole_line(&out, resume_json(run, pf, &a));
    else if (!call->run_call->json && !call->run_call->quiet)
        resume_text(run, pf, &out);
    (void)cli_print(out.s, out.len); /* output_end() reports a failure */
}

static int show_and_run(struct run *run, const struct plan_file *pf, const struct resume_call *call,
                        const bool *wanted)
{
    autobuf struct buf out = BUF_INIT;
    bool nothing = run_resumed(run)->nothing;
    if (!nothing || call->run_call->json)
        print_decisions(run, pf, call);
    if (nothing && !call->run_call->json)
        buf_addf(&out, "Run %s has finished: nothing is left to do\n", run_id(run));
    if (nothing)
        return cli_print(out.s, out.len);
    return call->dry_run ? EXIT_OK : run_call_go(call->run_call, run, pf, wanted);
}

static int reopen_and_run(struct plan_file *pf, struct plan_file *was,
                          const struct run_folder *saved, const struct resume_call *call, int *lock)
{
    struct run_options run_options = saved->options;
    struct resume_options resume = {.was = was == pf ? NULL : was,
                                    .plan = call->plan,
                                    .keep_failed = call->keep_failed,
                                    .task = call->task,
                                    .say = call->say,
                                    .fresh = call->fresh,
                                    .look_only = call->dry_run};
    autofree bool *wanted = mem_array(pf->plan.task_count, sizeof(*wanted));
    struct err err = {0};
    struct run *run;
    run_options.workers = call->workers ? call->workers : run_options.workers;
    run_options.engine_exe = call->engine_exe ? call->engine_exe : run_options.engine_exe;
    run_options.keep = run_options.keep || call->keep;
    run_options.self = self_path();
    if (run_call_check(call->run_call, call->cmd, &run_options) != EXIT_OK)
        return EXIT_USAGE;
    set_wanted(saved, &pf->plan, wanted);
    run_options.wanted = saved->only.n ? wanted : NULL;
    if (run_reopen(&run, pf, saved, &run_options, &resume, lock, &err))
        return cli_fail_by(&err);
    int code =
        show_and_run(run, pf, call, call->task ? run_resumed(run)->wanted : run_options.wanted);
    run_close(run);
    return code;
}

static int resume_with_plans(const struct run_folder *saved, const char *dir,
                             const struct resume_call *call, int *lock)
{
    autoplan struct plan_file was = {0}, now = {0};
    const char *path = find_plan_file(saved, call);
    int code = open_saved_plan(saved, dir, &was);
    struct err err = {0};
    if (code == EXIT_OK && path)
        code = open_plan_file(path, call, &now);
    if (code != EXIT_OK)
        return code;
    if (!path && run_folder_recall(saved, &call->doc, &was.plan, &err))
        return cli_fail_by(&err);
    return reopen_and_run(path ? &now : &was, &was, saved, call, lock);
}

static const char *plan_of(const struct run_folder *saved)
{
    return saved->plan_file ? saved->plan_file : saved->plan;
}

static int resume_locked(const struct lookup *look, const char *id, const struct resume_call *call,
                         int *lock)
{
    autofree char *dir = run_path(look->state_dir, id);
    autosaved struct run_folder saved;
    struct err err = {0};
    bool loaded = run_folder_load(&saved, dir, &err) == 0;
    if (!loaded || run_folder_check(look->store, id, dir, &err))
        return cli_fail(EXIT_USAGE, "cannot resume run %s: %s", id, err.msg);
    if (saved.dropin)
        return cli_fail(EXIT_USAGE, "run %s was started as %s: resume it with %s run --resume %s",
                        id, saved.dropin, saved.dropin, plan_of(&saved));
    if (saved.options.derived && call->plan)
        return cli_fail(
            EXIT_USAGE,
            "run %s is divided into streams, which stay as they are: it does not take --plan", id);
    if (call->dry_run ? leftover_processes_await_run(id, PATIENCE_MS, &err)
                      : leftover_processes_end_run(id, PATIENCE_MS, NULL, &err))
        return cli_fail_by(&err);
    return resume_with_plans(&saved, dir, call, lock);
}

/* Removes runs that were killed before they began. *ret_named is true if `word` names one of them.
 */
static int remove_unbegun_runs(const struct lookup *look, const char *word,
                               const struct resume_call *call, bool *ret_named, struct err *err)
{
    autostrv struct strv ids = {0};
    int failed = unbegun_remove_all(look->store, look->state_dir, call->dry_run, &ids, err);
    for (size_t i = 0; i < ids.n; i++) {
        *ret_named |= word && *word && strncmp(ids.v[i], word, strlen(word)) == 0;
        (void)fprintf(stderr,
                      "anabranch: run %s was killed before it began: there is nothing to resume, "
                      "and its folder %s\n",
                      ids.v[i], call->dry_run ? "would be removed" : "was removed");
    }
    return failed;
}

/* Drop-ins resume their own runs. */
static void describe_nothing(const struct lookup *look, const struct rows *rows, struct buf *out)
{
    for (size_t i = 0; i < rows->list.n; i++) {
        const struct row *row = &rows->list.v[i];
        autofree char *dir = run_path(look->state_dir, row->id);
        autosaved struct run_folder saved = {0};
        if (row->is_open && run_folder_load(&saved, dir, NULL) == 0 && saved.dropin) {
            buf_addf(out, "Nothing to resume here: run %s is resumed with %s run --resume ",
                     row->id, saved.dropin);
            text_add_harmless(out, plan_of(&saved));
            buf_addch(out, '\n');
            return;
        }
    }
    buf_addstr(out, "Nothing to resume: every run has finished\n");
}

int resume_call(struct lookup *look, const char *word, const struct resume_call *call)
{
    bool named = false;
    own_cleanup(rows_done) struct rows rows = {0};
    autofree char *id = NULL;
    autoclose int lock = -1;
    struct err err = {0};
    if (remove_unbegun_runs(look, word, call, &named, &err) || read_rows(look, &rows, &err))
        return cli_fail_by(&err);
    if (named)
        return EXIT_OK;
    int code = word ? find_run(look, &rows, word, call, &id, &lock)
                    : choose_newest(look, &rows, &id, &lock);
    if (code != EXIT_OK || (call->task && !id)) /* failed, or the live run did it */
        return code;
    if (id)
        return resume_locked(look, id, call, &lock);
    autobuf struct buf none = BUF_INIT;
    describe_nothing(look, &rows, &none);
    return cli_print(none.s, call->run_call->json ? 0 : none.len);
}
