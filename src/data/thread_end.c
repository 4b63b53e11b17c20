#include "data/thread_end.h"

#include "base/mem.h"
#include "data/workdir.h"
#include "data/workspace.h"
#include "data/worktree_config.h"
#include "sys/dirs.h"
#include "sys/file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int remove_branch(const struct thread *t, const struct git_repo *repo, const char *tip,
                         struct err *err)
{
    struct git_place at = {.git_dir = repo->common};
    autobuf struct buf now = BUF_INIT;
    bool moved;
    if (git_resolve(&at, t->branch, &now, NULL))
        return 0; /* gone already */
    if (git_move_ref(&at, t->branch, tip, "", "anabranch: thread taken away", &moved, err))
        return -1;
    return moved ? 0 : err_set(err, ERR_ENV, "the branch '%s' has moved: it stays", t->branch);
}

/* Out of the way at once, so that nobody ever sees half of it. */
static int remove_tree(const struct thread *t, struct err *err)
{
    autofree char *aside = mem_printf("%s.gone", t->path);
    if (dirs_remove(aside, err))
        return -1;
    if (rename(t->path, aside) < 0 && errno != ENOENT)
        return err_sys(err, "remove '%s'", t->path);
    return dirs_remove(aside, err);
}

/* The administrative folder goes last: as long as it is there, so is the thread, for who has to go
 * on where this one was stopped. */
int thread_remove(const struct thread *t, const struct git_repo *repo, const char *tip,
                  struct err *err)
{
    autofree char *aside = mem_printf("%s/anabranch/tmp", repo->common);
    struct workspace ws = {
        .path = t->path, .admin = t->admin, .common = repo->common, .branch = t->branch};
    return dirs_make(aside, err) || remove_tree(t, err) ||
                   (tip && remove_branch(t, repo, tip, err)) || workspace_remove(&ws, err)
               ? -1
               : 0;
}

/* The folder with nothing but the file that hides it; that of someone else stays. */
static void remove_folder(const char *lock, const char *work)
{
    autoclose int fd = -1;
    autofree char *ignore = mem_printf("%s/.gitignore", work);
    autobuf struct buf text = BUF_INIT;
    if (file_read(ignore, 16, &text, NULL) || strcmp(text.s, "*\n") != 0)
        return;
    (void)dirs_lock(lock, &fd, NULL); /* as in workdir_tidy(): also where it cannot be */
    if (unlink(ignore) == 0 && rmdir(work) < 0)
        (void)workdir_hide(work, NULL);
}

int threads_leave(const struct git_repo *repo, const struct thread *gone, struct err *err)
{
    autofree char *worktrees = mem_printf("%s/worktrees", repo->common);
    autofree char *work = mem_dup(gone->path, (size_t)(strrchr(gone->path, '/') - gone->path));
    autofree char *lock = mem_printf("%s/anabranch/lock", repo->common);
    autothreads struct threads left = {0};
    remove_folder(lock, work);
    (void)rmdir(worktrees); /* as git does, where it is empty */
    if (!gone->configured)
        return 0;
    if (threads_load(&left, repo, err))
        return -1;
    return left.n || left.damaged.n ? 0 : worktree_config_off(repo, err);
}

int threads_lock(const struct git_repo *repo, int *ret_fd, struct err *err)
{
    autofree char *tmp = mem_printf("%s/anabranch/tmp", repo->common);
    autofree char *path = mem_printf("%s/anabranch/fanout", repo->common);
    return dirs_make(tmp, err) || dirs_lock(path, ret_fd, err) ? -1 : 0;
}

/* Whoever waits for a lock finds out that its file is gone. */
static void remove_state(const struct git_repo *repo)
{
    autofree char *state = mem_printf("%s/anabranch", repo->common);
    autofree char *tmp = mem_printf("%s/tmp", state), *runs = mem_printf("%s/runs", state);
    autofree char *ours = mem_printf("%s/fanout", state), *lock = mem_printf("%s/lock", state);
    autoclose int fd = -1;
    if (access(runs, F_OK) == 0 || rmdir(tmp) < 0)
        return;
    if (dirs_try_lock(lock, &fd, NULL) || fd < 0)
        return;
    (void)unlink(lock);
    (void)unlink(ours);
    (void)rmdir(state); /* it stays where a run has begun meanwhile */
}

void threads_unlock_last(const struct git_repo *repo, int *fd)
{
    remove_state(repo);
    own_close(fd);
}
