#include "workspace/commit/nested_repos.h"

#include "base/mem.h"
#include "base/text/str.h"
#include "git/format/gitlinks.h"
#include "sys/fs/file.h"
#include "sys/own_dir.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Lists nested repositories below a folder: git lists untracked files, and only a repository has a
 * slash at the end. */
static int list_nested(const struct git_place *at, const char *path, struct strv *ret,
                       struct err *err)
{
    autobuf struct buf out = BUF_INIT;
    if (git_call(at, &out, err, "ls-files", "-z", "--others", "--exclude-standard", NULL))
        return -1;
    for (const char *p = out.s; p < out.s + out.len; p += strlen(p) + 1) {
        size_t len = strlen(p);
        if (p[len - 1] == '/')
            strv_pushf(ret, "%s%s%.*s", path, *path ? "/" : "", (int)len - 1, p);
    }
    return 0;
}

int nested_repos_find(const struct git_place *at, const struct workspace *ws, struct strv *ret,
                      struct err *err)
{
    size_t first = ret->n;
    if (list_nested(at, "", ret, err))
        return -1;
    for (size_t i = first; i < ret->n; i++) { /* the list grows in the loop */
        autofree char *path = mem_str(ret->v[i]);
        autofree char *tree = mem_printf("%s/%s", ws->path, path);
        autofree char *none = mem_printf("%s.none", at->index);
        struct git_place inside = {.git_dir = ws->common, .work_tree = tree, .index = none};
        if (list_nested(&inside, path, ret, err))
            return err_wrap(err, "'%s'", path);
    }
    return 0;
}

/* *ret_yes: the folder of a submodule contains untracked files. */
static int has_untracked(const char *tree, bool *ret_yes, struct err *err)
{
    autofree char *dot_git = mem_printf("%s/.git", tree);
    autobuf struct buf out = BUF_INIT;
    struct git_place inside = {.git_dir = dot_git, .work_tree = tree, .foreign = true};
    if (access(dot_git, F_OK) < 0) {
        autodir DIR *dir = opendir(tree);
        *ret_yes = dir_next(dir);
        return 0;
    }
    if (git_call(&inside, &out, err, "ls-files", "-z", "--others", "--exclude-standard", NULL))
        return -1;
    *ret_yes = out.len > 0;
    return 0;
}

int nested_repos_find_modules(const struct git_place *at, const struct workspace *ws,
                              struct strv *ret, struct err *err)
{
    static const char submodule[] = "160000 ";
    autobuf struct buf out = BUF_INIT;
    if (git_call(at, &out, err, "ls-files", "-z", "--stage", NULL))
        return -1;
    for (const char *p = out.s; p < out.s + out.len; p += strlen(p) + 1) {
        const char *tab = strchr(p, '\t');
        if (strncmp(p, submodule, strlen(submodule)) != 0 || !tab)
            continue;
        autofree char *tree = mem_printf("%s/%s", ws->path, tab + 1);
        bool yes;
        if (has_untracked(tree, &yes, err))
            return err_wrap(err, "the submodule '%s'", tab + 1);
        if (yes)
            strv_push(ret, tab + 1);
    }
    return 0;
}

void nested_repos_exclude(const struct strv *paths, const char *above, struct strv *args)
{
    for (size_t i = 0; i < paths->n; i++) {
        const char *inner = *above ? str_below(paths->v[i], above) : paths->v[i];
        if (inner)
            strv_pushf(args, ":(exclude,literal)%s", inner);
    }
}

/* A nested repository that we are saving. */
struct inner {
    char *tree, *git_dir; /* its work tree; its git folder, or NULL */
    struct buf files;     /* its files as a tree in our repository */
    struct buf head;      /* its HEAD commit; empty: none */
    const char *ref;
};

static void inner_done(struct inner *in)
{
    free(in->tree);
    free(in->git_dir);
    buf_done(&in->files);
    buf_done(&in->head);
}

static struct git_place place_of(const struct inner *in)
{
    return (struct git_place){.git_dir = in->git_dir, .work_tree = in->tree, .foreign = true};
}

/* Reads the files with our own configuration: we must not run commands from the nested
 * repository's. */
static int read_files(const struct git_place *at, struct inner *in, const struct strv *paths,
                      const char *path, struct err *err)
{
    struct git_place ours = {.git_dir = at->common, .work_tree = in->tree, .index = at->index};
    autostrv struct strv args = {0};
    if (unlink(at->index) < 0 && errno != ENOENT)
        return err_sys(err, "remove '%s'", at->index);
    if (in->head.len) /* fails if we do not have its objects yet; then git reads all files as new */
        (void)git_call(&ours, NULL, NULL, "read-tree", in->head.s, NULL);
    buf_cut(&in->files, 0);
    strv_pushl(&args, "add", "-A", "--", ".", NULL);
    nested_repos_exclude(paths, path, &args);
    return gitlinks_stage(&ours, strlen(in->head.s), &args, err) ||
                   git_ask(&ours, &args, NULL, NULL, err) ||
                   git_call(&ours, &in->files, err, "write-tree", NULL)
               ? -1
               : 0;
}

