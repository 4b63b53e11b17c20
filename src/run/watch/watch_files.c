/*
 * Watches the untracked files and the index of the user's checkout. We restore none of them,
 * because the user may have changed them. We save the content that small files had when the run
 * started.
 */
#include "run/watch/watch_private.h"

#include "base/mem.h"
#include "base/text/shell_quote.h"
#include "run/state/record.h"
#include "run/state/run_state.h"
#include "run/watch/other_runs.h"
#include "sys/fs/beneath.h"
#include "sys/own_fd.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    UNTRACKED_TOLD_MAX = 100
}; /* reported by name; a build in the checkout makes thousands of files */

/* Adds a path relative to the top of the work tree; ignores paths outside. */
static void add_relative(const struct run *run, const char *path, const char *slash,
                         struct strv *out)
{
    const char *root = run->pf->repo.root;
    autofree char *here = path && *path != '/' ? getcwd(NULL, 0) : NULL;
    size_t len = strlen(root);
    if (!path || (*path != '/' && !here))
        return;
    path += strncmp(path, "./", 2) == 0 ? 2 : 0;
    autofree char *full = here ? mem_printf("%s/%s", here, path) : mem_str(path);
    for (size_t n = strlen(full); n > 1 && full[n - 1] == '/'; n--)
        full[n - 1] = '\0';
    if (strncmp(full, root, len) == 0 && full[len] == '/')
        strv_pushf(out, "%s%s", full + len + 1, slash);
}

/* Lists our own files and folders in the checkout. */
static void list_own_paths(const struct run *run, struct strv *out)
{
    strv_push(out, ".anabranch/");
    add_relative(run, run->work.dir, "/", out);
    add_relative(run, run->files.state, "/", out);
    add_relative(run, run->opts.log_dir, "/", out);
    add_relative(run, run->opts.own_file, "", out);
}

void repo_watch_files_begin(struct run *run)
{
    struct repo_watch *s = run->repo_watch;
    const struct git_repo *repo = &run->pf->repo;
    autofree char *index = mem_printf("%s/index", repo->git_dir);
    autostrv struct strv own = {0};
    struct err none = {0}; /* as for tracked files: we do not watch an index that we cannot read */
    throttle_begin(&s->checkout.pace);
    list_own_paths(run, &own);
    s->has_staged = staged_open(&s->staged, repo, run->batch, strlen(run->base.tip), &none) == 0;
    s->has_untracked =
        untracked_open(&s->untracked, repo->root, index, strlen(run->base.tip), &own, &none) == 0;
    throttle_end(&s->checkout.pace);
}

static void report_index(struct run *run, const struct strv *paths, const char *undo,
                         const char *saved)
{
    struct finding f = {.what = "index",
                        .name = run->pf->repo.root,
                        .undo = undo,
                        .saved = saved,
                        .paths = paths,
                        .more = paths->n > SHARED_MAX ? paths->n - SHARED_MAX : 0};
    if (paths->n)
        repo_watch_tell(run, &run->repo_watch->file_suspects, &f);
}

/* Saves the whole index, because nothing else has the staged changes. */
static void report_unstaged(struct run *run, const struct strv *paths)
{
    const struct buf *first = &run->repo_watch->staged.first;
    struct git_content content = {.s = first->s, .len = first->len, .mode = 0600};
    autofree char *index = mem_printf("%s/index", run->pf->repo.git_dir);
    autobuf struct buf undo = BUF_INIT;
    autofree char *saved = paths->n && first->len ? repo_watch_save(run, "index", content) : NULL;
    if (saved)
        undo_file(index, saved, &undo);
    report_index(run, paths, saved ? undo.s : NULL, saved);
}

static void check_index(struct run *run)
{
    struct repo_watch *s = run->repo_watch;
    autostagedchange struct staged_change c = {0};
    autobuf struct buf staged = BUF_INIT, unseen = BUF_INIT;
    const char *root = run->pf->repo.root;
    struct err err = {0};
    if (staged_look(&s->staged, s->file_suspects.n ? &c : NULL, &err)) {
        record_error(run, -1, &err);
        s->has_staged = false;
    }
    undo_staged(root, &c.staged, &staged);
    undo_unseen(root, &c.unseen, &unseen);
    report_index(run, &c.staged, staged.s, NULL);
    report_unstaged(run, &c.unstaged);
    report_index(run, &c.unseen, unseen.s, NULL);
}

