#include "workspace/overlay/layers.h"

#include "base/mem.h"
#include "base/text/str.h"
#include "git/state_paths.h"
#include "sys/contain/overlayfs.h"
#include "sys/fs/beneath.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"
#include "sys/guard/proc_table.h"
#include "sys/own_dir.h"
#include "sys/proc/capture.h"
#include "sys/self_exe.h"
#include "workspace/folder_record.h"
#include "workspace/overlay/shared_folders.h"
#include "workspace/workspace_hold.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENDING ".layers"

enum { COMMIT_MAX = 128, OUTPUT_MAX = 1 << 16, FEW = 512 };

/* A path beside the workspace: its name with a dot before and `ending` after it. */
static char *get_sibling_path(const char *workspace, const char *ending)
{
    const char *name = strrchr(workspace, '/') + 1;
    return mem_printf("%.*s.%s%s", (int)(name - workspace), workspace, name, ending);
}

char *layers_path(const char *workspace)
{
    return get_sibling_path(workspace, ENDING);
}

static char *get_layer_path(const char *workspace, const char *name)
{
    autofree char *layers = layers_path(workspace);
    return mem_printf("%s/%s", layers, name);
}

char *layers_upper(const char *workspace)
{
    return get_layer_path(workspace, "upper");
}

char *layers_whose(const char *name)
{
    return *name == '.' && str_ends(name + 1, ENDING)
               ? mem_dup(name + 1, strlen(name) - 1 - strlen(ENDING))
               : NULL;
}

char *layers_brought(const char *run_folder)
{
    return mem_printf("%s/.+brought", run_folder);
}

static char *run_folder(const char *workspace)
{
    return mem_dup(workspace, (size_t)(strrchr(workspace, '/') - workspace));
}

/* Lists the included trees of the run, which are layers below the commit's files. If somebody has
 * deleted one, we use the rest. */
static int find_included(const char *workspace, struct strv *ret, struct err *err)
{
    autofree char *folder = run_folder(workspace), *included = layers_brought(folder);
    autofree char *tree = mem_printf("%s/tree", included), *list = mem_printf("%s/kept", included);
    autostrv struct strv all = {0};
    strv_push(&all, tree);
    if (shared_folders_trees(list, &all, err))
        return -1;
    for (size_t i = 0; i < all.n; i++) {
        if (access(all.v[i], F_OK) == 0)
            strv_push(ret, all.v[i]);
    }
    return 0;
}

/* The file is empty if its writer was killed. We do not follow symlinks on the way to it. */
static bool is_commit_recorded(const char *commit)
{
    autoclose int folder = -1;
    const char *name;
    struct stat st;
    return beneath_folder_of(commit, &folder, &name, NULL) == 0 &&
           fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
           st.st_size > 0;
}

bool layers_there(const char *workspace)
{
    autofree char *commit = get_layer_path(workspace, "commit");
    return is_commit_recorded(commit);
}

bool layers_are_of(const char *workspace, const char *commit)
{
    autofree char *path = get_layer_path(workspace, "commit");
    autobuf struct buf text = BUF_INIT;
    return file_read(path, COMMIT_MAX, &text, NULL) == 0 && strcmp(text.s, commit) == 0;
}

static int record_owner(const char *workspace, struct err *err)
{
    autofree char *by = get_layer_path(workspace, "by");
    autofree char *text =
        mem_printf("%d %lld\n", (int)getpid(), (long long)proc_table_start(getpid()));
    return dirs_remove_file(by, err) || file_create(by, text, strlen(text), err) ? -1 : 0;
}

/* Opens the layers folder or a folder in it. Does not follow symlinks that somebody may have put
 * in the path. */
static int open_part(const char *workspace, const char *name, int *ret_fd, struct err *err)
{
    autofree char *path = *name ? get_layer_path(workspace, name) : layers_path(workspace);
    return beneath_folder(path, ret_fd, err);
}

