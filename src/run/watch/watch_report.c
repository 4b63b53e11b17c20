/*
 * Records changes, and keeps data that would be lost by them.
 */
#include "run/watch/watch_private.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "run/land/durable.h"
#include "run/state/record.h"
#include "run/state/run_state.h"
#include "run/watch/watch.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"
#include "workspace/commit/salvage.h"
#include "workspace/commit/vault.h"

#include <ctype.h>
#include <string.h>
#include <sys/stat.h>

enum { NAMES_MAX = 10, KEEP_TRIES = 1000 };

static void add_tasks(struct arena *a, struct node *data, const struct run *run,
                      const shared_tasks *suspects)
{
    struct node *list = node_put_list(a, data, "tasks");
    for (size_t i = 0; i < suspects->n && i < NAMES_MAX; i++)
        node_add_string(a, list, run->pf->plan.tasks[suspects->v[i]].id);
    if (suspects->n > NAMES_MAX)
        node_put_int(a, data, "more_tasks", (int64_t)(suspects->n - NAMES_MAX));
}

void repo_watch_tell(struct run *run, const shared_tasks *suspects, const struct finding *f)
{
    struct arena a = {0};
    struct node *data = node_new_map(&a);
    node_put_string(&a, data, "what", f->what);
    node_put_string(&a, data, "name", f->name);
    node_put_string(&a, data, "from", f->from);
    node_put_string(&a, data, "to", f->to);
    node_put_bool(&a, data, "restored", f->restored);
    if (f->lost)
        node_put_bool(&a, data, "lost", true);
    node_put_string(&a, data, "undo", f->undo);
    node_put_string(&a, data, "saved", f->saved);
    node_put_string(&a, data, "kept", f->kept);
    struct node *paths = f->paths ? node_put_list(&a, data, "paths") : NULL;
    for (size_t i = 0; paths && i < f->paths->n && i < SHARED_MAX; i++)
        node_add_string(&a, paths, f->paths->v[i]);
    if (f->more)
        node_put_int(&a, data, "more", (int64_t)f->more);
    if (suspects->n != 1)
        add_tasks(&a, data, run, suspects);
    record(run, EV_GIT_STATE_CHANGED, suspects->n == 1 ? (int64_t)suspects->v[0] : -1, data);
    arena_done(&a);
}

char *repo_watch_save(struct run *run, const char *name, struct git_content content)
{
    autofree char *dir =
        mem_printf("%s/" STORE_SHARED "/%d", run->files.dir, ++run->repo_watch->saved);
    const char *slash = strrchr(name, '/');
    char *path = mem_printf("%s/%s", dir, slash ? slash + 1 : name);
    struct err err = {0};
    if (dirs_make(dir, &err) == 0 && file_create(path, content.s, content.len, &err) == 0 &&
        (chmod(path, content.mode & 0777) == 0 || err_sys(&err, "chmod '%s'", path)))
        return path;
    record_error(run, -1, &err);
    free(path);
    return NULL;
}

/* True if a ref leads to the commit. Objects that are not commits are always kept. */
static bool is_reachable(const struct git_place *at, const char *commit)
{
    autostrv struct strv args = {0};
    autobuf struct buf out = BUF_INIT;
    int status = 0;
    strv_pushl(&args, "for-each-ref", "--count=1", "--format=%(refname)", "--contains", commit,
               NULL);
    return git_try(at, &args, &out, NULL, &status, NULL) == 0 && status == 0 && out.len;
}

char *repo_watch_keep(struct run *run, const char *commit)
{
    struct git_place at = run_place(run);
    struct err err = {0};
    bool moved = false;
    if (!isxdigit((unsigned char)*commit) || is_reachable(&at, commit))
        return NULL;
    for (int i = 1; i < KEEP_TRIES; i++) {
        char *ref = mem_printf(SALVAGE_REFS "%s/" STORE_SHARED "/%d", run->id, i);
        autobuf struct buf there = BUF_INIT;
        if (git_resolve(&at, ref, &there, NULL) &&
            git_move_ref(&at, ref, "", commit, "anabranch: keep", &moved, &err) == 0 && moved) {
            repo_watch_saved(run, ref, commit);
            struct err note = {0};
            if (vault_keep(&at, ref, commit, run->base.start, &note, &err) ||
                durable_sync(run, &err))
                record_error(run, -1, &err);
            if (note.code)
                record_error(run, -1, &note);
            return ref;
        }
        free(ref);
        if (err.code)
            break;
    }
    record_error(run, -1, &err);
    return NULL;
}
