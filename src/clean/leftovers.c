#include "clean/leftovers.h"

#include "base/mem.h"
#include "base/text/str.h"
#include "git/state_paths.h"
#include "run/resume/evidence.h"
#include "sys/clock.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"
#include "sys/fs/known_folder.h"
#include "sys/guard/proc_table.h"
#include "sys/own_fd.h"
#include "workspace/folder_record.h"
#include "workspace/overlay/layers.h"
#include "workspace/workspace.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STARTING_MS = 60000 }; /* a run that is not in the store yet may be about to begin */

static bool is_starting(const char *dir)
{
    struct stat st;
    return stat(dir, &st) == 0 && clock_wall() - (int64_t)st.st_mtime * 1000 < STARTING_MS;
}

/* A live run holds its lock. Runs of older programs have no lock, but a process. */
static int find_alive(struct leftovers *r, struct leftover_run *run, const struct store_run *row,
                      struct err *err)
{
    autofree char *dir = run_path(r->state_dir, run->id);
    autofree char *lock = mem_printf("%s/" RUN_LOCK, dir);
    bool running = row && strcmp(row->state, "running") == 0 && row->pid_start;
    struct proc_id engine = {row ? (pid_t)row->pid : 0, row ? row->pid_start : 0};
    run->alive = running && proc_table_lives(&engine);
    if (!row && !file_exists(lock))
        run->alive = is_starting(dir);
    if (run->alive || !file_exists(lock))
        return 0;
    if (dirs_try_lock(lock, &run->lock, err))
        return -1;
    run->alive = run->lock < 0;
    return 0;
}

struct leftover_run *leftovers_run(struct leftovers *r, const char *id, struct err *err)
{
    struct leftover_run *run = map_get(&r->runs_by_id, id, RUN_ID_LEN);
    const struct store_run *row = map_get(&r->stored_runs, id, RUN_ID_LEN);
    if (run)
        return run;
    run = arena_alloc(&r->arena, sizeof(*run));
    *run = (struct leftover_run){
        .id = arena_printf(&r->arena, "%.*s", RUN_ID_LEN, id),
        .base = row && row->base ? arena_printf(&r->arena, "refs/heads/%s", row->base) : NULL,
        .state = row ? row->state : NULL,
        .lock = -1};
    (void)map_put(&r->runs_by_id, run->id, RUN_ID_LEN, run);
    vec_push(&r->runs, run);
    return find_alive(r, run, row, err) ? NULL : run;
}

static struct leftover_task *find_or_add_task(struct leftovers *r, struct leftover_run *run,
                                              const char *task, size_t len)
{
    const char *key = arena_printf(&r->arena, "%s/%.*s", run->id, (int)len, task);
    struct leftover_task *t = map_get(&r->tasks_by_key, key, strlen(key));
    if (t)
        return t;
    t = arena_alloc(&r->arena, sizeof(*t));
    *t = (struct leftover_task){.run = run, .task = key + RUN_ID_LEN + 1};
    (void)map_put(&r->tasks_by_key, key, strlen(key), t);
    vec_push(&r->tasks, t);
    return t;
}

/* Adds a folder of workspaces, `above` levels above `path`. */
static void add_workspace_root(struct leftovers *r, const char *path, int above)
{
    autofree char *work = mem_str(path);
    for (; above > 0; above--) {
        char *slash = strrchr(work, '/');
        if (!slash)
            return;
        *slash = '\0';
    }
    const char *kept = arena_str(&r->arena, work);
    if (*kept && !map_put(&r->roots_by_path, kept, strlen(kept), r))
        vec_push(&r->workspace_roots, kept);
}

/* Finds <run> in "<root>/<run>/<task>" and longer paths, or returns NULL. */
static const char *find_run_id(const char *path)
{
    for (const char *s = strchr(path, '/'); s; s = strchr(s + 1, '/')) {
        if (is_run_id(s + 1) && s[1 + RUN_ID_LEN] == '/' && s[2 + RUN_ID_LEN])
            return s + 1;
    }
    return NULL;
}

/* A workspace whose making was interrupted has only the .git file. */
static bool is_empty(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    size_t n = 0;
    if (fd >= 0 && !dir)
        (void)close(fd);
    for (struct dirent *e; dir && (e = readdir(dir));)
        n += !str_is_dots(e->d_name) && strcmp(e->d_name, ".git") != 0;
    if (dir)
        (void)closedir(dir);
    return dir && n == 0;
}

static bool has_files(const char *path)
{
    return layers_there(path) || (file_is_folder(path) && !is_empty(path));
}

