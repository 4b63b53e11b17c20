#include "clean/disk_use.h"

#include "base/mem.h"
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

/* What is being counted, and where. */
struct counting {
    struct arena arena;      /* holds the paths of: */
    VEC(const char *) works; /* folders in which workspaces are made */
    struct map works_by_id;
    struct strv runs; /* that the store knows */
    struct store *store;
    enum disk_part part;
    struct disk_use use;
    struct disk_share *share;
};

static int count_entry(void *ctx, const char *dir, const char *name, struct err *err)
{
    struct counting *c = ctx;
    autofree char *path = mem_printf("%s/%s", dir, name);
    (void)err;
    if (!c->share->count++)
        buf_addstr(&c->share->place, dir);
    disk_use_add(&c->use, path);
    return 0;
}

static bool is_folder(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int count_folder(void *ctx, const char *dir, const char *name, struct err *err)
{
    autofree char *path = mem_printf("%s/%s", dir, name);
    return is_folder(path) ? count_entry(ctx, dir, name, err) : 0;
}

static int count_kept(void *ctx, const char *dir, const char *name, struct err *err)
{
    struct counting *c = ctx;
    return shared_folders_is_name(name) ? count_entry(c, dir, name, err) : 0;
}

static int count_log(void *ctx, const char *dir, const char *name, struct err *err)
{
    struct counting *c = ctx;
    return is_run_id(name) && !name[RUN_ID_LEN] ? count_entry(c, dir, name, err) : 0;
}

/* The folder of a run: one bundle for each salvage, by task. */
static int count_bundle(void *ctx, const char *dir, const char *name, struct err *err)
{
    size_t len = strlen(name), end = strlen(VAULT_ENDING);
    return len > end && strcmp(name + len - end, VAULT_ENDING) == 0
               ? count_entry(ctx, dir, name, err)
               : 0;
}

static int count_bundles(void *ctx, const char *dir, const char *name, struct err *err)
{
    autofree char *path = mem_printf("%s/%s", dir, name);
    return is_folder(path) ? dirs_each(path, count_bundle, ctx, err) : 0;
}

/* Its place is the vault itself, which has the folders of runs. */
static int count_vault(void *ctx, const char *dir, const char *name, struct err *err)
{
    struct counting *c = ctx;
    autofree char *path = mem_printf("%s/%s", dir, name);
    size_t before = c->share->count;
    if (!is_run_id(name) || name[RUN_ID_LEN] || !is_folder(path))
        return 0;
    int rc = dirs_each(path, count_bundles, c, err);
    if (!before && c->share->count) {
        buf_cut(&c->share->place, 0);
        buf_addstr(&c->share->place, dir);
    }
    return rc;
}

static int count_store(void *ctx, const char *dir, const char *name, struct err *err)
{
    struct counting *c = ctx;
    return strncmp(name, "state.db", strlen("state.db")) == 0 ? count_entry(c, dir, name, err) : 0;
}

/* --- where workspaces are ----------------------------------------------------------------- */

/* It may be named in more than one way. */
static void note_work(struct counting *c, const char *path)
{
    struct stat st;
    if (*path != '/' || stat(path, &st) < 0)
        return;
    const uint64_t id[] = {(uint64_t)st.st_dev, (uint64_t)st.st_ino};
    const char *key = arena_dup(&c->arena, id, sizeof(id));
    if (!map_put(&c->works_by_id, key, sizeof(id), c))
        vec_push(&c->works, arena_str(&c->arena, path));
}

/* Given the path of a workspace: two above it. */
static void note_above(struct counting *c, const char *workspace)
{
    autofree char *work = mem_str(workspace);
    for (int i = 0; i < 2; i++) {
        char *slash = strrchr(work, '/');
        if (!slash)
            return;
        *slash = '\0';
    }
    note_work(c, work);
}

static void note_root(struct counting *c, const char *root)
{
    autofree char *work = mem_printf("%s/.anabranch/worktrees", root);
    note_work(c, work);
}

/* An administrative folder of git's: of a workspace, or of a worktree in which there may be some.
 */
static int note_admin(void *ctx, const char *dir, const char *name, struct err *err)
{
    struct counting *c = ctx;
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
        note_above(c, text.s);
    else
        note_root(c, text.s);
    return 0;
}

static bool note_run(void *ctx, const struct store_run *row)
{
    struct counting *c = ctx;
    strv_push(&c->runs, row->id);
    return true;
}

static bool take_task(void *ctx, const struct store_task *row)
{
    if (row->workspace)
        note_above(ctx, row->workspace);
    return true;
}

/* A store that cannot be read does not hide what is in the usual places. */
static void note_stored(struct counting *c, const char *state_dir)
{
    struct err none = {0};
    if (store_open(&c->store, state_dir, false, &none) ||
        store_each_run(c->store, note_run, c, &none))
        return;
    for (size_t i = 0; i < c->runs.n; i++)
        (void)store_each_task(c->store, c->runs.v[i], take_task, c, &none);
}

/* The first work tree is the one that the repository's folder is in. */
static int find_works(struct counting *c, const struct git_repo *repo, const char *state_dir,
                      struct err *err)
{
    autofree char *worktrees = mem_printf("%s/worktrees", repo->common);
    autofree char *first = mem_str(repo->common);
    char *slash = strrchr(first, '/');
    if (slash)
        *slash = '\0';
    note_root(c, repo->root);
    note_root(c, first);
    note_stored(c, state_dir);
    return dirs_each(worktrees, note_admin, c, err);
}

/* --- what is in them ---------------------------------------------------------------------- */

/* "<run>/<task>", or what retiring one made of its name. Of those that are made of layers that is
 * but the place where they are seen. */
static int count_tree(void *ctx, const char *dir, const char *name, struct err *err)
{
    struct counting *c = ctx;
    autofree char *whose = layers_whose(name), *path = mem_printf("%s/%s", dir, name);
    if (whose && c->part == DISK_WORKSPACES)
        disk_use_add(&c->use, path);
    const char *dot = strchr(name, '.');
    bool leaves = dot && strcmp(strrchr(name, '.'), ".gone") == 0;
    bool wanted = c->part == DISK_LEAVING ? leaves : !dot;
    return wanted ? count_folder(c, dir, name, err) : 0;
}

static int count_run(void *ctx, const char *dir, const char *name, struct err *err)
{
    struct counting *c = ctx;
    autofree char *path = mem_printf("%s/%s", dir, name);
    size_t before = c->share->count;
    if (!is_run_id(name) || name[RUN_ID_LEN])
        return 0;
    int rc = dirs_each(path, count_tree, c, err);
    if (!before && c->share->count) {
        buf_cut(&c->share->place, 0);
        buf_addstr(&c->share->place, dir);
    }
    return rc;
}

static int count_works(struct counting *c, const struct git_repo *repo, const char *state_dir,
                       struct err *err)
{
    if (!repo->root)
        return 0;
    if (find_works(c, repo, state_dir, err))
        return -1;
    for (size_t i = 0; i < c->works.n; i++) {
        if (dirs_each(c->works.v[i], count_run, c, err))
            return -1;
    }
    return 0;
}

/* --- the parts ---------------------------------------------------------------------------- */

static const struct {
    const char *folder; /* below that of the state */
    dirs_each_fn *fn;   /* of its entries */
    bool works;         /* also below the folders of workspaces */
    const char *end;
} parts[DISK_PART_COUNT_] = {
    [DISK_WORKSPACES] = {"", NULL, true,
                         "each goes when its task is over; what stays, 'anabranch clean' removes"},
    [DISK_LEAVING] = {"/tmp", count_entry, true,
                      "deleted in the background; 'anabranch clean' deletes what was left"},
    [DISK_PRISTINE] = {"/pristine", count_folder, false,
                       "the next run brings it forward; 'anabranch clean --all' removes it"},
    [DISK_SHARED] = {"/shared", count_kept, false,
                     "the next run that shares it brings it up to date; 'anabranch clean --all' "
                     "removes it"},
    [DISK_LOGS] = {"/runs", count_log, false,
                   "'anabranch clean' removes them after 30 days, with --all at once"},
    [DISK_VAULT] = {"/vault", count_vault, false,
                    "'anabranch salvage drop' removes one with the saved work that it is of"},
    [DISK_STORE] = {"", count_store, false, "it stays: it has the history of all runs"},
};

const char *disk_end(enum disk_part part)
{
    return parts[part].end;
}

static int count(struct counting *c, const struct git_repo *repo, struct err *err)
{
    autofree char *state_dir = repo->common ? state_path(repo->common) : mem_str(".anabranch");
    autofree char *path = mem_printf("%s%s", state_dir, parts[c->part].folder);
    if (parts[c->part].works && count_works(c, repo, state_dir, err))
        return -1;
    return parts[c->part].fn ? dirs_each(path, parts[c->part].fn, c, err) : 0;
}

int disk_look(const struct git_repo *repo, enum disk_part part, struct disk_share *ret,
              struct err *err)
{
    struct disk_share share = {.place = BUF_INIT};
    struct counting c = {.part = part, .use = DISK_USE_INIT, .share = &share};
    int rc = count(&c, repo, err);
    share.bytes = c.use.bytes;
    share.partial = c.use.partial;
    store_close(c.store);
    strv_done(&c.runs);
    vec_done(&c.works);
    map_done(&c.works_by_id);
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
