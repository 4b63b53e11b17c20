#include "clean/disk_use.h"

#include "base/mem.h"
#include "base/text/str.h"
#include "base/vec.h"
#include "clean/leftovers.h"
#include "git/state_paths.h"
#include "store/store.h"
#include "sys/fs/dirs.h"
#include "sys/fs/disk_use.h"
#include "sys/fs/file.h"
#include "workspace/commit/vault.h"
#include "workspace/overlay/layers.h"
#include "workspace/overlay/shared_folders.h"
#include "workspace/workspace.h"

#include <string.h>
#include <sys/stat.h>

/* The part that we measure, and the folders to look in. */
struct measurement {
    struct arena arena;                /* holds the paths of `works` */
    VEC(const char *) workspace_roots; /* folders that hold workspaces */
    struct map roots_by_inode;
    struct strv runs; /* ids of the runs in the store */
    struct store *store;
    enum disk_part part;
    struct disk_use use;
    struct disk_share *share;
};

static int count_entry(void *ctx, const char *dir, const char *name, struct err *err)
{
    struct measurement *c = ctx;
    autofree char *path = mem_printf("%s/%s", dir, name);
    (void)err;
    if (!c->share->count++)
        buf_addstr(&c->share->place, dir);
    disk_use_add(&c->use, path);
    return 0;
}

static int count_folder(void *ctx, const char *dir, const char *name, struct err *err)
{
    autofree char *path = mem_printf("%s/%s", dir, name);
    return file_is_folder(path) ? count_entry(ctx, dir, name, err) : 0;
}

static int count_shared_folder(void *ctx, const char *dir, const char *name, struct err *err)
{
    struct measurement *c = ctx;
    return shared_folders_is_name(name) ? count_entry(c, dir, name, err) : 0;
}

static int count_log(void *ctx, const char *dir, const char *name, struct err *err)
{
    struct measurement *c = ctx;
    return is_run_id(name) && !name[RUN_ID_LEN] ? count_entry(c, dir, name, err) : 0;
}

/* The vault has a folder for each run, in it one for each task, in it a bundle for each salvage. */
static int count_bundle(void *ctx, const char *dir, const char *name, struct err *err)
{
    return strlen(name) > strlen(VAULT_ENDING) && str_ends(name, VAULT_ENDING)
               ? count_entry(ctx, dir, name, err)
               : 0;
}

static int count_bundles(void *ctx, const char *dir, const char *name, struct err *err)
{
    autofree char *path = mem_printf("%s/%s", dir, name);
    return file_is_folder(path) ? dirs_each(path, count_bundle, ctx, err) : 0;
}

/* Counts in the folder of a run, but reports the folder around it as the place. */
static int count_in_run(struct measurement *c, const char *dir, const char *name, dirs_each_fn *fn,
                        struct err *err)
{
    autofree char *path = mem_printf("%s/%s", dir, name);
    size_t before = c->share->count;
    if (!is_run_id(name) || name[RUN_ID_LEN])
        return 0;
    int rc = dirs_each(path, fn, c, err);
    if (!before && c->share->count) {
        buf_cut(&c->share->place, 0);
        buf_addstr(&c->share->place, dir);
    }
    return rc;
}

static int count_vault(void *ctx, const char *dir, const char *name, struct err *err)
{
    return count_in_run(ctx, dir, name, count_bundles, err);
}

static int count_store_file(void *ctx, const char *dir, const char *name, struct err *err)
{
    struct measurement *c = ctx;
    return strncmp(name, "state.db", strlen("state.db")) == 0 ? count_entry(c, dir, name, err) : 0;
}

/* The same folder may be known by several paths. */
static void add_workspace_root(struct measurement *c, const char *path)
{
    struct stat st;
    if (*path != '/' || stat(path, &st) < 0)
        return;
    const uint64_t id[] = {(uint64_t)st.st_dev, (uint64_t)st.st_ino};
    const char *key = arena_dup(&c->arena, id, sizeof(id));
    if (!map_put(&c->roots_by_inode, key, sizeof(id), c))
        vec_push(&c->workspace_roots, arena_str(&c->arena, path));
}

/* The folder of workspaces is two levels above a workspace. */
static void add_root_of_workspace(struct measurement *c, const char *workspace)
{
    autofree char *work = mem_str(workspace);
    for (int i = 0; i < 2; i++) {
        char *slash = strrchr(work, '/');
        if (!slash)
            return;
        *slash = '\0';
    }
    add_workspace_root(c, work);
}

static void add_root_of_worktree(struct measurement *c, const char *root)
{
    autofree char *work = mem_printf("%s/.anabranch/worktrees", root);
    add_workspace_root(c, work);
}

/* An administrative folder of git: of a workspace, or of a worktree that may hold workspaces. */
static int add_root_of_admin(void *ctx, const char *dir, const char *name, struct err *err)
{
    struct measurement *c = ctx;
    autofree char *file = mem_printf("%s/%s/gitdir", dir, name);
    autobuf struct buf text = BUF_INIT;
    (void)err;
    if (file_read(file, 1 << 16, &text, NULL))
        return 0;
    text.s[strcspn(text.s, "\n")] = '\0';
    char *slash = strrchr(text.s, '/');
    if (!slash || slash == text.s)
        return 0;
    *slash = '\0';
    autofree char *own = workspace_admin_name(text.s);
    if (is_run_id(name) && strcmp(own, name) == 0)
        add_root_of_workspace(c, text.s);
    else
        add_root_of_worktree(c, text.s);
    return 0;
}