static const char *describe_size(const struct untracked_file *f, struct buf *out)
{
    if (f->path)
        buf_addf(out, "%lld bytes", (long long)f->size);
    return f->path ? out->s : NULL;
}

/* Adds a command that restores the folder, if it is gone. False if a symlink leads elsewhere. */
static bool add_folder_undo(const char *path, struct buf *out)
{
    autofree char *folder = mem_dup(path, (size_t)(strrchr(path, '/') - path));
    autoclose int fd = -1;
    struct err why = {0};
    if (beneath_folder(folder, &fd, &why) == 0)
        return true;
    shell_quote(out, "mkdir -p", folder, NULL);
    buf_addstr(out, " && ");
    return why.errnum == ENOENT;
}

/* Adds nothing if we do not have what was there, or if the command could change another file. */
static void add_undo(const char *path, const struct untracked_file *was, const char *saved,
                     struct buf *out)
{
    bool known = !was->path || saved || (S_ISLNK(was->mode) && was->content);
    if (!known || path[strlen(path) - 1] == '/')
        return;
    if (was->path && !add_folder_undo(path, out))
        buf_cut(out, 0);
    else if (S_ISLNK(was->mode))
        undo_link(path, was->content, out);
    else
        undo_file(path, saved, out);
}

static void report_file(struct run *run, const struct untracked_change *c)
{
    const struct untracked_file *was = &c->was, *is = &c->is;
    const char *name = was->path ? was->path : is->path;
    struct git_content content = {.s = was->content, .len = was->len, .mode = was->mode};
    autofree char *path = mem_printf("%s/%s", run->pf->repo.root, name);
    bool is_file = was->content && !S_ISLNK(was->mode);
    autofree char *saved = is_file ? repo_watch_save(run, name, content) : NULL;
    autobuf struct buf undo = BUF_INIT, from = BUF_INIT, to = BUF_INIT;
    add_undo(path, was, saved, &undo);
    struct finding f = {.what = "untracked",
                        .name = name,
                        .from = describe_size(was, &from),
                        .to = describe_size(is, &to),
                        .undo = undo.len ? undo.s : NULL,
                        .saved = saved};
    repo_watch_tell(run, &run->repo_watch->file_suspects, &f);
}

static const char *name_of(const struct untracked_change *c)
{
    return c->was.path ? c->was.path : c->is.path;
}

/* A file that changes repeatedly is reported once. */
static bool mark_reported(struct repo_watch *s, const struct untracked_change *c)
{
    char *key = arena_printf(&s->arena, "untracked %s", name_of(c));
    return !map_put(&s->told, key, strlen(key), key);
}

static void check_untracked(struct run *run)
{
    struct repo_watch *s = run->repo_watch;
    autountracked struct untracked_changes changes = {0};
    autoothers struct other_runs others = {0};
    struct finding rest = {.what = "untracked"};
    struct err err = {0};
    size_t told = 0; /* during this look */
    if (untracked_look(&s->untracked, s->file_suspects.n ? &changes : NULL, &err)) {
        record_error(run, -1, &err);
        s->has_untracked = false;
    }
    for (size_t i = 0; i < changes.list.n; i++) {
        if (other_runs_have_file(&others, run, name_of(&changes.list.v[i])) ||
            !mark_reported(s, &changes.list.v[i]))
            continue;
        if (told++ < SHARED_MAX && s->files_told++ < UNTRACKED_TOLD_MAX)
            report_file(run, &changes.list.v[i]);
        else
            rest.more++;
    }
    if (rest.more)
        repo_watch_tell(run, &s->file_suspects, &rest);
}

void repo_watch_files_look(struct run *run)
{
    if (run->repo_watch->has_staged)
        check_index(run);
    if (run->repo_watch->has_untracked)
        check_untracked(run);
}