/* The kernel wants an empty work folder, so we make it anew. */
static int mount_layers(const char *workspace, const struct base_tree *p, struct err *err)
{
    autofree char *tree = base_tree_tree(p), *upper = layers_upper(workspace);
    autofree char *work = get_layer_path(workspace, "work");
    autofree char *other = base_tree_tree_below(p);
    autostrv struct strv below = {0};
    if (other)
        strv_push(&below, other);
    if (find_included(workspace, &below, err))
        return -1;
    struct overlay o = {
        .lower = tree, .below = below.v, .upper = upper, .work = work, .at = workspace};
    return overlay_enter(err) || dirs_remove(work, err) || dirs_make(work, err) ||
                   overlay_mount(&o, err) || record_owner(workspace, err)
               ? -1
               : 0;
}

static int put_index(const struct workspace *ws, const struct base_tree *p, const char *index,
                     struct err *err)
{
    autofree char *to = mem_printf("%s/index", ws->admin);
    autoclose int admin = -1;
    if (workspace_open_admin(ws, &admin, err))
        return -1;
    return index && renameat(AT_FDCWD, index, admin, "index") == 0
               ? 0
               : base_tree_copy_index(p, to, err);
}

/* Once this file exists the workspace counts as one with layers. */
static int write_commit(const char *workspace, const char *commit, struct err *err)
{
    autofree char *path = get_layer_path(workspace, "commit");
    return file_create(path, commit, strlen(commit), err);
}

static int move_link(const struct workspace *ws, struct err *err)
{
    autoclose int upper = -1;
    if (open_part(ws->path, "upper", &upper, err))
        return -1;
    return renameat(ws->hold->tree, ".git", upper, ".git") < 0
               ? err_sys(err, "make the link of '%s'", ws->path)
               : 0;
}

static int make_layers(const struct workspace *ws, const struct base_tree *p, const char *index,
                       struct err *err)
{
    autofree char *layers = layers_path(ws->path), *upper = layers_upper(ws->path);
    return folder_record_make(ws->common, layers, RECORD_LAYERS, 0777, err) ||
                   dirs_make_open(upper, err) || put_index(ws, p, index, err) ||
                   move_link(ws, err) || write_commit(ws->path, p->commit, err) ||
                   mount_layers(ws->path, p, err)
               ? -1
               : 0;
}

static void undo_layers(const struct workspace *ws)
{
    autofree char *layers = layers_path(ws->path);
    autoclose int upper = -1;
    (void)overlay_unmount(ws->path, NULL);
    if (open_part(ws->path, "upper", &upper, NULL) == 0)
        (void)renameat(upper, ".git", ws->hold->tree, ".git");
    (void)workspace_drop(ws, "index", NULL);
    (void)folder_record_drop(ws->common, layers, true, NULL);
}

/* The mounted folder is not the one below it, which ws has recorded: hold the new one. */
int layers_make(struct workspace *ws, const struct base_tree *p, const char *index, struct err *err)
{
    if (make_layers(ws, p, index, err) == 0 && workspace_hold(ws, err) == 0)
        return 0;
    undo_layers(ws);
    return -1;
}

/* The process that has mounted it, if it lives and is not ours; else 0. */
static pid_t mounted_by(const char *workspace)
{
    autofree char *path = get_layer_path(workspace, "by");
    autobuf struct buf text = BUF_INIT;
    char *end;
    if (file_read(path, COMMIT_MAX, &text, NULL))
        return 0;
    pid_t pid = (pid_t)strtol(text.s, &end, 10);
    long long start = strtoll(end, NULL, 10);
    return pid > 0 && pid != getpid() && start && proc_table_start(pid) == start ? pid : 0;
}

bool layers_are_in_use(const char *workspace)
{
    return layers_there(workspace) && (mounted_by(workspace) || overlay_seen_by(workspace, NULL));
}

void layers_hold_done(struct layers_hold *h)
{
    own_close(&h->below);
    own_close(&h->own);
    own_close(&h->kept);
}

static int fail_in_use(const char *workspace, pid_t pid, struct err *err)
{
    return pid ? err_set(err, ERR_ENV, "process %d still uses '%s': end it first", (int)pid,
                         workspace)
               : err_set(err, ERR_ENV,
                         "another process, such as a shell, still uses '%s': end it first",
                         workspace);
}