static bool add_run_id(void *ctx, const struct store_run *row)
{
    struct measurement *c = ctx;
    strv_push(&c->runs, row->id);
    return true;
}

static bool add_root_of_task(void *ctx, const struct store_task *row)
{
    if (row->workspace)
        add_root_of_workspace(ctx, row->workspace);
    return true;
}

/* If we cannot read the store, we still look in the usual places. */
static void add_stored_roots(struct measurement *c, const char *state_dir)
{
    struct err none = {0};
    if (store_open(&c->store, state_dir, false, &none) ||
        store_each_run(c->store, add_run_id, c, &none))
        return;
    for (size_t i = 0; i < c->runs.n; i++)
        (void)store_each_task(c->store, c->runs.v[i], add_root_of_task, c, &none);
}

/* The main worktree is the parent of the repository's folder. */
static int find_workspace_roots(struct measurement *c, const struct git_repo *repo,
                                const char *state_dir, struct err *err)
{
    autofree char *worktrees = mem_printf("%s/worktrees", repo->common);
    autofree char *first = mem_str(repo->common);
    char *slash = strrchr(first, '/');
    if (slash)
        *slash = '\0';
    add_root_of_worktree(c, repo->root);
    add_root_of_worktree(c, first);
    add_stored_roots(c, state_dir);
    return dirs_each(worktrees, add_root_of_admin, c, err);
}

/* "<run>/<task>", or its name once it is retired. A layered workspace keeps its files in a folder
 * of its own beside the mount point. */
static int count_workspace(void *ctx, const char *dir, const char *name, struct err *err)
{
    struct measurement *c = ctx;
    autofree char *layers_owner = layers_whose(name), *path = mem_printf("%s/%s", dir, name);
    if (layers_owner && c->part == DISK_WORKSPACES)
        disk_use_add(&c->use, path);
    const char *dot = strchr(name, '.');
    bool leaves = dot && strcmp(strrchr(name, '.'), ".gone") == 0;
    bool wanted = c->part == DISK_LEAVING ? leaves : !dot;
    return wanted ? count_folder(c, dir, name, err) : 0;
}

static int count_run(void *ctx, const char *dir, const char *name, struct err *err)
{
    return count_in_run(ctx, dir, name, count_workspace, err);
}

static int count_workspaces(struct measurement *c, const struct git_repo *repo,
                            const char *state_dir, struct err *err)
{
    if (!repo->root)
        return 0;
    if (find_workspace_roots(c, repo, state_dir, err))
        return -1;
    for (size_t i = 0; i < c->workspace_roots.n; i++) {
        if (dirs_each(c->workspace_roots.v[i], count_run, c, err))
            return -1;
    }
    return 0;
}

static const struct {
    const char *folder;      /* below the state folder */
    dirs_each_fn *fn;        /* called for each entry */
    bool in_workspace_roots; /* also look in the folders of workspaces */
    const char *removal_hint;
} parts[DISK_PART_COUNT_] = {
    [DISK_WORKSPACES] = {"", NULL, true,
                         "each is removed when its task ends; 'anabranch clean' removes the rest"},
    [DISK_LEAVING] = {"/tmp", count_entry, true,
                      "deleted in the background; 'anabranch clean' deletes the rest"},
    [DISK_BASE_TREES] = {"/pristine", count_folder, false,
                         "the next run updates it; 'anabranch clean --all' removes it"},
    [DISK_SHARED] = {"/shared", count_shared_folder, false,
                     "the next run that shares it updates it; 'anabranch clean --all' removes it"},
    [DISK_LOGS] = {"/runs", count_log, false,
                   "'anabranch clean' removes them after 30 days, with --all at once"},
    [DISK_VAULT] = {"/vault", count_vault, false,
                    "'anabranch salvage drop' removes one together with its saved work"},
    [DISK_STORE] = {"", count_store_file, false, "kept: it has the history of all runs"},
};

const char *disk_end(enum disk_part part)
{
    return parts[part].removal_hint;
}

static int measure_part(struct measurement *c, const struct git_repo *repo, struct err *err)
{
    autofree char *state_dir = repo->common ? state_path(repo->common) : mem_str(".anabranch");
    autofree char *path = mem_printf("%s%s", state_dir, parts[c->part].folder);
    if (parts[c->part].in_workspace_roots && count_workspaces(c, repo, state_dir, err))
        return -1;
    return parts[c->part].fn ? dirs_each(path, parts[c->part].fn, c, err) : 0;
}

int disk_look(const struct git_repo *repo, enum disk_part part, struct disk_share *ret,
              struct err *err)
{
    struct disk_share share = {.place = BUF_INIT};
    struct measurement c = {.part = part, .use = DISK_USE_INIT, .share = &share};
    int rc = measure_part(&c, repo, err);
    share.bytes = c.use.bytes;
    share.partial = c.use.partial;
    store_close(c.store);
    strv_done(&c.runs);
    vec_done(&c.workspace_roots);
    map_done(&c.roots_by_inode);
    arena_done(&c.arena);
    disk_use_done(&c.use);
    if (rc == 0)
        *ret = share;
    else
        disk_share_done(&share);
    return rc;
}

void disk_share_done(struct disk_share *share)
{
    buf_done(&share->place);
}
