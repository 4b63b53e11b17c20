#include "threads/remove.h"

#include "base/mem.h"
#include "git/config/worktree_config.h"
#include "git/state_paths.h"
#include "git/unsynced.h"
#include "sys/clock.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"
#include "sys/own_fd.h"
#include "workspace/root_folder.h"
#include "workspace/workspace.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REMOVED_NAME_FILE                                                                          \
    "anabranch.gone" /* in the administrative folder: the new name of the tree */

static int remove_branch(const struct thread *t, const struct git_repo *repo, const char *tip,
                         struct err *err)
{
    struct git_place at = {.git_dir = repo->common};
    autobuf struct buf now = BUF_INIT;
    bool moved;
    if (git_resolve(&at, t->branch, &now, NULL))
        return 0; /* gone already */
    if (git_move_ref(&at, t->branch, tip, "", "anabranch: thread removed", &moved, err))
        return -1;
    return moved ? 0 : err_set(err, ERR_ENV, "the branch '%s' has moved: kept", t->branch);
}

/* The new name must be beside the tree, because we can rename it only there. The user may have
 * files there: choose an unused name, and note it before we use it. */
static int choose_removed_name(const struct thread *t, struct buf *ret_name, struct err *err)
{
    autofree char *note = mem_printf("%s/" REMOVED_NAME_FILE, t->admin);
    struct stat st;
    for (int64_t n = clock_wall();; n++) {
        autofree char *path = mem_printf("%s.gone-%d-%llx", t->path, (int)getpid(), (long long)n);
        if (lstat(path, &st) == 0)
            continue;
        buf_addstr(ret_name, strrchr(path, '/') + 1);
        if (access(t->admin, F_OK) < 0) /* no thread is left that could find the note */
            return 0;
        return file_replace(note, ret_name->s, ret_name->len, err);
    }
}

/* Reads the name that an interrupted removal chose; empty if there is none. */
static void read_removed_name(const struct thread *t, struct buf *ret_name)
{
    autofree char *note = mem_printf("%s/" REMOVED_NAME_FILE, t->admin);
    autofree char *beginning = mem_printf("%s.gone-", strrchr(t->path, '/') + 1);
    bool ours = file_read(note, PATH_MAX, ret_name, NULL) == 0 && !strchr(ret_name->s, '/') &&
                strncmp(ret_name->s, beginning, strlen(beginning)) == 0;
    buf_cut(ret_name, ours ? ret_name->len : 0);
}

static int remove_renamed(const struct thread *t, const char *name, struct err *err)
{
    int len = (int)(strrchr(t->path, '/') - t->path);
    autofree char *aside = mem_printf("%.*s/%s", len, t->path, name);
    return dirs_remove(aside, err);
}

/* Renames the tree first, so that nobody ever sees half of it. */
static int remove_tree(const struct thread *t, struct err *err)
{
    autobuf struct buf before = BUF_INIT, name = BUF_INIT;
    read_removed_name(t, &before);
    if (before.len && remove_renamed(t, before.s, err))
        return -1;
    if (access(t->path, F_OK) < 0 && errno == ENOENT)
        return 0;
    if (choose_removed_name(t, &name, err))
        return -1;
    int len = (int)(strrchr(t->path, '/') - t->path);
    autofree char *aside = mem_printf("%.*s/%s", len, t->path, name.s);
    if (rename(t->path, aside) < 0)
        return err_sys(err, "remove '%s'", t->path);
    return dirs_remove(aside, err);
}

/* Removes the administrative folder last: as long as it exists, the thread does, and a later
 * removal can continue. */
int thread_remove(const struct thread *t, const struct git_repo *repo, const char *tip,
                  struct err *err)
{
    autofree char *aside = state_tmp_path(repo->common);
    struct workspace ws = {
        .path = t->path, .admin = t->admin, .common = repo->common, .branch = t->branch};
    if (unsynced_settle(repo->common, err) || dirs_make(aside, err) || remove_tree(t, err) ||
        (tip && remove_branch(t, repo, tip, err)))
        return -1;
    return workspace_forget(&ws, err);
}

/* Removes a folder that has only our .gitignore in it. Other folders stay. */
static void remove_work_folder(const char *lock, const char *work)
{
    autoclose int fd = -1;
    autofree char *ignore = mem_printf("%s/.gitignore", work);
    autobuf struct buf text = BUF_INIT;
    if (file_read(ignore, 16, &text, NULL) || strcmp(text.s, "*\n") != 0)
        return;
    (void)dirs_lock(lock, &fd, NULL); /* as in root_folder_tidy(): continue even without the lock */
    if (unlink(ignore) == 0 && rmdir(work) < 0)
        (void)root_folder_hide(work, NULL);
}

int threads_leave(const struct git_repo *repo, const struct thread *removed, struct err *err)
{
    autofree char *worktrees = mem_printf("%s/worktrees", repo->common);
    autofree char *work =
        mem_dup(removed->path, (size_t)(strrchr(removed->path, '/') - removed->path));
    autofree char *lock = state_lock_path(repo->common);
    autothreads struct threads left = {0};
    remove_work_folder(lock, work);
    (void)rmdir(worktrees); /* git removes it, too, if it is empty */
    if (!removed->configured && !worktree_config_is_ours(repo))
        return 0;
    if (threads_load(&left, repo, err))
        return -1;
    return left.n || left.damaged.n ? 0 : worktree_config_off(repo, err);
}

int threads_leave_none(const struct git_repo *repo, struct err *err)
{
    autothreads struct threads left = {0};
    autoclose int lock = -1;
    if (!worktree_config_is_ours(repo))
        return 0;
    if (threads_lock(repo, NULL, &lock, err) || threads_load(&left, repo, err))
        return -1;
    if (left.n || left.damaged.n)
        return 0;
    if (worktree_config_off(repo, err))
        return -1;
    threads_unlock_last(repo, &lock);
    return 0;
}

int threads_lock(const struct git_repo *repo, void (*waiting)(const char *whom), int *ret_fd,
                 struct err *err)
{
    autofree char *tmp = state_tmp_path(repo->common);
    autofree char *path = state_file_path(repo->common, "fanout");
    if (dirs_make(tmp, err))
        return -1;
    return dirs_await_lock(path, "another fanout or cleanup", waiting, ret_fd, err);
}

/* Anybody who waits for one of these locks notices that its file is gone. */
static void remove_state(const struct git_repo *repo)
{
    autofree char *state = state_path(repo->common);
    autofree char *tmp = mem_printf("%s/tmp", state), *runs = runs_path(state);
    autofree char *ours = mem_printf("%s/fanout", state), *lock = mem_printf("%s/lock", state);
    autoclose int fd = -1;
    if (access(runs, F_OK) == 0 || rmdir(tmp) < 0)
        return;
    if (dirs_try_lock(lock, &fd, NULL) || fd < 0)
        return;
    (void)unlink(lock);
    (void)unlink(ours);
    (void)rmdir(state); /* fails if a run has begun meanwhile */
}

void threads_unlock_last(const struct git_repo *repo, int *fd)
{
    remove_state(repo);
    own_close(fd);
}