/* While others see it in a namespace that we cannot enter, we must not mount it. */
static int hold_alone(const char *workspace, struct layers_hold *h, struct err *err)
{
    autofree char *lock = get_layer_path(workspace, "lock");
    if (dirs_try_lock(lock, &h->own, err))
        return -1;
    return h->own < 0 ? fail_in_use(workspace, 0, err) : 0;
}

static int read_commit(const char *workspace, struct buf *ret, struct err *err)
{
    autofree char *file = get_layer_path(workspace, "commit");
    return file_read(file, COMMIT_MAX, ret, err);
}

/* Locks the shared folders that the run uses. */
static int hold_shared(const char *workspace, const char *common, struct layers_hold *h,
                       struct err *err)
{
    autofree char *state = state_path(common), *folder = run_folder(workspace);
    return shared_folders_hold(state, strrchr(folder, '/') + 1, &h->kept, err);
}

/* Reuses `p` if it is the base tree of that commit: we hold it, so nobody has changed it. */
static int find_below(struct base_tree *p, const char *common, const char *commit, struct err *err)
{
    struct git_place at = {.git_dir = common};
    autofree char *state = state_path(common);
    if (p->commit && strcmp(p->commit, commit) == 0)
        return 0;
    base_tree_done(p);
    return base_tree_make(p, &at, state, commit, err);
}

/* Somebody may have deleted the workspace's own folder, which is empty. */
static int make_mount_point(const char *workspace, const char *common, struct err *err)
{
    autoclose int fd = -1;
    if (mkdir(workspace, 0777) < 0)
        return dirs_make_open(workspace, err);
    if (beneath_folder(workspace, &fd, NULL) == 0 && beneath_is_empty(fd))
        folder_record_add(common, workspace, RECORD_TREE, fd);
    return 0;
}

static int mount_again(const char *workspace, const char *common, struct base_tree *below,
                       struct layers_hold *h, struct err *err)
{
    autobuf struct buf commit = BUF_INIT;
    if (hold_alone(workspace, h, err) || read_commit(workspace, &commit, err) ||
        find_below(below, common, commit.s, err) || make_mount_point(workspace, common, err) ||
        hold_shared(workspace, common, h, err) || mount_layers(workspace, below, err))
        return -1;
    h->below = fcntl(below->lock, F_DUPFD_CLOEXEC, 0);
    return h->below < 0 || flock(h->own, LOCK_SH) < 0 ? err_sys(err, "lock '%s'", workspace) : 0;
}

/* The process inside holds the same locks, but it may end before us. So we hold them too. */
static int join_process(const char *workspace, const char *common, pid_t pid, struct layers_hold *h,
                        struct err *err)
{
    autobuf struct buf commit = BUF_INIT;
    autofree char *own = get_layer_path(workspace, "lock");
    if (read_commit(workspace, &commit, err))
        return -1;
    autofree char *state = mem_printf("%s/anabranch", common);
    autofree char *below = mem_printf("%s/pristine/%s/lock", state, commit.s);
    if (dirs_try_share_lock(own, &h->own, err) || dirs_try_share_lock(below, &h->below, err) ||
        hold_shared(workspace, common, h, err))
        return -1;
    if (h->own < 0 || h->below < 0)
        return fail_in_use(workspace, pid, err);
    if (overlay_join(pid, state, err))
        return -1;
    return overlay_is_at(workspace)
               ? 0
               : err_set(err, ERR_ENV, "process %d has just left the workspace: try again",
                         (int)pid);
}

/* True if layers_materialise() was killed after the workspace had become an ordinary worktree. */
static bool is_ordinary(const char *workspace)
{
    autofree char *git = mem_printf("%s/.git", workspace);
    struct stat st;
    return !overlay_is_at(workspace) && lstat(git, &st) == 0;
}

/* Once this file is gone, nobody takes the other layers for work. */
static int drop_commit(const char *workspace, struct err *err)
{
    autoclose int layers = -1;
    struct err why = {0};
    if (open_part(workspace, "", &layers, &why))
        return why.errnum == ENOENT ? 0 : err_set(err, why.code, "%s", why.msg);
    return unlinkat(layers, "commit", 0) < 0 && errno != ENOENT
               ? err_sys(err, "remove the note of '%s'", workspace)
               : 0;
}

