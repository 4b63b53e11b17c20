#include "clean/clean_private.h"

#include "base/mem.h"
#include "sys/fs/dirs.h"
#include "sys/own_fd.h"
#include "sys/proc/stuck.h"

#include <stdarg.h>
#include <unistd.h>

void clean_measure(struct cleaner *c, const char *path)
{
    disk_use_add(&c->use, path);
}

/* Whether it is to be told when its paths are deleted. */
static bool doom(struct cleaner *c, const struct clean_item *item)
{
    struct arena *a = &c->remains.arena;
    const struct doomed *last = c->doomed.n ? &c->doomed.v[c->doomed.n - 1] : NULL;
    struct doomed d = {.item = *item,
                       .left = last ? last->left_end : 0,
                       .left_end = c->left.n,
                       .large = last ? last->large_end : 0,
                       .large_end = c->large.n};
    if (d.left == d.left_end && d.large == d.large_end)
        return false;
    d.item.name = arena_str(a, item->name);
    d.item.why = item->why ? arena_str(a, item->why) : NULL;
    d.item.salvage = item->salvage ? arena_str(a, item->salvage) : NULL;
    vec_push(&c->doomed, d);
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
    bool measured = action == CLEAN_REMOVED && (c->use.files || c->use.partial);
    struct clean_item item = {.action = action,
                              .kind = kind,
                              .name = name,
                              .why = why.s,
                              .salvage = salvage,
                              .bytes = measured ? c->use.bytes : -1,
                              .partial = measured && c->use.partial};
    disk_use_done(&c->use);
    c->use = DISK_USE_INIT;
    if (action != CLEAN_REMOVED || !doom(c, &item))
        c->opts->tell(c->opts->ctx, &item);
}

/* A folder of our own: two of us take turns, and what one that was killed has left goes first. */
static int make_scratch(struct cleaner *c, int *ret_lock, struct err *err)
{
    autofree char *lock = mem_printf("%s/cleaning", c->opts->state_dir);
    c->scratch = mem_printf("%s/tmp/clean.%d", c->opts->state_dir, (int)getpid());
    if (c->opts->dry_run)
        return 0;
    return dirs_await_lock(lock, "another clean", c->opts->waiting, ret_lock, err) ||
                   dirs_remove(c->scratch, err) || dirs_make(c->scratch, err)
               ? -1
               : 0;
}

/* What was inside of workspaces comes last: it goes with them. */
static int clean_repository(struct cleaner *c, struct err *err)
{
    clean_shared(c);
    for (size_t i = 0; i < c->remains.tasks.n; i++)
        clean_look(c, c->remains.tasks.v[i]);
    for (size_t i = 0; i < c->remains.tasks.n; i++) {
        if (!c->remains.tasks.v[i]->inner)
            clean_task(c, c->remains.tasks.v[i]);
    }
    for (size_t i = 0; i < c->remains.tasks.n; i++) {
        if (c->remains.tasks.v[i]->inner)
            clean_inner(c, c->remains.tasks.v[i]);
    }
    return clean_tips(c, err) || clean_locks(c, err) ? -1 : 0;
}

static int clean_all(struct cleaner *c, struct err *err)
{
    const struct clean_options *o = c->opts;
    if (leftovers_find(&c->remains, o->repo, o->state_dir, o->store, err))
        return -1;
    for (size_t i = 0; !o->dry_run && i < c->remains.works.n; i++)
        stuck_remove_below(c->remains.works.v[i]);
    if (clean_temporary(c, err) || (o->repo->root && clean_repository(c, err)))
        return -1;
    return clean_pristine(c, err) || clean_kept(c, err) || clean_logs(c, err) ? -1 : 0;
}

int clean(const struct clean_options *opts, struct err *err)
{
    struct cleaner c = {
        .opts = opts, .at = {.git_dir = opts->repo->common}, .below = PRISTINE_INIT};
    autoclose int lock = -1;
    struct err none = {0};
    if (access(opts->state_dir, F_OK) < 0) /* nothing was ever run here */
        return 0;
    if (!opts->dry_run && opts->repo->common)
        stuck_remove_below(opts->repo->common);
    int rc = make_scratch(&c, &lock, err) || clean_all(&c, err) ? -1 : 0;
    clean_delete(&c);
    (void)dirs_remove(c.scratch, &none); /* else the next one does */
    vec_done(&c.doomed);
    leftovers_done(&c.remains);
    disk_use_done(&c.use);
    strv_done(&c.left);
    strv_done(&c.large);
    for (size_t i = 0; i < c.holds.n; i++)
        layers_hold_done(&c.holds.v[i]);
    vec_done(&c.holds);
    base_tree_done(&c.below);
    free(c.scratch);
    return rc;
}
