/*
 * parallel-sessions: status and converge.
 */
#include "base/mem.h"
#include "base/text/text.h"
#include "cli/frame/cli.h"
#include "dropin/sessions.h"
#include "git/batch.h"
#include "git/git.h"
#include "sys/interrupt.h"
#include "threads/converge/converge.h"
#include "threads/status/status.h"

#include <stdio.h>
#include <string.h>

enum { EXIT_ERROR = 1 };

/* The threads of the repository in the current folder. */
struct thread_view {
    struct git_repo repo;
    struct git_batch *batch;
    struct threads threads;
    struct thread_looks looks;
};

static void view_close(struct thread_view *v)
{
    thread_looks_close(&v->looks);
    threads_done(&v->threads);
    git_batch_free(v->batch);
    git_close(&v->repo);
}

static int view_open(struct thread_view *v, struct err *err)
{
    *v = (struct thread_view){0};
    if (sessions_repository(&v->repo, err) || threads_load(&v->threads, &v->repo, err))
        return -1;
    v->batch = git_batch_new(v->repo.common);
    return thread_looks_open(&v->looks, &v->repo, v->batch, &v->threads, NULL, false, err);
}

/* Pads a cell to a width; longer texts exceed it. */
static void add_cell(struct buf *out, const char *text, size_t width)
{
    autobuf struct buf safe = BUF_INIT;
    text_add_harmless(&safe, text);
    size_t used = text_width(safe.s, safe.len);
    buf_addstr(out, safe.s);
    buf_addrep(out, ' ', (used < width ? width - used : 0) + 1);
}

static void add_row(struct buf *out, const char *const cells[4], const char *last)
{
    static const size_t widths[] = {14, 48, 6, 6};
    for (size_t i = 0; i < ARRAY_LEN(widths); i++)
        add_cell(out, cells[i], widths[i]);
    text_add_harmless(out, last);
    buf_addch(out, '\n');
}

static void add_thread(struct buf *out, const struct thread_look *l)
{
    autobuf struct buf name = BUF_INIT, ahead = BUF_INIT, last = BUF_INIT;
    const char *branch = l->elsewhere ? l->elsewhere : l->thread->branch;
    bool away = l->elsewhere && l->there; /* then we show the other branch */
    buf_addf(&name, "thread-%s", l->thread->id);
    if (l->problem) {
        buf_addstr(&ahead, "?");
        buf_addstr(&last, l->problem);
    } else {
        buf_addf(&ahead, "%zu", away ? l->there_ahead : l->ahead);
        buf_addf(&last, "%.7s %s", away ? l->there : l->head, away ? l->there_subject : l->subject);
    }
    const char *state = l->problem ? "?" : l->uncommitted.n ? "dirty" : "clean";
    add_row(out, (const char *const[]){name.s, git_short_name(branch), ahead.s, state}, last.s);
}

static void add_damaged(struct buf *out, const struct thread_damaged *d)
{
    autobuf struct buf name = BUF_INIT;
    buf_addf(&name, "thread-%s", d->id);
    add_row(out, (const char *const[]){name.s, "?", "?", "?"}, d->problem);
}

int sessions_status(const struct sessions_options *unused)
{
    static const char *const titles[] = {"WORKTREE", "BRANCH", "AHEAD", "STATE"};
    own_cleanup(view_close) struct thread_view v;
    autobuf struct buf out = BUF_INIT;
    struct err err = {0};
    (void)unused;
    if (view_open(&v, &err))
        return sessions_error("%s", err.msg);
    if (v.looks.n || v.threads.damaged.n)
        add_row(&out, titles, "LAST COMMIT");
    else
        buf_addstr(&out, "no worktrees\n");
    for (size_t i = 0; i < v.looks.n; i++)
        add_thread(&out, &v.looks.v[i]);
    for (size_t i = 0; i < v.threads.damaged.n; i++)
        add_damaged(&out, &v.threads.damaged.v[i]);
    return cli_print(out.s, out.len);
}

/* True if no thread has a commit, or changes that may become one. Then no remote is needed. */
static bool has_nothing_to_converge(const struct thread_view *v)
{
    for (size_t i = 0; i < v->looks.n; i++) {
        const struct thread_look *l = &v->looks.v[i];
        if (l->problem || l->ahead || l->there_ahead || l->uncommitted.n)
            return false;
    }
    return !v->threads.damaged.n;
}

static void add_result(struct buf *out, const struct converge_result *r)
{
    const struct thread *t = r->look->thread;
    if (r->end == CONVERGE_PRINTED)
        buf_addf(out, "# thread-%s\n%s\n", t->id, r->commands.s);
    else if (r->end == CONVERGE_MADE || r->end == CONVERGE_UPDATED)
        buf_addf(out, "pushing %s…\nopening PR for thread-%s…\n", git_short_name(t->branch), t->id);
    if (r->detail && (r->end == CONVERGE_MADE || r->end == CONVERGE_UPDATED)) {
        text_add_harmless(out, r->detail);
        buf_addch(out, '\n');
    }
}

static void print_warning(const struct converge_result *r)
{
    autobuf struct buf line = BUF_INIT;
    text_add_harmless(&line, r->warning);
    (void)fprintf(stderr, "warning: thread-%s: %s\n", r->look->thread->id, line.s);
}

/* Prints the error of one thread next to the results of the others. */
static int print_results(const struct converge *c)
{
    autobuf struct buf out = BUF_INIT;
    int worst = EXIT_OK;
    for (size_t i = 0; i < c->results.n; i++) {
        const struct converge_result *r = &c->results.v[i];
        add_result(&out, r);
        if (r->warning)
            print_warning(r);
        if (r->end >= CONVERGE_REFUSED)
            worst = sessions_error("thread-%s: %s", r->look->thread->id, r->detail);
    }
    for (size_t i = 0; i < c->threads.damaged.n; i++) {
        const struct thread_damaged *d = &c->threads.damaged.v[i];
        worst = sessions_error("thread-%s: %s; %s", d->id, d->problem, d->hint);
    }
    int code = cli_print(out.s, out.len);
    return code ? code : worst;
}

int sessions_converge(const struct sessions_options *opts)
{
    static const char nothing[] = "no threads have new commits — nothing to converge\n";
    struct converge_options how = {.way = opts->no_push ? CONVERGE_PRINT : CONVERGE_PUSH,
                                   .no_options = true};
    own_cleanup(view_close) struct thread_view v;
    struct err err = {0};
    if (view_open(&v, &err))
        return sessions_error("%s", err.msg);
    if (!v.looks.n && !v.threads.damaged.n && !sessions_have_folder(&v.repo))
        return sessions_error("no worktrees to converge");
    if (has_nothing_to_converge(&v))
        return cli_print(nothing, strlen(nothing));
    autoconverge struct converge c;
    interrupt_watch();
    int rc = converge(&c, &v.repo, &how, &err);
    int code = rc ? sessions_error("%s", err.msg) : print_results(&c);
    return interrupt_signal() ? cli_stopped("run it again") : code;
}
