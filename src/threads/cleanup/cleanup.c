#include "threads/cleanup/cleanup.h"

#include "base/mem.h"
#include "sys/fs/dirs.h"
#include "sys/interrupt.h"
#include "sys/own_fd.h"
#include "threads/cleanup/cleanup_private.h"
#include "threads/relocate.h"
#include "threads/remove.h"

#include <string.h>

const char *const cleanup_words[] = {
    [CLEANUP_MERGED] = "merged",       [CLEANUP_REBASED] = "rebased",
    [CLEANUP_SQUASHED] = "squashed",   [CLEANUP_CONTAINED] = "contained",
    [CLEANUP_FORGE] = "forge",         [CLEANUP_GONE] = "gone",
    [CLEANUP_DIRTY] = "dirty",         [CLEANUP_UNMERGED] = "unmerged",
    [CLEANUP_UNSTARTED] = "unstarted", [CLEANUP_BUSY] = "busy",
    [CLEANUP_LOCKED] = "locked",       [CLEANUP_ELSEWHERE] = "elsewhere",
    [CLEANUP_FOREIGN] = "foreign",     [CLEANUP_DAMAGED] = "damaged",
    [CLEANUP_STOPPED] = "stopped",     [CLEANUP_ERROR] = "error",
};

static bool is_wanted(const char *only, const char *id)
{
    size_t len = strlen(id);
    for (const char *p = only; p; p = strchr(p, ',')) {
        p += *p == ',';
        if (strncmp(p, id, len) == 0 && (p[len] == ',' || !p[len]))
            return true;
    }
    return !only;
}

static int check_only(const struct threads *ts, const char *only, struct err *err)
{
    autofree char *list = only ? mem_str(only) : NULL;
    for (char *rest = list, *id; (id = strsep(&rest, ","));) {
        if (!threads_find(ts, id) && !threads_find_damaged(ts, id))
            return err_set(err, ERR_INPUT, "--only: there is no thread '%s'", id);
    }
    return 0;
}

static void report(const struct cleaning *c, enum clean_action action, enum cleanup_reason reason,
                   const struct thread *t, const char *why)
{
    struct cleanup_item item = {.action = action, .reason = reason, .thread = t, .why = why};
    c->opts->tell(c->opts->ctx, &item);
}

static void report_all_damaged(const struct cleaning *c)
{
    for (size_t i = 0; i < c->threads.damaged.n; i++) {
        const struct thread_damaged *d = &c->threads.damaged.v[i];
        struct thread t = {.id = d->id, .path = d->path};
        autofree char *why = mem_printf("%s: kept; %s", d->problem, d->hint);
        if (is_wanted(c->opts->only, d->id))
            report(c, CLEAN_FAILED, CLEANUP_DAMAGED, &t, why);
    }
}

static int remove_thread(const struct cleaning *c, const struct thread *t, const struct verdict *v,
                         struct err *err)
{
    autostrv struct strv dropped = {0};
    autobuf struct buf salvage = BUF_INIT;
    struct cleanup_item item = {.action = CLEAN_REMOVED,
                                .reason = v->reason,
                                .thread = t,
                                .why = v->why.s,
                                .dropped = &dropped};
    if (cleanup_dropped(c, t, &dropped, err) ||
        (!c->opts->dry_run && cleanup_take(c, t, v->tip.s, &salvage, err)))
        return -1;
    item.salvage = salvage.len ? salvage.s : NULL;
    c->opts->tell(c->opts->ctx, &item);
    return 0;
}

static void verdict_done(struct verdict *v)
{
    buf_done(&v->why);
    buf_done(&v->tip);
}

/* Returns true if the thread is gone. */
static bool clean_thread(struct cleaning *c, const struct thread *t)
{
    own_cleanup(verdict_done) struct verdict v = {.why = BUF_INIT, .tip = BUF_INIT};
    struct err err = {0};
    int rc = interrupt_signal() ? 0 : cleanup_look(c, t, &v, &err);
    if (interrupt_signal()) { /* an interrupted check has no result */
        report(c, CLEAN_KEPT, CLEANUP_STOPPED, t,
               "stopped by a signal before we could do anything");
        return false;
    }
    if (rc == 0 && !v.remove)
        report(c, CLEAN_KEPT, v.reason, t, v.why.s);
    else if (rc || remove_thread(c, t, &v, &err))
        report(c, CLEAN_FAILED, CLEANUP_ERROR, t, err.msg);
    return rc == 0 && v.remove && err.code == ERR_NONE && !c->opts->dry_run;
}

/* Each thread notes that the configuration was changed for threads: reset it only once. */
static int finish_removals(const struct cleaning *c, const struct threads *removed, struct err *err)
{
    for (size_t i = 0; i < removed->n; i++) {
        struct thread t = removed->v[i];
        t.configured = t.configured && i + 1 == removed->n;
        if (threads_leave(c->opts->repo, &t, err))
            return -1;
    }
    return 0;
}

static int clean_all(struct cleaning *c, bool *ret_last, struct err *err)
{
    struct threads removed = {0}; /* borrows its threads from c->threads */
    for (size_t i = 0; i < c->threads.n; i++) {
        const struct thread *t = &c->threads.v[i];
        if (is_wanted(c->opts->only, t->id) && clean_thread(c, t))
            vec_push(&removed, *t);
    }
    report_all_damaged(c);
    int rc = finish_removals(c, &removed, err);
    *ret_last = rc == 0 && removed.n == c->threads.n && !c->threads.damaged.n;
    free(removed.v);
    return rc;
}

static int load_threads(struct cleaning *c, struct err *err)
{
    threads_done(&c->threads);
    if (threads_load(&c->threads, c->opts->repo, err))
        return -1;
    return check_only(&c->threads, c->opts->only, err);
}

static int run_cleanup(struct cleaning *c, struct err *err)
{
    const struct cleanup_options *o = c->opts;
    autoclose int lock = -1;
    bool last = false;
    if (load_threads(c, err))
        return -1;
    if (!c->threads.n && !c->threads.damaged.n)
        return o->dry_run ? 0 : threads_leave_none(o->repo, err);
    if (!o->dry_run && (threads_lock(o->repo, o->waiting, &lock, err) || load_threads(c, err) ||
                        threads_relocate(&c->threads, o->repo, err)))
        return -1;
    if (clean_all(c, &last, err))
        return -1;
    if (last && !o->dry_run)
        threads_unlock_last(o->repo, &lock);
    return 0;
}

int cleanup(const struct cleanup_options *opts, struct err *err)
{
    struct cleaning c = {
        .opts = opts,
        .at = {.git_dir = opts->repo->common, .work_tree = opts->repo->root},
    };
    int rc = run_cleanup(&c, err);
    cleanup_bases_done(&c);
    threads_done(&c.threads);
    return rc;
}
