#include "data/thread_end.h"

#include "base/mem.h"
#include "data/workdir.h"
#include "data/workspace.h"
#include "data/worktree_config.h"
#include "sys/dirs.h"
#include "sys/file.h"

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

int thread_remove(const struct thread *t, const struct git_repo *repo, const char *tip,
                  struct err *err)
{
    autofree char *aside = mem_printf("%s/anabranch/tmp", repo->common);
    struct workspace ws = {
        .path = t->path, .admin = t->admin, .common = repo->common, .branch = t->branch};
    if (dirs_make(aside, err) || workspace_remove(&ws, err))
        return -1;
    return tip ? remove_branch(t, repo, tip, err) : 0;
}

/* The folder with nothing but the file that hides it; that of someone else stays. */
static void remove_folder(const char *work)
{
    autofree char *ignore = mem_printf("%s/.gitignore", work);
    autobuf struct buf text = BUF_INIT;
    if (file_read(ignore, 16, &text, NULL) || strcmp(text.s, "*\n") != 0)
        return;
    if (unlink(ignore) == 0 && rmdir(work) < 0)
        (void)workdir_hide(work, NULL);
}

int threads_leave(const struct git_repo *repo, const struct thread *gone, struct err *err)
{
    autofree char *worktrees = mem_printf("%s/worktrees", repo->common);
    autofree char *work = mem_dup(gone->path, (size_t)(strrchr(gone->path, '/') - gone->path));
    autothreads struct threads left;
    remove_folder(work);
    (void)rmdir(worktrees); /* as git does, where it is empty */
    if (!gone->configured)
        return 0;
    if (threads_load(&left, repo, err))
        return -1;
    return left.n ? 0 : worktree_config_off(repo, err);
}