static int drop_layers(const char *workspace, const char *common, struct err *err)
{
    autofree char *layers = layers_path(workspace);
    return drop_commit(workspace, err) || folder_record_drop(common, layers, true, err) ? -1 : 0;
}

/* If `below` is NULL, we may join the namespace of another process. */
static int enter_workspace(const char *workspace, const char *common, struct base_tree *below,
                           struct layers_hold *h, struct err *err)
{
    bool may_join = !below;
    autobase_tree struct base_tree own = BASE_TREE_INIT;
    autofree char *state = mem_printf("%s/anabranch", common);
    pid_t pid = layers_there(workspace) ? mounted_by(workspace) : 0;
    if (!layers_there(workspace) || (!pid && overlay_is_at(workspace)))
        return 0;
    if (!pid && may_join)
        pid = overlay_seen_by(workspace, state);
    if (pid)
        return may_join ? join_process(workspace, common, pid, h, err)
                        : fail_in_use(workspace, pid, err);
    if (is_ordinary(workspace))
        return drop_layers(workspace, common, err);
    return mount_again(workspace, common, below ? below : &own, h, err);
}

static int enter_or_release(const char *workspace, const char *common, struct base_tree *below,
                            struct layers_hold *ret, struct err *err)
{
    struct layers_hold h = LAYERS_HOLD_INIT;
    *ret = h;
    if (enter_workspace(workspace, common, below, &h, err)) {
        layers_hold_done(&h);
        return err_wrap(err, "workspace '%s'", workspace);
    }
    *ret = h;
    return 0;
}

int layers_see(const char *workspace, const char *common, struct layers_hold *ret, struct err *err)
{
    return enter_or_release(workspace, common, NULL, ret, err);
}

int layers_take(const char *workspace, const char *common, struct base_tree *below,
                struct layers_hold *ret, struct err *err)
{
    return enter_or_release(workspace, common, below, ret, err);
}

void layers_reach(const char *workspace, const char *common, struct strv *argv)
{
    const char *self = layers_there(workspace) ? self_path() : NULL;
    if (self)
        strv_pushl(argv, self, "__inside", common, workspace, "--", NULL);
}

bool layers_are_few(const char *workspace)
{
    autofree char *layers = layers_path(workspace);
    char *const roots[] = {layers, NULL};
    autofts FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_NOSTAT, NULL);
    int n = 0;
    while (fts && n <= FEW && fts_read(fts))
        n++;
    return fts && n <= FEW;
}

