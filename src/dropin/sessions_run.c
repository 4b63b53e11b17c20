/*
 * parallel-sessions: fanout and cleanup.
 */
#include "base/mem.h"
#include "base/text/text.h"
#include "cli/frame/cli.h"
#include "dropin/dropin.h"
#include "dropin/sessions.h"
#include "sys/interrupt.h"
#include "threads/cleanup/cleanup.h"
#include "threads/fanout/fanout.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_ERROR = 1 };

int sessions_error(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    cli_say("error: ", fmt, ap);
    va_end(ap);
    return EXIT_ERROR;
}

static int print_buffer(const struct buf *out)
{
    return cli_print(out->s, out->len);
}

int sessions_repository(struct git_repo *repo, struct err *err)
{
    if (git_open(repo, ".", err))
        return -1;
    return repo->root ? 0 : err_set(err, ERR_ENV, "not a git repository");
}

bool sessions_have_folder(const struct git_repo *repo)
{
    autofree char *path = mem_printf("%s/worktrees", repo->root);
    return access(path, F_OK) == 0;
}

static int print_plan_problems(const struct problems *ps)
{
    dropin_print_problems(ps, "error: ", false);
    return EXIT_ERROR;
}

/* Checks the plan by that tool's rules first, then by ours. */
static int open_plan(struct plan_file *pf, const char *path, const struct git_repo *repo)
{
    struct doc_options toml = {.syntax = DOC_TOML, .max_bytes = DROPIN_PLAN_MAX};
    autoproblems struct problems ps;
    autodoc struct doc doc;
    problems_init(&ps, path);
    if (doc_load(&doc, path, &toml, &ps))
        return print_plan_problems(&ps);
    if (!sessions_check_plan(doc.root, repo->core.ignore_case))
        return EXIT_ERROR;
    return plan_file_open(pf, path, &toml, &ps) ? print_plan_problems(&ps) : EXIT_OK;
}

/* Prints the command as one line, so that the user can paste it. */
static void add_threads(const struct fanout *f, struct buf *out)
{
    for (size_t i = 0; i < f->fresh.n; i++) {
        const struct thread *t = &f->fresh.v[i];
        text_addf(out, "  # thread %s: %s", t->id, t->goal);
        buf_addstr(out, "\n  ");
        fanout_add_call(f, t, out);
        buf_addstr(out, "\n\n");
    }
}

static int make_worktrees(struct fanout *f)
{
    autobuf struct buf out = BUF_INIT;
    struct err err = {0};
    if (f->known.n)
        return sessions_error("worktree already exists: %s — run 'parallel-sessions cleanup' first",
                              threads_find(&f->there, f->known.v[0])->path);
    if (fanout_make(f, &err)) {
        (void)sessions_error("%s", err.msg);
        return f->signal ? 128 + f->signal : EXIT_ERROR;
    }
    buf_addf(&out, "\ncreated %zu worktrees. open each in its own terminal:\n\n", f->fresh.n);
    add_threads(f, &out);
    buf_addstr(&out, "when threads are ready to merge:  parallel-sessions converge\n");
    return print_buffer(&out);
}

/* If opening fails only with dirty files disallowed, the dirty files are the cause. */
static int fan_out_if_clean(const struct plan_file *pf, const char *path)
{
    struct fanout_options any = {.plan_path = path, .allow_dirty = true},
                          opts = {.plan_path = path, .brief = sessions_brief};
    autofanout struct fanout dirty = {0}, f = {0};
    struct err err = {0};
    if (fanout_open(&dirty, pf, &any, &err))
        return sessions_error("%s", err.msg);
    if (fanout_open(&f, pf, &opts, &err))
        return sessions_error("working tree is dirty — commit or stash before fanout");
    return make_worktrees(&f);
}

int sessions_fanout(const struct sessions_options *opts)
{
    autofree char *here = getcwd(NULL, 0);
    autofree char *path =
        *opts->plan == '/' || !here ? mem_str(opts->plan) : mem_printf("%s/%s", here, opts->plan);
    autoplan struct plan_file pf = {0};
    autorepo struct git_repo repo = {0};
    struct err err = {0};
    if (access(path, F_OK) < 0)
        return sessions_error("plan file not found: %s", path);
    int opened = sessions_repository(&repo, &err);
    int code = open_plan(&pf, path, &repo);
    if (code != EXIT_OK)
        return code;
    if (opened)
        return sessions_error("%s", err.msg);
    git_close(&pf.repo);
    pf.repo = repo;
    repo = (struct git_repo){0};
    *pf.repo.prefix = '\0';
    return fan_out_if_clean(&pf, path);
}

struct cleanup_report {
    struct buf removed, skipped;
    bool failed;
    bool folder; /* the folder of worktrees exists */
};

static const char *get_reason(const struct cleanup_item *item)
{
    static const char *const words[CLEANUP_ERROR + 1] = {[CLEANUP_DIRTY] = "dirty",
                                                         [CLEANUP_UNMERGED] = "unmerged commits",
                                                         [CLEANUP_UNSTARTED] = "not started"};
    return words[item->reason] ? words[item->reason] : item->why;
}

static void collect_item(void *ctx, const struct cleanup_item *item)
{
    struct cleanup_report *t = ctx;
    const char *reason = get_reason(item);
    if (item->action == CLEAN_REMOVED) {
        buf_addf(&t->removed, "%sthread-%s", t->removed.len ? ", " : "", item->thread->id);
    } else if (item->action == CLEAN_KEPT) {
        text_addf(&t->skipped, "  thread-%s (%s)", item->thread->id, reason);
        buf_addch(&t->skipped, '\n');
    } else {
        (void)sessions_error("thread-%s: %s", item->thread->id, item->why);
        t->failed = true;
    }
}

static void print_warning(void *ctx, const char *message)
{
    autobuf struct buf line = BUF_INIT;
    (void)ctx;
    text_add_harmless(&line, message);
    (void)fprintf(stderr, "warning: %s\n", line.s);
}

static int print_result(const struct cleanup_report *t)
{
    autobuf struct buf out = BUF_INIT;
    if (t->removed.len)
        buf_addf(&out, "removed: %s\n", t->removed.s);
    if (t->skipped.len)
        buf_addf(&out, "skipped:\n%s", t->skipped.s);
    if (!out.len && !t->failed)
        buf_addstr(&out, t->folder ? "nothing to clean up\n" : "no worktrees\n");
    int code = print_buffer(&out);
    return code ? code : t->failed ? EXIT_ERROR : EXIT_OK;
}

int sessions_cleanup(const struct sessions_options *unused)
{
    struct cleanup_report t = {.removed = BUF_INIT, .skipped = BUF_INIT};
    autorepo struct git_repo repo = {0};
    struct err err = {0};
    struct cleanup_options opts = {.repo = &repo,
                                   .tell = collect_item,
                                   .warn = print_warning,
                                   .waiting = cli_waiting,
                                   .ctx = &t};
    (void)unused;
    interrupt_watch();
    int rc = sessions_repository(&repo, &err);
    t.folder = rc == 0 && sessions_have_folder(&repo);
    rc = rc || cleanup(&opts, &err) ? -1 : 0;
    int code = rc ? sessions_error("%s", err.msg) : print_result(&t);
    buf_done(&t.removed);
    buf_done(&t.skipped);
    return interrupt_signal() ? cli_stopped("run it again") : code;
}
