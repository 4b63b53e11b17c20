#include "workspace/workspace.h"

#include "base/mem.h"
#include "git/state_paths.h"
#include "git/unsynced.h"
#include "sys/contain/overlayfs.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"
#include "sys/fs/known_folder.h"
#include "sys/own_dir.h"
#include "workspace/folder_record.h"
#include "workspace/overlay/layers.h"
#include "workspace/workspace_hold.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ADMIN_TRIES = 2000, HEAD_MAX = 4096 };

void workspace_done(struct workspace *ws)
{
    free(ws->path);
    free(ws->admin);
    free(ws->common);
    free(ws->branch);
    workspace_hold_free(ws->hold);
    *ws = (struct workspace){0};
}

/* git cannot start in a deleted folder. */
void workspace_set_tree(const struct workspace *ws, struct git_place *at)
{
    bool open = ws->hold && ws->hold->tree >= 0 && workspace_is_there(ws);
    at->work_tree = open ? workspace_at(ws) : ws->path;
    at->tree = open ? &ws->hold->tree : NULL;
}

struct git_place workspace_place(const struct workspace *ws)
{
    struct git_place at = {.batch = ws->batch, .git_dir = ws->admin, .common = ws->common};
    workspace_set_tree(ws, &at);
    return at;
}

int workspace_head(const struct workspace *ws, struct buf *out, struct err *err)
{
    struct git_place at = workspace_place(ws);
    autofree char *path = mem_printf("%s/HEAD", ws->admin);
    autobuf struct buf head = BUF_INIT;
    if (file_read(path, HEAD_MAX, &head, NULL) || !head.len)
        return git_resolve(&at, "HEAD", out, err);
    head.s[strcspn(head.s, "\n")] = '\0';
    return git_resolve(&at, strncmp(head.s, "ref: ", 5) == 0 ? head.s + 5 : head.s, out, err);
}

void workspace_fill(const struct workspace *ws, struct strv *argv, struct strv *env)
{
    struct git_place at = workspace_place(ws);
    git_prepare(&at, argv, env);
    strv_pushl(argv, "read-tree", "-m", "-u", "HEAD", NULL);
}

