/*
 * The files of the user's checkout that git does not track, and its index: nothing of it is put
 * back, because nobody can say whether the user did it; of small files the content that they had
 * when the run began is saved.
 */
#include "run/watch/watch_private.h"

#include "base/mem.h"
#include "base/text/shell_quote.h"

#include <string.h>
#include <unistd.h>

enum { UNTRACKED_TOLD_MAX = 100 }; /* by name; a build in the checkout makes thousands of files */

/* Relative to the top of the work tree; what is not in it is left out. */
static void skip(const struct run *run, const char *path, const char *slash, struct strv *out)
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

/* Ours, where we write ourselves. */
static void list_own(const struct run *run, struct strv *out)
{
    strv_push(out, ".anabranch/");
    skip(run, run->work, "/", out);
    skip(run, run->state_dir, "/", out);
    skip(run, run->opts.log_dir, "/", out);
    skip(run, run->opts.own_file, "", out);
}

void repo_watch_files_begin(struct run *run)
{
    struct repo_watch *s = run->shared;
    const struct git_repo *repo = &run->pf->repo;
    autofree char *index = mem_printf("%s/index", repo->git_dir);
    autostrv struct strv own = {0};
    struct err none = {
        0}; /* as of the tracked files: an index that we cannot read is not watched */
    throttle_begin(&s->checkout.pace);
    list_own(run, &own);
    s->has_staged = staged_open(&s->staged, repo, run->batch, strlen(run->tip), &none) == 0;
    s->has_untracked =
        untracked_open(&s->untracked, repo->root, index, strlen(run->tip), &own, &none) == 0;
    throttle_end(&s->checkout.pace);
}

static void tell_index(struct run *run, const struct strv *paths, const char *undo,
                       const char *saved)
{
    struct finding f = {.what = "index",
                        .name = run->pf->repo.root,
                        .undo = undo,
                        .saved = saved,
                        .paths = paths,
                        .more = paths->n > SHARED_MAX ? paths->n - SHARED_MAX : 0};
    if (paths->n)
        repo_watch_tell(run, &run->shared->file_suspects, &f);
}

/* Only the index as a whole has what was staged. */
static void tell_unstaged(struct run *run, const struct strv *paths)
{
    const struct buf *first = &run->shared->staged.first;
    struct git_content content = {.s = first->s, .len = first->len, .mode = 0600};
    autofree char *index = mem_printf("%s/index", run->pf->repo.git_dir);
    autobuf struct buf undo = BUF_INIT;
    autofree char *saved = paths->n && first->len ? repo_watch_save(run, "index", content) : NULL;
    if (saved)
        undo_file(index, saved, &undo);
    tell_index(run, paths, saved ? undo.s : NULL, saved);
}

static void lookup_at_index(struct run *run)
{
    struct repo_watch *s = run->shared;
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
    tell_index(run, &c.staged, staged.s, NULL);
    tell_unstaged(run, &c.unstaged);
    tell_index(run, &c.unseen, unseen.s, NULL);
}

static const char *describe(const struct untracked_file *f, struct buf *out)
{
    if (f->path)
        buf_addf(out, "%lld bytes", (long long)f->size);
    return f->path ? out->s : NULL;
}

/* Its folder may have gone with it. */
static void undo_change(const char *path, const char *saved, struct buf *out)
{
    autofree char *folder = mem_dup(path, (size_t)(strrchr(path, '/') - path));
    if (saved && access(folder, F_OK) < 0) {
        shell_quote(out, "mkdir -p", folder, NULL);
        buf_addstr(out, " && ");
    }
    undo_file(path, saved, out);
}

static void tell_file(struct run *run, const struct untracked_change *c)
{
    const struct untracked_file *was = &c->was, *is = &c->is;
    const char *name = was->path ? was->path : is->path;
    struct git_content content = {.s = was->content, .len = was->len, .mode = was->mode};
    autofree char *path = mem_printf("%s/%s", run->pf->repo.root, name);
    autofree char *saved = was->content ? repo_watch_save(run, name, content) : NULL;
    autobuf struct buf undo = BUF_INIT, from = BUF_INIT, to = BUF_INIT;
    bool folder = path[strlen(path) - 1] == '/';
    if (!folder && (saved || !was->path))
        undo_change(path, saved, &undo);
    struct finding f = {.what = "untracked",
                        .name = name,
                        .from = describe(was, &from),
                        .to = describe(is, &to),
                        .undo = undo.len ? undo.s : NULL,
                        .saved = saved};
    repo_watch_tell(run, &run->shared->file_suspects, &f);
}

/* A file that changes again and again is told of once. */
static bool is_news(struct repo_watch *s, const struct untracked_change *c)
{
    const char *name = c->was.path ? c->was.path : c->is.path;
    char *key = arena_printf(&s->arena, "untracked %s", name);
    return !map_put(&s->told, key, strlen(key), key);
}

static void lookup_at_untracked(struct run *run)
{
    struct repo_watch *s = run->shared;
    autountracked struct untracked_changes changes = {0};
    struct finding rest = {.what = "untracked"};
    struct err err = {0};
    size_t told = 0; /* at this look */
    if (untracked_look(&s->untracked, s->file_suspects.n ? &changes : NULL, &err)) {
        record_error(run, -1, &err);
        s->has_untracked = false;
    }
    for (size_t i = 0; i < changes.list.n; i++) {
        if (!is_news(s, &changes.list.v[i]))
            continue;
        if (told++ < SHARED_MAX && s->files_told++ < UNTRACKED_TOLD_MAX)
            tell_file(run, &changes.list.v[i]);
        else
            rest.more++;
    }
    if (rest.more)
        repo_watch_tell(run, &s->file_suspects, &rest);
}

void repo_watch_files_look(struct run *run)
{
    if (run->shared->has_staged)
        lookup_at_index(run);
    if (run->shared->has_untracked)
        lookup_at_untracked(run);
}