/* An administrative folder of git. It is ours if its name and the path of its tree fit. */
static int add_admin(void *ctx, const char *worktrees, const char *name, struct err *err)
{
    struct leftovers *r = ctx;
    const char *admin = arena_printf(&r->arena, "%s/%s", worktrees, name);
    autofree char *file = mem_printf("%s/gitdir", admin);
    autobuf struct buf text = BUF_INIT;
    if (file_read(file, 1 << 16, &text, NULL))
        return 0;
    text.s[strcspn(text.s, "\n")] = '\0';
    char *dot_git = strrchr(text.s, '/');
    const char *id = find_run_id(text.s);
    if (!dot_git || !id || dot_git <= id + RUN_ID_LEN + 1)
        return 0;
    *dot_git = '\0';
    autofree char *own = workspace_admin_name(text.s);
    const char *task = id + RUN_ID_LEN + 1;
    bool inner = task[strcspn(task, "/")] == '/';
    if (!inner && strcmp(own, name) != 0)
        return 0;
    struct leftover_run *run = leftovers_run(r, id, err);
    if (!run)
        return -1;
    struct leftover_task *t = find_or_add_task(r, run, task, strlen(task));
    t->admin = admin;
    t->path = arena_str(&r->arena, text.s);
    t->has_admin = true;
    t->has_tree = has_files(t->path);
    t->inner = inner;
    if (!inner)
        add_workspace_root(r, t->path, 2);
    return 0;
}

