#include "clean/clean_private.h"

#include "base/mem.h"
#include "sys/fs/dirs.h"
#include "sys/own_fd.h"
#include "sys/proc/stuck.h"

#include <stdarg.h>
#include <unistd.h>

void clean_measure(struct cleaner *c, const char *path)
{
    disk_use_add(&c->measured, path);
}

/* Postpones the report of a thing until its paths are deleted. Returns false if it has none. */
static bool postpone_report(struct cleaner *c, const struct clean_item *item)
{
    struct arena *a = &c->leftovers.arena;
    const struct pending_report *previous =
        c->pending_reports.n ? &c->pending_reports.v[c->pending_reports.n - 1] : NULL;
    struct pending_report report = {.item = *item,
                                    .delete_now = previous ? previous->delete_now_end : 0,
                                    .delete_now_end = c->delete_now.n,
                                    .delete_later = previous ? previous->delete_later_end : 0,
                                    .delete_later_end = c->delete_later.n};
    if (report.delete_now == report.delete_now_end &&
        report.delete_later == report.delete_later_end)
        return false;
    report.item.name = arena_str(a, item->name);
    report.item.why = item->why ? arena_str(a, item->why) : NULL;
    report.item.salvage = item->salvage ? arena_str(a, item->salvage) : NULL;
    vec_push(&c->pending_reports, report);
    return true;
}

void clean_tell(struct cleaner *c, enum clean_action action, const char *kind, const char *name,
                const char *salvage, const char *fmt, ...)
{
    autobuf struct buf why = BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    buf_addv(&why, fmt, ap);
    va_end(ap);
    bool is_measured = action == CLEAN_REMOVED && (c->measured.files || c->measured.partial);
    struct clean_item item = {.action = action,
                              .kind = kind,
                              .name = name,
                              .why = why.s,
                              .salvage = salvage,
                              .bytes = is_measured ? c->measured.bytes : -1,
                              .partial = is_measured && c->measured.partial};
    disk_use_done(&c->measured);
    c->measured = DISK_USE_INIT;
    if (action != CLEAN_REMOVED || !postpone_report(c, &item))
        c->opts->tell(c->opts->ctx, &item);
}

/* Makes a folder for our own files. A lock admits one clean at a time. First we remove what a
 * killed clean left. */
static int make_scratch(struct cleaner *c, int *ret_lock, struct err *err)
{
    autofree char *lock = mem_printf("%s/cleaning", c->opts->state_dir);
    c->scratch = mem_printf("%s/tmp/clean.%d", c->opts->state_dir, (int)getpid());
    if (c->opts->dry_run)
        return 0;
    if (dirs_await_lock(lock, "another clean", c->opts->waiting, ret_lock, err) ||
        dirs_remove(c->scratch, err))
        return -1;
    return dirs_make(c->scratch, err);
}

/* Worktrees inside of workspaces come last: they usually go with their workspace. */
static int clean_repository(struct cleaner *c, struct err *err)
{
    clean_blockers(c);
    for (size_t i = 0; i < c->leftovers.tasks.n; i++)
        clean_find_users(c, c->leftovers.tasks.v[i]);
    for (size_t i = 0; i < c->leftovers.tasks.n; i++) {
        if (!c->leftovers.tasks.v[i]->inner)
            clean_task(c, c->leftovers.tasks.v[i]);
    }
    for (size_t i = 0; i < c->leftovers.tasks.n; i++) {
        if (c->leftovers.tasks.v[i]->inner)
            clean_inner(c, c->leftovers.tasks.v[i]);
    }
    return clean_tips(c, err) || clean_locks(c, err) ? -1 : 0;
}

static int clean_all(struct cleaner *c, struct err *err)
{
    const struct clean_options *o = c->opts;
    if (leftovers_find(&c->leftovers, o->repo, o->state_dir, o->store, err))
        return -1;
    for (size_t i = 0; !o->dry_run && i < c->leftovers.workspace_roots.n; i++)
        stuck_remove_below(c->leftovers.workspace_roots.v[i]);
    if (clean_temporary(c, err) || (o->repo->root && clean_repository(c, err)))
        return -1;
    return clean_base_trees(c, err) || clean_shared_folders(c, err) || clean_logs(c, err) ? -1 : 0;
}

int clean(const struct clean_options *opts, struct err *err)
{
    struct cleaner c = {
        .opts = opts, .at = {.git_dir = opts->repo->common}, .base_tree = BASE_TREE_INIT};
    autoclose int lock = -1;
    struct err none = {0};
    if (access(opts->state_dir, F_OK) < 0) /* nothing ever ran here */
        return 0;
    if (!opts->dry_run && opts->repo->common)
        stuck_remove_below(opts->repo->common);
    int rc = make_scratch(&c, &lock, err) || clean_all(&c, err) ? -1 : 0;
    clean_delete(&c);
    (void)dirs_remove(c.scratch, &none); /* if this fails, the next clean removes it */
    vec_done(&c.pending_reports);
    leftovers_done(&c.leftovers);
    disk_use_done(&c.measured);
    strv_done(&c.delete_now);
    strv_done(&c.delete_later);
    strv_done(&c.records);
    for (size_t i = 0; i < c.holds.n; i++)
        layers_hold_done(&c.holds.v[i]);
    vec_done(&c.holds);
    base_tree_done(&c.base_tree);
    free(c.scratch);
    return rc;
}
