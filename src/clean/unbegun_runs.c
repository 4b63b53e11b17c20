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

enum { STARTING_S = 60 }; /* a younger run without a lock file may be about to begin */

/* The record has a file for each task with a workspace. */
static int find_task_record(void *ctx, const char *dir, const char *name, struct err *err)
{
    (void)dir;
    (void)err;
    *(bool *)ctx |= *name != '.';
    return 0;
}

/* Folders in the run's folder, except for git's configuration and an empty record, belong to tasks:
 * the run has begun. */
static int find_task_folder(void *ctx, const char *dir, const char *name, struct err *err)
{
    autofree char *path = mem_printf("%s/%s", dir, name);
    struct stat st;
    if (strcmp(name, RUN_FOLDERS) == 0)
        return dirs_each(path, find_task_record, ctx, err);
    if (strcmp(name, RUN_GIT) != 0)
        *(bool *)ctx |= lstat(path, &st) < 0 || S_ISDIR(st.st_mode);
    return 0;
}

static bool has_started(const char *dir, const struct stat *st)
{
    autofree char *path = mem_printf("%s/" RUN_LOCK, dir);
    return access(path, F_OK) == 0 || time(NULL) - st->st_mtime > STARTING_S;
}

static bool can_resume(const char *dir)
{
    autosaved struct run_folder saved;
    return run_folder_load(&saved, dir, NULL) == 0;
}

bool unbegun_is(const char *dir, int *ret_lock)
{
    bool has_tasks = false;
    struct err none = {0};
    struct stat st;
    *ret_lock = -1;
    if (lstat(dir, &st) < 0 || !S_ISDIR(st.st_mode) || !has_started(dir, &st) ||
        dirs_each(dir, find_task_folder, &has_tasks, &none) || has_tasks || can_resume(dir))
        return false;
    return run_folder_lock(dir, ret_lock, &none) == 0 && *ret_lock >= 0;
}

struct search {
    struct map rows;
    struct arena arena;
    struct strv *ids;
    bool look_only;
};

static bool add_run_id(void *ctx, const struct store_run *run)
{
    struct search *f = ctx;
    char *id = arena_str(&f->arena, run->id);
    (void)map_put(&f->rows, id, strlen(id), id);
    return true;
}

static int check_folder(void *ctx, const char *dir, const char *name, struct err *err)
{
    struct search *f = ctx;
    autofree char *path = mem_printf("%s/%s", dir, name);
    autoclose int lock = -1;
    if (!is_run_id(name) || map_get(&f->rows, name, strlen(name)) || !unbegun_is(path, &lock))
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
    struct search f = {.ids = ret_ids, .look_only = look_only};
    int rc = store_each_run(store, add_run_id, &f, err);
    if (rc == 0)
        rc = dirs_each(runs, check_folder, &f, err);
    map_done(&f.rows);
    arena_done(&f.arena);
    return rc;
}