static int write_file(const char *dir, const char *name, struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

static int write_file(const char *dir, const char *name, struct err *err, const char *fmt, ...)
{
    autofree char *path = mem_printf("%s/%s", dir, name);
    autobuf struct buf text = BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    buf_addv(&text, fmt, ap);
    va_end(ap);
    return file_create(path, text.s, text.len, err);
}

/* Writes the administrative folder into `dir`, in the form of git-worktree(1). */
static int write_admin(const struct workspace *ws, const char *dir, const char *head,
                       struct err *err)
{
    autobuf struct buf note = BUF_INIT;
    if (ws->hold)
        workspace_format_note(ws, &note);
    return dirs_make(dir, err) ||
                   (note.len && write_file(dir, WORKSPACE_NOTE, err, "%s", note.s)) ||
                   write_file(dir, "gitdir", err, "%s/.git\n", ws->path) ||
                   write_file(dir, "commondir", err, "../..\n") ||
                   write_file(dir, "HEAD", err, "%s\n", head) ||
                   write_file(dir, "locked", err, "in use by anabranch\n")
               ? -1
               : 0;
}

/* git reads the whole HEAD file, so we limit its size more strictly. */
static bool blocks_git(const char *name, const struct stat *st)
{
    off_t max = strcmp(name, "HEAD") == 0 ? HEAD_MAX : FILE_LARGE;
    return !S_ISDIR(st->st_mode) && (!S_ISREG(st->st_mode) || st->st_size > max);
}

/* Without a HEAD git does not accept the folder as a repository's. */
static void restore_head(const struct workspace *ws, int admin)
{
    if (!ws->branch || !*ws->branch)
        return;
    autofree char *head = mem_printf("ref: %s\n", ws->branch);
    autoclose int fd = openat(admin, "HEAD", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) /* if we cannot make it, it stays missing */
        (void)!write(fd, head, strlen(head));
}

void workspace_unclog(const struct workspace *ws)
{
    autoclose int admin = -1;
    if (workspace_open_admin(ws, &admin, NULL)) /* it is not our folder */
        return;
    autodir DIR *dir = dir_list(admin);
    struct stat st;
    for (const struct dirent *e; (e = dir_next(dir));) {
        if (fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            blocks_git(e->d_name, &st))
            (void)unlinkat(dirfd(dir), e->d_name,
                           0); /* if this fails, git will report the problem */
    }
    restore_head(ws, admin);
}

/* The last two parts of the path: no other worktree uses that name. */
char *workspace_admin_name(const char *path)
{
    const char *task = strrchr(path, '/'), *run = task;
    while (run > path && run[-1] != '/')
        run--;
    return mem_printf("%.*s-%s", (int)(task - run), run, task + 1);
}

static void record_admin(const struct workspace *ws, const char *aside)
{
    autoclose int admin = -1;
    if (beneath_folder(aside, &admin, NULL) == 0)
        folder_record_add(ws->common, ws->path, RECORD_ADMIN, admin);
}

/* Makes the tree's folder, and the administrative folder at `aside`. */
static int write_folders(struct workspace *ws, const char *aside, const char *head, struct err *err)
{
    return dirs_remove(aside, err) || workspace_make_tree(ws, err) ||
                   write_file(workspace_at(ws), ".git", err, "gitdir: %s\n", ws->admin) ||
                   write_admin(ws, aside, head, err) || workspace_hold_admin(ws, aside, err)
               ? -1
               : (record_admin(ws, aside), 0);
}

/* Retries: git removes the folder `worktrees` whenever it is empty, for example in each `git gc`.
 */
static int place_admin(const struct workspace *ws, const char *aside, struct err *err)
{
    autofree char *worktrees = mem_printf("%s/worktrees", ws->common);
    for (int tries = 1;; tries++) {
        if (dirs_make(worktrees, err))
            return -1;
        if (rename(aside, ws->admin) == 0)
            return 0;
        if (errno != ENOENT || tries == ADMIN_TRIES)
            return err_sys(err, "make '%s'", ws->admin);
    }
}

static int write_metadata(struct workspace *ws, const char *commit, struct err *err)
{
    autofree char *name = workspace_admin_name(ws->path);
    autofree char *aside = state_tmp_file_path(ws->common, name);
    autofree char *head = mem_printf("ref: %s", ws->branch);
    struct git_place at = {.batch = ws->batch, .git_dir = ws->common};
    bool moved;
    ws->admin = mem_printf("%s/worktrees/%s", ws->common, name);
    if (write_folders(ws, aside, head, err))
        return -1;
    if (git_move_ref(&at, ws->branch, "", commit, "anabranch: begin", &moved, err))
        return -1;
    if (!moved)
        return err_set(err, ERR_ENV, "branch '%s' already exists", ws->branch);
    return place_admin(ws, aside, err);
}

/* Removes the parts of a workspace that could not be made. The tree has nothing but its `.git`. */
static void remove_parts(const struct workspace *ws)
{
    autofree char *name = workspace_admin_name(ws->path);
    autofree char *aside = state_tmp_file_path(ws->common, name);
    autofree char *gone = folder_new_name(ws->path, FOLDER_GONE);
    struct file_id id;
    (void)dirs_remove(aside, NULL);
    if (!ws->hold || workspace_move_tree(ws, gone, &id, NULL))
        return;
    autofree char *tree = known_folder(gone, &id);
    (void)known_folder_remove(tree, NULL);
}

int workspace_create(struct workspace *ws, const struct git_repo *repo, const char *path,
                     const char *branch, const char *commit, struct git_batch *batch,
                     struct err *err)
{
    *ws = (struct workspace){.path = mem_str(path),
                             .common = mem_str(repo->common),
                             .branch = mem_str(branch),
                             .batch = batch};
    autofree char *lock = state_lock_path(repo->common);
    autoclose int fd = -1;
    struct stat st;
    if (lstat(path, &st) == 0)
        return err_set(err, ERR_ENV, "'%s' already exists", path);
    if (dirs_lock(lock, &fd, err))
        return -1;
    if (write_metadata(ws, commit, err) == 0)
        return 0;
    remove_parts(ws);
    return err_wrap(err, "workspace '%s'", path);
}

int workspace_repair(struct workspace *ws, const char *commit, struct err *err)
{
    autofree char *name = workspace_admin_name(ws->path);
    autofree char *lock = state_lock_path(ws->common);
    autofree char *tmp = state_tmp_path(ws->common);
    autofree char *aside = mem_printf("%s/%s", tmp, name);
    autofree char *head = ws->branch ? mem_printf("ref: %s", ws->branch) : mem_str(commit);
    autoclose int fd = -1;
    free(ws->admin);
    ws->admin = mem_printf("%s/worktrees/%s", ws->common, name);
    return dirs_make(tmp, err) || dirs_lock(lock, &fd, err) || dirs_remove(aside, err) ||
                   write_admin(ws, aside, head, err) ||
                   (record_admin(ws, aside), workspace_move_other_admin(ws, err)) ||
                   (ws->hold && workspace_hold_admin(ws, aside, err)) || place_admin(ws, aside, err)
               ? -1
               : 0;
}

bool workspace_is_large(const struct workspace *ws)
{
    autofree char *index = mem_printf("%s/index", ws->admin);
    struct stat st;
    if (layers_there(ws->path))
        return !layers_are_few(ws->path);
    return stat(index, &st) == 0 && st.st_size > WORKSPACE_LARGE_INDEX;
}

/* The first line of a file without a prefix and a suffix, which it must have; else NULL. */
static char *read_line(const char *dir, const char *name, const char *before, const char *after)
{
    autofree char *path = mem_printf("%s/%s", dir, name);
    autobuf struct buf text = BUF_INIT;
    if (file_read_own(path, 1 << 16, &text, NULL))
        return NULL;
    buf_cut(&text, strcspn(text.s, "\n"));
    size_t head = strlen(before), tail = strlen(after);
    if (text.len < head + tail || strncmp(text.s, before, head) != 0 ||
        strcmp(text.s + text.len - tail, after) != 0)
        return NULL;
    return mem_dup(text.s + head, text.len - head - tail);
}

void workspace_adopt(struct workspace *ws, const struct git_repo *repo, const char *path,
                     const char *otherwise, const char *branch, struct git_batch *batch)
{
    autofree char *name = workspace_admin_name(path ? path : otherwise);
    *ws = (struct workspace){.common = mem_str(repo->common),
                             .branch = mem_str(branch),
                             .admin = mem_printf("%s/worktrees/%s", repo->common, name),
                             .batch = batch};
    autofree char *recorded = path ? NULL : read_line(ws->admin, "gitdir", "", "/.git");
    ws->path = mem_str(path ? path : recorded ? recorded : otherwise);
}

bool workspace_has_tree(const struct workspace *ws)
{
    autobuf struct buf words = BUF_INIT;
    int fd = open(ws->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool unreadable = fd < 0 && errno == EACCES; /* then we assume that there are files */
    autodir DIR *dir = dir_take(fd);
    return (unreadable || dir_next(dir)) && !workspace_is_replaced(ws, &words);
}

bool workspace_is_whole(const struct workspace *ws)
{
    autobuf struct buf words = BUF_INIT;
    autofree char *tree = read_line(ws->admin, "gitdir", "", "/.git");
    autofree char *admin = read_line(ws->path, ".git", "gitdir: ", "");
    autofree char *head = read_line(ws->admin, "HEAD", "", "");
    autofree char *common = read_line(ws->admin, "commondir", "", "");
    return tree && admin && head && *head && common && strcmp(tree, ws->path) == 0 &&
           strcmp(admin, ws->admin) == 0 && !workspace_is_replaced(ws, &words);
}

/* A new path for its administrative folder, before that is deleted. */
static char *get_admin_aside(const struct workspace *ws)
{
    autofree char *name = workspace_admin_name(ws->path);
    autofree char *aside = state_tmp_file_path(ws->common, name);
    return folder_new_name(aside, FOLDER_GONE);
}

int workspace_restore(struct workspace *ws, struct err *err)
{
    autofree char *head = mem_printf("ref: %s", ws->branch);
    autofree char *name = workspace_admin_name(ws->path), *old = get_admin_aside(ws);
    autofree char *aside = state_tmp_file_path(ws->common, name);
    autofree char *lock = state_lock_path(ws->common);
    autobuf struct buf words = BUF_INIT;
    autoclose int fd = -1;
    struct file_id id;
    if (workspace_is_replaced(ws, &words))
        return err_set(err, ERR_ENV, "%s", words.s);
    if (layers_there(ws->path) && !overlay_is_at(ws->path))
        return err_set(err, ERR_ENV, "cannot see the files of '%s'", ws->path);
    if (dirs_lock(lock, &fd, err) || workspace_remove_link(ws, err) ||
        workspace_move_admin(ws, old, &id, err) || workspace_move_other_admin(ws, err) ||
        write_folders(ws, aside, head, err) || place_admin(ws, aside, err))
        return err_wrap(err, "workspace '%s'", ws->path);
    autofree char *gone = known_folder(old, &id);
    return known_folder_remove(gone, err);
}

void workspace_release(const struct workspace *ws)
{
    if (!layers_there(ws->path))
        (void)workspace_drop(ws, "locked", NULL);
}

/* Renames the tree beside the workspace. *ret_gone is the folder to delete; the caller frees it. */
static int move_tree(const struct workspace *ws, char **ret_gone, struct err *err)
{
    autofree char *gone = folder_new_name(ws->path, FOLDER_GONE);
    struct file_id id;
    int rc = layers_there(ws->path) ? layers_retire(ws->path, ws->common, gone, &id, err)
                                    : workspace_move_tree(ws, gone, &id, err);
    if (rc == 0)
        *ret_gone = known_folder(gone, &id);
    return rc;
}

int workspace_clear(const struct workspace *ws, struct err *err)
{
    autofree char *gone = NULL;
    return unsynced_settle(ws->common, err) || move_tree(ws, &gone, err) ||
                   known_folder_remove(gone, err)
               ? -1
               : 0;
}

int workspace_retire(struct workspace *ws, struct strv *ret_left, struct err *err)
{
    autofree char *lock = state_lock_path(ws->common);
    autofree char *aside = get_admin_aside(ws), *tree = NULL;
    autoclose int fd = -1;
    struct file_id id;
    if (unsynced_settle(ws->common, err) || dirs_lock(lock, &fd, err))
        return -1;
    struct stat st;
    if (move_tree(ws, &tree, err))
        return -1;
    if (lstat(ws->path, &st) == 0) /* the record says so */
        return err_set(err, ERR_ENV, "'%s' is not the folder that we made, so it stays", ws->path);
    if (workspace_move_admin(ws, aside, &id, err))
        return -1;
    autofree char *admin = known_folder(aside, &id);
    strv_pushl(ret_left, admin, tree, NULL);
    return 0;
}

int workspace_forget(const struct workspace *ws, struct err *err)
{
    autofree char *lock = state_lock_path(ws->common), *aside = get_admin_aside(ws);
    autoclose int fd = -1;
    struct file_id id;
    if (unsynced_settle(ws->common, err) || dirs_lock(lock, &fd, err) ||
        workspace_move_admin(ws, aside, &id, err))
        return -1;
    own_close(&fd);
    autofree char *admin = known_folder(aside, &id);
    return known_folder_remove(admin, err);
}

int workspace_remove(struct workspace *ws, struct err *err)
{
    autostrv struct strv left = {0};
    if (workspace_retire(ws, &left, err))
        return -1;
    for (size_t i = 0; i < left.n; i++) {
        if (known_folder_remove(left.v[i], err))
            return -1;
    }
    return 0;
}