/* Once it is unmounted, the workspace's own folder is empty. */
static int remove_empty(int folder, const char *name, const char *workspace, struct err *err)
{
    if (unlinkat(folder, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
        return 0;
    return errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR
               ? err_set(err, ERR_ENV,
                         "'%s' is not empty: somebody has put files into it, so it stays",
                         workspace)
               : err_sys(err, "remove '%s'", workspace);
}

/* Identifies the layers. If the run has no record, they may be any folder. */
static int identify_folder(const char *layers, const char *common, int folder, struct file_id *ret,
                           struct err *err)
{
    struct stat st;
    if (folder_record_owner(common, layers, folder, ret) == FOLDER_OURS)
        return 0;
    if (folder_record_is_whole(common, layers))
        return err_set(err, ERR_ENV, "'%s' is not the folder that we made, so it stays", layers);
    if (fstatat(folder, strrchr(layers, '/') + 1, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return err_sys(err, "remove '%s'", layers);
    *ret = (struct file_id){.dev = st.st_dev, .ino = st.st_ino};
    return 0;
}

int layers_retire(const char *workspace, const char *common, const char *gone,
                  struct file_id *ret_id, struct err *err)
{
    autofree char *layers = layers_path(workspace);
    autoclose int folder = -1;
    const char *name, *own = strrchr(layers, '/') + 1, *as = strrchr(gone, '/') + 1;
    if (beneath_folder_of(workspace, &folder, &name, err) ||
        identify_folder(layers, common, folder, ret_id, err) || drop_commit(workspace, err) ||
        overlay_unmount(workspace, err))
        return -1;
    if (beneath_rename(folder, own, folder, as) < 0)
        return err_sys(err, "remove '%s'", layers);
    if (!file_id_is_at(ret_id, folder, as)) {
        (void)beneath_rename(folder, as, folder, own);
        return err_set(err, ERR_ENV, "'%s' is not the folder that we made, so it stays", layers);
    }
    return remove_empty(folder, name, workspace, err);
}

int layers_copy(const struct workspace *ws, const char *to, struct err *err)
{
    char *const argv[] = {"cp", "-a", "--reflink=auto", "-T", "--", ".", (char *)to, NULL};
    autobuf struct buf out = BUF_INIT, errors = BUF_INIT;
    int status;
    if (proc_capture_in(&ws->hold->tree, NULL, argv, NULL, OUTPUT_MAX, &out, &errors, &status, err))
        return -1;
    return status ? err_set(err, ERR_ENV, "copy '%s': %s", ws->path, errors.s) : 0;
}

/* The index still has the stat data of the files in the base tree. */
static void refresh_index(const struct workspace *ws)
{
    struct git_place at = workspace_place(ws);
    autostrv struct strv args = {0};
    autobuf struct buf out = BUF_INIT, errors = BUF_INIT;
    int status;
    strv_pushl(&args, "update-index", "-q", "--refresh", NULL);
    (void)git_try(&at, &args, &out, &errors, &status,
                  NULL); /* if this fails, git refreshes the index later */
}

int layers_materialise(struct workspace *ws, struct err *err)
{
    autofree char *copy = get_sibling_path(ws->path, ".new");
    autoclose int folder = -1;
    const char *name;
    if (!layers_there(ws->path))
        return 0;
    if (beneath_folder_of(ws->path, &folder, &name, err))
        return -1;
    autofree char *link = mem_printf("%s/.git", copy);
    if (workspace_enter(ws, err) || folder_record_make(ws->common, copy, RECORD_COPY, 0700, err) ||
        layers_copy(ws, copy, err))
        return -1;
    if (access(link, F_OK) < 0) /* somebody has deleted files while we copied */
        return err_sys(err, "copy '%s'", ws->path);
    workspace_let_go(ws); /* an open folder would keep the mount busy */
    if (overlay_unmount(ws->path, err))
        return -1;
    if (unlinkat(folder, name, AT_REMOVEDIR) < 0 ||
        renameat(folder, strrchr(copy, '/') + 1, folder, name) < 0)
        return err_sys(err, "make '%s'", ws->path);
    if (workspace_hold(ws, err) || workspace_note(ws, err))
        return -1;
    refresh_index(ws);
    return drop_layers(ws->path, ws->common, err);
}

/* Deletes what is left of a workspace: what was on its way in or out. */
static int tidy_entry(const char *path, const char *common, bool *ret_layers, struct err *err)
{
    const char *name = strrchr(path, '/') + 1;
    autofree char *commit = mem_printf("%s/commit", path), *owner = layers_whose(name);
    bool is_half = strchr(name, '.') && name[1] != '+';
    if (owner && is_commit_recorded(commit))
        *ret_layers = true;
    else if (is_half)
        return folder_record_drop(common, path, false, err);
    return 0;
}

int layers_tidy(const char *run_folder, const char *common, struct err *err)
{
    autodir DIR *dir = opendir(run_folder);
    autofree char *included = layers_brought(run_folder);
    bool any_layers = false;
    int rc = 0;
    if (!dir)
        return errno == ENOENT ? 0 : err_sys(err, "read '%s'", run_folder);
    for (struct dirent *e; (e = dir_next(dir));) {
        autofree char *path = mem_printf("%s/%s", run_folder, e->d_name);
        rc = tidy_entry(path, common, &any_layers, rc ? NULL : err) ? -1 : rc;
    }
    if (!any_layers && folder_record_drop(common, included, false, rc ? NULL : err))
        rc = -1;
    return rc;
}