static bool is_file(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Something beside the workspaces of a dead run: a tree that was being removed or was in the pool,
 * or what somebody else has put there. */
static void add_other(struct leftovers *r, const char *path)
{
    autoclose int folder = -1;
    const char *name;
    struct file_id id;
    if (!file_is_folder(path) || beneath_folder_of(path, &folder, &name, NULL))
        return;
    enum folder_owner owner = folder_record_owner(r->repo->common, path, folder, &id);
    bool gone = str_ends(name, FOLDER_GONE);
    autofree char *known = owner == FOLDER_OURS ? known_folder(path, &id) : NULL;
    if (gone && known)
        vec_push(&r->retired, arena_str(&r->arena, known));
    else if (owner == FOLDER_FOREIGN || (gone && !known))
        vec_push(&r->foreign, arena_str(&r->arena, path));
}

/* A folder "<root>/<run>/<task>", or one beside it. */
static int add_tree(void *ctx, const char *dir, const char *name, struct err *err)
{
    struct leftovers *r = ctx;
    autofree char *layers_owner = layers_whose(name);
    autofree char *whole = mem_printf("%s/%s", dir, name);
    struct leftover_run *run = leftovers_run(r, strrchr(dir, '/') + 1, err);
    if (!run)
        return -1;
    if (is_file(whole)) { /* all that we make there are folders */
        if (!run->alive)
            vec_push(&r->foreign, arena_str(&r->arena, whole));
        return 0;
    }
    if (strchr(name, '.') && !run->alive)
        add_other(r, whole);
    if (layers_owner)
        name = arena_str(&r->arena, layers_owner);
    const char *path = arena_printf(&r->arena, "%s/%s", dir, name);
    if (strchr(name, '.') || (layers_owner && !layers_there(path))) /* layers without a workspace */
        return 0;
    struct leftover_task *t = find_or_add_task(r, run, name, strlen(name));
    t->path = path;
    t->has_tree = has_files(path);
    autofree char *admin = workspace_admin_name(path);
    t->admin =
        t->admin ? t->admin : arena_printf(&r->arena, "%s/worktrees/%s", r->repo->common, admin);
    return 0;
}

static int add_run_folder(void *ctx, const char *dir, const char *name, struct err *err)
{
    struct leftovers *r = ctx;
    autofree char *path = mem_printf("%s/%s", dir, name);
    return is_run_id(name) && !name[RUN_ID_LEN] ? dirs_each(path, add_tree, r, err) : 0;
}

static int add_branches(struct leftovers *r, struct err *err)
{
    struct git_place at = {.git_dir = r->repo->common};
    static const char prefix[] = "refs/heads/anabranch/";
    autobuf struct buf out = BUF_INIT;
    if (git_call(&at, &out, err, "for-each-ref", "--format=%(refname)", prefix, NULL))
        return -1;
    for (char *next = out.s, *ref; (ref = strsep(&next, "\n")) && *ref;) {
        const char *id = ref + strlen(prefix), *task = id + RUN_ID_LEN + 1;
        if (!is_run_id(id) || id[RUN_ID_LEN] != '/' || strchr(task, '/'))
            continue;
        struct leftover_run *run = leftovers_run(r, id, err);
        if (!run)
            return -1;
        find_or_add_task(r, run, task, strlen(task))->branch = arena_str(&r->arena, ref);
    }
    return 0;
}

/* Branches that runs have named by patterns of their own. */
struct branch_search {
    struct leftovers *r;
    const char *pattern;
    struct strv args;  /* arguments for git: their refs */
    struct map by_ref; /* value: "RUN/TASK" */
};

static bool add_expected_name(void *ctx, const struct store_task *row)
{
    struct branch_search *n = ctx;
    autofree char *name = evidence_branch(n->pattern, row->run, row->id);
    const char *ref = arena_str(&n->r->arena, name);
    strv_push(&n->args, ref);
    (void)map_put(&n->by_ref, ref, strlen(ref),
                  arena_printf(&n->r->arena, "%s/%s", row->run, row->id));
    return true;
}

/* We cannot rebuild names with a random part: skip patterns with two placeholders. */
static int list_expected_names(struct branch_search *n, struct err *err)
{
    const struct leftovers *r = n->r;
    for (size_t i = 0; i < r->stored_ids.n; i++) {
        autofree char *path = run_file_path(r->state_dir, r->stored_ids.v[i], RUN_BRANCHES);
        autobuf struct buf pattern = BUF_INIT;
        if (file_read(path, 4096, &pattern, NULL) ||
            strchr(pattern.s, '{') != strrchr(pattern.s, '{'))
            continue;
        n->pattern = pattern.s;
        if (store_each_task(r->store, r->stored_ids.v[i], add_expected_name, n, err))
            return -1;
    }
    return 0;
}

static int find_named(struct branch_search *n, struct err *err)
{
    struct git_place at = {.git_dir = n->r->repo->common};
    autobuf struct buf out = BUF_INIT, errout = BUF_INIT;
    int status;
    if (git_try(&at, &n->args, &out, &errout, &status, err))
        return -1;
    if (status != 0)
        return err_set(err, ERR_ENV, "git for-each-ref: %s", errout.s);
    for (char *next = out.s, *ref; (ref = strsep(&next, "\n")) && *ref;) {
        const char *key = map_get(&n->by_ref, ref, strlen(ref));
        struct leftover_run *run = key && is_run_id(key) ? leftovers_run(n->r, key, err) : NULL;
        if (key && is_run_id(key) && !run)
            return -1;
        if (run)
            find_or_add_task(n->r, run, key + RUN_ID_LEN + 1, strlen(key) - RUN_ID_LEN - 1)
                ->branch = arena_str(&n->r->arena, ref);
    }
    return 0;
}

static int add_named_branches(struct leftovers *r, struct err *err)
{
    struct branch_search n = {.r = r};
    strv_pushl(&n.args, "for-each-ref", "--format=%(refname)", NULL);
    size_t before = n.args.n;
    int rc = r->store ? list_expected_names(&n, err) : 0;
    if (rc == 0 && n.args.n > before)
        rc = find_named(&n, err);
    strv_done(&n.args);
    map_done(&n.by_ref);
    return rc;
}

/* The user's worktrees may hold workspaces, and keep branches checked out. */
static int add_worktrees(struct leftovers *r, struct err *err)
{
    struct git_place at = {.git_dir = r->repo->common, .live = true};
    autobuf struct buf out = BUF_INIT;
    const char *path = NULL;
    if (git_call(&at, &out, err, "worktree", "list", "--porcelain", "-z", NULL))
        return -1;
    for (const char *s = out.s; s < out.s + out.len; s += strlen(s) + 1) {
        if (strncmp(s, "worktree ", 9) == 0) {
            path = arena_str(&r->arena, s + 9);
            const char *work = arena_printf(&r->arena, "%s/.anabranch/worktrees", path);
            add_workspace_root(r, work, 0);
        } else if (path && strncmp(s, "branch ", 7) == 0 && !find_run_id(path)) {
            const char *branch = arena_str(&r->arena, s + 7);
            (void)map_put(&r->checked_out, branch, strlen(branch), (void *)path);
        }
    }
    return 0;
}

const char *leftovers_checkout(const struct leftovers *r, const char *branch)
{
    return map_get(&r->checked_out, branch, strlen(branch));
}

static bool add_stored_root(void *ctx, const struct store_task *row)
{
    if (row->workspace)
        add_workspace_root(ctx, row->workspace, 2);
    return true;
}

static bool add_stored_run(void *ctx, const struct store_run *row)
{
    struct leftovers *r = ctx;
    struct store_run *kept = arena_alloc(&r->arena, sizeof(*kept));
    *kept = (struct store_run){.id = arena_str(&r->arena, row->id),
                               .base = row->base ? arena_str(&r->arena, row->base) : NULL,
                               .state = arena_str(&r->arena, row->state),
                               .pid = row->pid,
                               .pid_start = row->pid_start};
    (void)map_put(&r->stored_runs, kept->id, strlen(kept->id), kept);
    strv_push(&r->stored_ids, kept->id);
    return true;
}

static int add_stored_runs(struct leftovers *r, struct err *err)
{
    if (r->store && store_each_run(r->store, add_stored_run, r, err))
        return -1;
    for (size_t i = 0; i < r->stored_ids.n; i++) {
        if (store_each_task(r->store, r->stored_ids.v[i], add_stored_root, r, err))
            return -1;
    }
    return 0;
}

static bool add_stored_details(void *ctx, const struct store_task *row)
{
    struct leftovers *r = ctx;
    autofree char *key = mem_printf("%s/%s", row->run, row->id);
    struct leftover_task *t = map_get(&r->tasks_by_key, key, strlen(key));
    if (!t)
        return true;
    t->state = arena_str(&r->arena, row->state);
    t->start = row->start_commit ? arena_str(&r->arena, row->start_commit) : NULL;
    t->attempts = row->attempts;
    if (!t->branch && row->branch)
        t->branch = arena_printf(&r->arena, "refs/heads/%s", row->branch);
    return true;
}

/* The first entry of a branch's reflog is its start. */
static const char *find_branch_start(struct leftovers *r, const char *branch)
{
    autofree char *path = mem_printf("%s/logs/%s", r->repo->common, branch);
    autobuf struct buf text = BUF_INIT;
    if (file_read(path, 1 << 20, &text, NULL))
        return NULL;
    const char *id = strchr(text.s, ' ');
    return id ? arena_printf(&r->arena, "%.*s", (int)strcspn(id + 1, " "), id + 1) : NULL;
}

static int complete_task(struct leftovers *r, struct leftover_task *t, struct err *err)
{
    struct git_place at = {.git_dir = r->repo->common};
    autobuf struct buf commit = BUF_INIT;
    struct err none = {0};
    if (r->store && !t->run->tasks_loaded &&
        store_each_task(r->store, t->run->id, add_stored_details, r, err))
        return -1;
    t->run->tasks_loaded = true;
    if (t->branch && git_resolve(&at, t->branch, &commit, &none))
        t->branch = NULL;
    if (!t->start && t->branch)
        t->start = find_branch_start(r, t->branch);
    return 0;
}

/* Adds live runs even if we find nothing else of them. */
static int add_live_runs(struct leftovers *r, struct err *err)
{
    for (size_t i = 0; i < r->stored_ids.n; i++) {
        const struct store_run *row =
            map_get(&r->stored_runs, r->stored_ids.v[i], strlen(r->stored_ids.v[i]));
        if (strcmp(row->state, "running") == 0 && is_run_id(row->id) &&
            !leftovers_run(r, row->id, err))
            return -1;
    }
    return 0;
}

static int find_in_repository(struct leftovers *r, struct err *err)
{
    autofree char *worktrees = mem_printf("%s/worktrees", r->repo->common);
    if (dirs_each(worktrees, add_admin, r, err) || add_worktrees(r, err))
        return -1;
    for (size_t i = 0; i < r->workspace_roots.n; i++) {
        if (dirs_each(r->workspace_roots.v[i], add_run_folder, r, err))
            return -1;
    }
    if (add_branches(r, err) || add_named_branches(r, err))
        return -1;
    for (size_t i = 0; i < r->tasks.n; i++) {
        if (complete_task(r, r->tasks.v[i], err))
            return -1;
    }
    return 0;
}

int leftovers_find(struct leftovers *r, const struct git_repo *repo, const char *state_dir,
                   struct store *store, struct err *err)
{
    *r = (struct leftovers){.repo = repo, .state_dir = state_dir, .store = store};
    if (add_stored_runs(r, err) || add_live_runs(r, err))
        return -1;
    return repo->root ? find_in_repository(r, err) : 0;
}

bool leftovers_any_alive(const struct leftovers *r)
{
    for (size_t i = 0; i < r->runs.n; i++) {
        if (r->runs.v[i]->alive)
            return true;
    }
    return false;
}

void leftovers_done(struct leftovers *r)
{
    for (size_t i = 0; i < r->runs.n; i++)
        own_close(&r->runs.v[i]->lock);
    vec_done(&r->runs);
    vec_done(&r->tasks);
    vec_done(&r->workspace_roots);
    vec_done(&r->retired);
    vec_done(&r->foreign);
    strv_done(&r->stored_ids);
    map_done(&r->stored_runs);
    map_done(&r->runs_by_id);
    map_done(&r->tasks_by_key);
    map_done(&r->roots_by_path);
    map_done(&r->checked_out);
    arena_done(&r->arena);
}