/* Its git folder may be elsewhere: then it is a worktree, and its commits are in that repository.
 */
static int open_inner(const struct git_place *at, const struct workspace *ws, const char *path,
                      struct inner *in, struct err *err)
{
    autobuf struct buf dir = BUF_INIT;
    in->tree = mem_printf("%s/%s", ws->path, path);
    autofree char *dot_git = mem_printf("%s/.git", in->tree);
    struct git_place any = {.git_dir = at->common};
    if (access(dot_git, F_OK) < 0) /* a submodule without a checkout */
        return 0;
    if (git_call(&any, &dir, err, "rev-parse", "--resolve-git-dir", dot_git, NULL))
        return -1;
    in->git_dir = mem_str(dir.s);
    struct git_place there = place_of(in);
    if (git_resolve(&there, "HEAD", &in->head, NULL))
        buf_cut(&in->head, 0);
    return 0;
}

/* *ret_yes: it has a commit, or changed files, that no remote has. A repository without remotes
 * always counts. */
static int has_own(const struct inner *in, bool *ret_yes, struct err *err)
{
    struct git_place at = place_of(in);
    autobuf struct buf out = BUF_INIT, tree = BUF_INIT;
    *ret_yes = true;
    if (!in->head.len)
        return 0;
    if (git_tree_of(&at, in->head.s, &tree, err))
        return -1;
    if (strcmp(tree.s, in->files.s) != 0)
        return 0;
    if (git_call(&at, &out, err, "rev-list", "-n", "1", "HEAD", "--exclude=refs/remotes/*",
                 "--exclude=refs/tags/*", "--all", "--not", "--remotes", NULL))
        return -1;
    *ret_yes = out.len > 0;
    return 0;
}

/* True if it is a worktree of our repository, so we have its objects already. Clones of submodules
 * are below our git folder too, but have their own objects. */
static bool is_worktree_of(const char *git_dir, const char *common)
{
    return str_below(git_dir, common) && file_resolves_in(git_dir, "commondir");
}

/* Copies its objects into our repository. We refuse a shallow clone, because it would make our
 * repository shallow too. */
static int fetch_commits(const struct git_place *at, const struct inner *in, struct err *err)
{
    struct git_place ours = {.git_dir = at->common};
    autofree char *heads = mem_printf("+refs/heads/*:%s/heads/*", in->ref);
    autofree char *tags = mem_printf("+refs/tags/*:%s/tags/*", in->ref);
    autofree char *stash = mem_printf("+refs/stash*:%s/stash*", in->ref);
    autofree char *head = mem_printf("+HEAD:%s/saved", in->ref);
    if (!in->git_dir || is_worktree_of(in->git_dir, at->common))
        return 0;
    autofree char *shallow = mem_printf("%s/shallow", in->git_dir);
    if (access(shallow, F_OK) == 0)
        return err_set(err, ERR_INPUT, "cannot save a shallow clone with work of its own");
    return git_call(&ours, NULL, err, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head",
                    "--no-recurse-submodules",
                    "--upload-pack=GIT_ALLOW_PROTOCOL=none git-upload-pack", in->git_dir, heads,
                    tags, stash, in->head.len ? head : NULL, NULL);
}

static int commit_files(const struct git_place *at, const struct inner *in, const char *path,
                        struct err *err)
{
    struct git_place ours = {.git_dir = at->common};
    autofree char *message = mem_printf(NESTED_SUBJECT "%s", path);
    const char *const parents[] = {in->head.len ? in->head.s : NULL, NULL};
    autofree char *ref = mem_printf("%s/saved", in->ref);
    autobuf struct buf commit = BUF_INIT;
    return git_commit_tree(&ours, in->files.s, parents, message, &commit, err) ||
                   git_call(&ours, NULL, err, "update-ref", "--no-deref", ref, commit.s, NULL)
               ? -1
               : 0;
}

int nested_repos_save(const struct git_place *at, const struct workspace *ws,
                      const struct strv *paths, size_t i, const char *ref, bool *ret_saved,
                      struct err *err)
{
    own_cleanup(inner_done) struct inner in = {.files = BUF_INIT, .head = BUF_INIT, .ref = ref};
    const char *path = paths->v[i];
    if (open_inner(at, ws, path, &in, err) || read_files(at, &in, paths, path, err) ||
        has_own(&in, ret_saved, err))
        return err_wrap(err, "the repository '%s'", path);
    if (*ret_saved && (fetch_commits(at, &in, err) || read_files(at, &in, paths, path, err) ||
                       commit_files(at, &in, path, err)))
        return err_wrap(err, "the repository '%s'", path);
    return 0;
}
