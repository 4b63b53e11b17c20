#include "threads/relocate.h"

#include "base/mem.h"
#include "base/text/str.h"
#include "git/config/worktree_config.h"
#include "sys/fs/file.h"
#include "threads/hooks.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#define HOOKS "core.hooksPath"

static const char *get_name(const struct thread *t)
{
    return strrchr(t->admin, '/') + 1;
}

/* Reads the path that our hooks were installed at. The user's own setting does not end like
 * ours. */
static bool find_old_hooks(const struct thread *t, struct buf *ret)
{
    autofree char *end = mem_printf("/worktrees/%s/anabranch.hooks", get_name(t));
    return worktree_config_get(t->admin, HOOKS, ret) && str_ends(ret->s, end);
}

/* True if the folder is the worktree of this thread, even if the link between them is broken in one
 * direction. */
static bool is_worktree_of(const struct thread *t, const char *path, bool *ret_intact)
{
    autofree char *file = mem_printf("%s/.git", path),
                  *end = mem_printf("/worktrees/%s", get_name(t));
    autobuf struct buf link = BUF_INIT;
    if (file_read(file, PATH_MAX, &link, NULL) || strncmp(link.s, "gitdir: /", 9) != 0)
        return false;
    buf_cut(&link, strcspn(link.s, "\n"));
    const char *admin = link.s + strlen("gitdir: ");
    *ret_intact = strcmp(admin, t->admin) == 0;
    return *ret_intact || (str_ends(admin, end) && access(admin, F_OK) < 0);
}

/* Guesses where the worktree is now if it has moved together with the repository. */
static char *guess_new_path(const struct thread *t)
{
    autobuf struct buf setting = BUF_INIT;
    size_t tail = strlen(get_name(t)) + strlen("/worktrees/") + strlen("/anabranch.hooks");
    if (!find_old_hooks(t, &setting))
        return NULL;
    buf_cut(&setting, setting.len - tail); /* the common folder before the move */
    const char *slash = strrchr(setting.s, '/');
    size_t before = slash ? (size_t)(slash - setting.s) : 0;
    if (!before || strncmp(t->path, setting.s, before) != 0 || t->path[before] != '/')
        return NULL;
    autofree char *common =
        mem_dup(t->admin, strlen(t->admin) - strlen(get_name(t)) - strlen("/worktrees/"));
    const char *now = strrchr(common, '/');
    return now ? mem_printf("%.*s%s", (int)(now - common), common, t->path + before) : NULL;
}

bool thread_is_moved(const struct thread *t, struct buf *ret_path)
{
    bool exists = access(t->path, F_OK) == 0, intact = false;
    autofree char *path = exists ? mem_str(t->path) : guess_new_path(t);
    if (!path || !is_worktree_of(t, path, &intact) || (exists && intact))
        return false;
    buf_addstr(ret_path, path);
    return true;
}

static bool has_extension(const struct thread *t)
{
    autofree char *common =
        mem_dup(t->admin, strlen(t->admin) - strlen(get_name(t)) - strlen("/worktrees/"));
    return worktree_config_is_on(common);
}

const char *thread_hooks_off(const struct thread *t)
{
    autofree char *folder = mem_printf("%s/anabranch.hooks", t->admin);
    autofree char *gate = mem_printf("%s/pre-commit", folder);
    autobuf struct buf setting = BUF_INIT;
    if (!has_extension(t))
        return "extensions.worktreeConfig was switched off";
    if (!worktree_config_get(t->admin, HOOKS, &setting))
        return "its worktree no longer has " HOOKS;
    if (strcmp(setting.s, folder) != 0)
        return HOOKS " of its worktree names another folder";
    return access(gate, X_OK) < 0 ? "the hook is gone" : NULL;
}

bool thread_hooks_are_stale(const struct thread *t)
{
    autofree char *folder = mem_printf("%s/anabranch.hooks", t->admin);
    autobuf struct buf setting = BUF_INIT;
    return find_old_hooks(t, &setting) && strcmp(setting.s, folder) != 0;
}

static int repair_links(struct threads *ts, const struct git_repo *repo, struct err *err)
{
    struct git_place at = {.git_dir = repo->common};
    autostrv struct strv args = {0};
    autobuf struct buf out = BUF_INIT, errout = BUF_INIT;
    int status;
    strv_pushl(&args, "worktree", "repair", NULL);
    size_t none = args.n;
    for (size_t i = 0; i < ts->n; i++) {
        autobuf struct buf path = BUF_INIT;
        if (!thread_is_moved(&ts->v[i], &path))
            continue;
        strv_push(&args, path.s);
        free(ts->v[i].path);
        ts->v[i].path = buf_steal(&path);
    }
    if (args.n == none)
        return 0;
    if (git_try(&at, &args, &out, &errout, &status, err))
        return -1;
    return status == 0 ? 0
                       : err_set(err, ERR_ENV, "git worktree repair: %.*s",
                                 (int)strcspn(errout.s, "\n"), errout.s);
}

static int repair_settings(const struct thread *t, const struct git_repo *repo, const char *shared,
                           struct err *err)
{
    autofree char *excludes = mem_printf("%s/anabranch.excludes", t->admin);
    if (access(excludes, F_OK) == 0 &&
        worktree_config_set(t->admin, "core.excludesFile", excludes, err))
        return -1;
    return thread_hooks_install(repo, t, shared, err);
}

int threads_relocate(struct threads *ts, const struct git_repo *repo, struct err *err)
{
    autofree char *shared = NULL;
    bool asked = false;
    if (repair_links(ts, repo, err))
        return -1;
    for (size_t i = 0; i < ts->n; i++) {
        const struct thread *t = &ts->v[i];
        if (access(t->path, F_OK) < 0 || !thread_hooks_are_stale(t))
            continue;
        if ((!asked && thread_hooks_find(repo, &shared, err)) ||
            repair_settings(t, repo, shared, err))
            return err_wrap(err, "thread %s", t->id);
        asked = true;
    }
    return 0;
}
