/*
 * Finds repositories that would be removed with a thread's worktree. git status does not look into
 * ignored repositories, and of a submodule it reports only the commit that is checked out.
 */
#include "threads/cleanup/cleanup_private.h"

#include "base/mem.h"
#include "base/text/text.h"
#include "git/format/gitlinks.h"
#include "sys/fs/file.h"

#include <errno.h>
#include <fts.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct search {
    const struct cleaning *c;
    const struct thread *t;
    struct buf *why; /* problem of the first one; then we stop */
};

static void report_problem(const struct search *s, const char *path, const char *what)
{
    buf_addch(s->why, '\'');
    text_add_harmless(s->why, path);
    buf_addf(s->why, "' %s", what);
}

/* Tags count as commits from elsewhere: builds fetch tags without a branch. */
static int has_commits(const char *git_dir, bool *ret_yes, struct err *err)
{
    struct git_place at = {.git_dir = git_dir, .foreign = true};
    autobuf struct buf head = BUF_INIT, out = BUF_INIT;
    const char *tip = git_resolve(&at, "HEAD", &head, NULL) ? "--branches" : head.s;
    if (git_call(&at, &out, err, "rev-list", "-n", "1", tip, "--exclude=refs/remotes/*",
                 "--exclude=refs/tags/*", "--all", "--not", "--remotes", "--tags", NULL))
        return -1;
    *ret_yes = out.len > 0;
    return 0;
}

static bool is_below(const char *path, const char *folder)
{
    size_t len = strlen(folder);
    return strncmp(path, folder, len) == 0 && path[len] == '/';
}

/* Worktrees of submodules are in the thread's own administrative folder. */
static bool is_our_worktree(const struct search *s, const char *git_dir)
{
    autofree char *worktrees = mem_printf("%s/worktrees", s->c->opts->repo->common);
    return is_below(git_dir, worktrees) && !is_below(git_dir, s->t->admin);
}

/* Checks a work tree with a .git. Its repository may be elsewhere; then its commits stay. If git
 * finds no repository, we treat the folder as an ordinary ignored one. */
static int check_tree(const struct search *s, const char *tree, struct err *err)
{
    struct git_place any = {.git_dir = s->c->opts->repo->common};
    const char *name = tree + strlen(s->t->path) + 1;
    autofree char *dot_git = mem_printf("%s/.git", tree);
    autobuf struct buf dir = BUF_INIT;
    struct stat st;
    bool dirty = false, ahead = false;
    if (git_call(&any, &dir, NULL, "rev-parse", "--resolve-git-dir", dot_git, NULL))
        return 0;
    if (gitlinks_tree_changed(any.git_dir, tree, true, &dirty, err) ||
        (lstat(dot_git, &st) == 0 && S_ISDIR(st.st_mode) && has_commits(dir.s, &ahead, err)))
        return err_wrap(err, "'%s'", name);
    if (is_our_worktree(s, dir.s))
        report_problem(s, name, "contains another worktree");
    else if (dirty || ahead)
        report_problem(s, name,
                       dirty ? "contains a repository with uncommitted changes"
                             : "contains a repository with commits that are on no remote");
    return 0;
}

/* Checks the repository of a submodule, checked out or not. */
static int check_module(const struct search *s, const char *git_dir, struct err *err)
{
    const char *name = git_dir + strlen(s->t->admin) + strlen("/modules/");
    bool ahead = false;
    if (has_commits(git_dir, &ahead, err))
        return err_wrap(err, "the submodule '%s'", name);
    if (ahead)
        report_problem(s, name, "is a submodule with commits that are on no remote");
    return 0;
}

typedef int visit_fn(const struct search *s, FTS *fts, FTSENT *e, struct err *err);

static int visit_ignored(const struct search *s, FTS *fts, FTSENT *e, struct err *err)
{
    if (strcmp(e->fts_name, ".git") == 0)
        (void)fts_set(fts, e, FTS_SKIP);
    return file_resolves_in(e->fts_path, ".git") ? check_tree(s, e->fts_path, err) : 0;
}

static int visit_module(const struct search *s, FTS *fts, FTSENT *e, struct err *err)
{
    if (strcmp(e->fts_name, "objects") == 0)
        (void)fts_set(fts, e, FTS_SKIP);
    bool is_repository =
        file_resolves_in(e->fts_path, "HEAD") && file_resolves_in(e->fts_path, "objects");
    return is_repository ? check_module(s, e->fts_path, err) : 0;
}

/* Calls `visit` for each folder until it finds a problem. */
static int visit_folders(const struct search *s, char *top, visit_fn *visit, struct err *err)
{
    char *const roots[] = {top, NULL};
    FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    int rc = 0;
    if (!fts)
        return err_sys(err, "look into '%s'", top);
    for (FTSENT *e; rc == 0 && !s->why->len && (errno = 0, e = fts_read(fts));) {
        if (e->fts_info == FTS_D)
            rc = visit(s, fts, e, err);
    }
    (void)fts_close(fts);
    return rc;
}

static int walk_ignored(const struct search *s, const struct git_place *at, struct err *err)
{
    autobuf struct buf out = BUF_INIT;
    int rc = git_call(at, &out, err, "-C", s->t->path, "ls-files", "-z", "--others", "--ignored",
                      "--exclude-standard", "--directory", NULL);
    for (const char *p = out.s; rc == 0 && !s->why->len && p < out.s + out.len;
         p += strlen(p) + 1) {
        autofree char *path = mem_printf("%s/%.*s", s->t->path, (int)strlen(p) - 1, p);
        if (p[strlen(p) - 1] == '/')
            rc = visit_folders(s, path, visit_ignored, err);
    }
    return rc;
}

/* A submodule may have its repository in its own folder, as in old versions of git. */
static int check_submodules(const struct search *s, const struct git_place *at, struct err *err)
{
    static const char mode[] = "160000 ";
    autobuf struct buf out = BUF_INIT;
    int rc = git_call(at, &out, err, "ls-files", "-z", "--stage", NULL);
    for (const char *p = out.s; rc == 0 && !s->why->len && p < out.s + out.len;
         p += strlen(p) + 1) {
        autofree char *path = mem_printf("%s/%s", s->t->path, strchr(p, '\t') + 1);
        if (strncmp(p, mode, strlen(mode)) == 0 && file_resolves_in(path, ".git"))
            rc = check_tree(s, path, err);
    }
    return rc;
}

int cleanup_inside(const struct cleaning *c, const struct thread *t, struct buf *ret_why,
                   struct err *err)
{
    struct search s = {.c = c, .t = t, .why = ret_why};
    struct git_place at = {
        .git_dir = t->admin, .common = c->opts->repo->common, .work_tree = t->path};
    autofree char *modules = mem_printf("%s/modules", t->admin);
    if (access(modules, F_OK) == 0 && visit_folders(&s, modules, visit_module, err))
        return -1;
    if (access(t->path, F_OK) < 0)
        return 0;
    return check_submodules(&s, &at, err) || walk_ignored(&s, &at, err) ? -1 : 0;
}
