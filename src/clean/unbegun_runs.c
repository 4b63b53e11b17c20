#include "clean/unbegun_runs.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/own.h"
#include "clean/leftovers.h"
#include "git/state_paths.h"
#include "run/state/run_folder.h"
#include "sys/fs/dirs.h"
#include "sys/own_fd.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { YOUNG_S = 60 }; /* without a lock file one may be just about to begin */

/* Only the folders of tasks are folders. */
static int refuse_folder(void *ctx, const char *dir, const char *name, struct err *err)
{
    autofree char *path = mem_printf("%s/%s", dir, name);
    struct stat st;
    (void)err;
    *(bool *)ctx |= lstat(path, &st) < 0 || S_ISDIR(st.st_mode);
    return 0;
}

static bool has_lock_file(const char *dir, const struct stat *st)
{
    autofree char *path = mem_printf("%s/" RUN_LOCK, dir);
    return access(path, F_OK) == 0 || time(NULL) - st->st_mtime > YOUNG_S;
}

bool unbegun_is(const char *dir, int *ret_lock)
{
    bool has_tasks = false;
    struct err none = {0};
    struct stat st;
    *ret_lock = -1;
    if (lstat(dir, &st) < 0 || !S_ISDIR(st.st_mode) || !has_lock_file(dir, &st) ||
        dirs_each(dir, refuse_folder, &has_tasks, &none) || has_tasks)
        return false;
    return run_folder_lock(dir, ret_lock, &none) == 0 && *ret_lock >= 0;
}

/* --- all of them -------------------------------------------------------------------------- */

struct finder {
    struct map rows;
    struct arena arena;
    struct strv *ids;
    bool look_only;
};

static bool take_row(void *ctx, const struct store_run *run)
{
    struct finder *f = ctx;
    char *id = arena_str(&f->arena, run->id);
    (void)map_put(&f->rows, id, strlen(id), id);
    return true;
}

/* One whose plan was saved can be resumed. */
static int take_folder(void *ctx, const char *dir, const char *name, struct err *err)
{
    struct finder *f = ctx;
    autofree char *path = mem_printf("%s/%s", dir, name), *saved = mem_printf("%s/run.json", path);
    autoclose int lock = -1;
    if (!is_run_id(name) || map_get(&f->rows, name, strlen(name)) || access(saved, F_OK) == 0 ||
        !unbegun_is(path, &lock))
        return 0;
    if (!f->look_only && dirs_remove(path, err))
        return -1;
    strv_push(f->ids, name);
    return 0;
}

int unbegun_remove_all(struct store *store, const char *state_dir, bool look_only,
                       struct strv *ret_ids, struct err *err)
{
    autofree char *runs = runs_path(state_dir);
    struct finder f = {.ids = ret_ids, .look_only = look_only};
    int rc = store_each_run(store, take_row, &f, err);
    if (rc == 0)
        rc = dirs_each(runs, take_folder, &f, err);
    map_done(&f.rows);
    arena_done(&f.arena);
    return rc;
}
