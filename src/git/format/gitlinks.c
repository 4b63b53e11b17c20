#include "git/format/gitlinks.h"

#include "base/mem.h"
#include "git/format/index.h"

#include <ctype.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct submodules {
    struct strv all;    /* paths of all submodules */
    struct buf checked; /* paths that git checks in the work tree, each with a NUL at the end */
};

static void submodules_done(struct submodules *l)
{
    strv_done(&l->all);
    buf_done(&l->checked);
}

/* True if the index certainly has no submodules. Most have none, and this check starts no
 * process. */
static bool has_no_submodules(const char *path, size_t id_len)
{
    if (!path || (id_len != 40 && id_len != 64))
        return false;
    autogitindex struct git_index index;
    if (git_index_open(&index, path, id_len, NULL))
        return false;
    for (struct git_index_entry e; git_index_next(&index, &e);) {
        if ((e.mode & GIT_INDEX_KIND) == GIT_INDEX_SUBMODULE)
            return false;
    }
    return index.good;
}

/* True if a folder above `path` is a symlink: then git considers the entry deleted. */
static bool is_beyond_symlink(const char *tree, const char *path)
{
    for (const char *s = strchr(path, '/'); s; s = strchr(s + 1, '/')) {
        autofree char *above = mem_printf("%s/%.*s", tree, (int)(s - path), path);
        struct stat st;
        if (lstat(above, &st) < 0)
            return false;
        if (S_ISLNK(st.st_mode))
            return true;
    }
    return false;
}

/* Parses "TAG MODE ID STAGE\tPATH"; the tag shows if git checks the file. */
static void add_submodule(const struct git_place *at, const char *line, struct submodules *ret)
{
    static const char mode[] = "160000 ";
    const char *tab = strchr(line, '\t');
    if (!tab || strncmp(line + 2, mode, strlen(mode)) != 0 ||
        is_beyond_symlink(at->work_tree, tab + 1))
        return;
    if (ret->all.n &&
        strcmp(ret->all.v[ret->all.n - 1], tab + 1) == 0) /* unmerged: one line per stage */
        return;
    strv_push(&ret->all, tab + 1);
    if (isupper((unsigned char)*line) && *line != 'S')
        buf_add(&ret->checked, tab + 1, strlen(tab + 1) + 1);
}

static int find_submodules(const struct git_place *at, size_t id_len, struct submodules *ret,
                           struct err *err)
{
    autobuf struct buf out = BUF_INIT;
    if (has_no_submodules(at->index, id_len))
        return 0;
    if (git_call(at, &out, err, "ls-files", "-z", "-v", "--stage", NULL))
        return -1;
    for (const char *p = out.s; p < out.s + out.len; p += strlen(p) + 1)
        add_submodule(at, p, ret);
    return 0;
}

static void exclude_all(const struct submodules *l, struct strv *args)
{
    for (size_t i = 0; i < l->all.n; i++)
        strv_pushf(args, ":(top,exclude,literal)%s", l->all.v[i]);
}

int gitlinks_exclude(const struct git_place *at, size_t id_len, struct strv *args, struct err *err)
{
    own_cleanup(submodules_done) struct submodules found = {.checked = BUF_INIT};
    if (find_submodules(at, id_len, &found, err))
        return -1;
    exclude_all(&found, args);
    return 0;
}

int gitlinks_stage(const struct git_place *at, size_t id_len, struct strv *args, struct err *err)
{
    own_cleanup(submodules_done) struct submodules found = {.checked = BUF_INIT};
    autostrv struct strv update = {0};
    if (find_submodules(at, id_len, &found, err))
        return -1;
    exclude_all(&found, args);
    strv_pushl(&update, "update-index", "--add", "--remove", "-z", "--stdin", NULL);
    return found.checked.len ? git_ask(at, &update, &found.checked, NULL, err) : 0;
}

/* A search for changes in a repository and its submodules. */
struct search {
    const char *common;
    bool untracked;
    struct strv pending; /* work trees to check */
    bool changed;
};

static void search_done(struct search *s)
{
    strv_done(&s->pending);
}

/* Sets `changed` if the index differs from HEAD or there are new files. This reads no tracked file,
 * so git runs no filter. */
static int check_index(struct search *s, const struct git_place *there, struct err *err)
{
    autobuf struct buf head = BUF_INIT, out = BUF_INIT;
    bool unborn = git_resolve(there, "HEAD", &head, NULL) != 0;
    if (unborn ? git_call(there, &out, err, "ls-files", "-z", "--cached", NULL)
               : git_call(there, &out, err, "diff-index", "--cached", "--name-only", "-z",
                          "--no-renames", "--no-ext-diff", head.s, "--", NULL))
        return -1;
    if (s->untracked && git_call(there, &out, err, "ls-files", "-z", "--others",
                                 "--exclude-standard", "--directory", NULL))
        return -1;
    s->changed = out.len > 0;
    return 0;
}

/* Compares the files with the index, using our own configuration. An index that we cannot read
 * counts as a change. */
static void check_files(struct search *s, const struct git_place *ours)
{
    own_cleanup(submodules_done) struct submodules inner = {.checked = BUF_INIT};
    autobuf struct buf out = BUF_INIT;
    s->changed = git_call(ours, &out, NULL, "ls-files", "-z", "--modified", NULL) || out.len ||
                 find_submodules(ours, 0, &inner, NULL);
    for (size_t i = 0; !s->changed && i < inner.all.n; i++)
        strv_pushf(&s->pending, "%s/%s", ours->work_tree, inner.all.v[i]);
}

static int check_tree(struct search *s, const char *tree, struct err *err)
{
    autofree char *dot_git = mem_printf("%s/.git", tree);
    autobuf struct buf dir = BUF_INIT;
    struct git_place any = {.git_dir = s->common};
    struct stat st;
    if (lstat(dot_git, &st) < 0) /* not checked out */
        return 0;
    if (git_call(&any, &dir, err, "rev-parse", "--resolve-git-dir", dot_git, NULL))
        return -1;
    autofree char *index = mem_printf("%s/index", dir.s);
    struct git_place there = {.git_dir = dir.s, .work_tree = tree, .foreign = true};
    struct git_place ours = {.git_dir = s->common, .work_tree = tree, .index = index};
    bool has_index = lstat(index, &st) == 0;
    if (has_index && !S_ISREG(st.st_mode))
        s->changed = true;
    else if (check_index(s, &there, err))
        return -1;
    if (has_index && !s->changed)
        check_files(s, &ours);
    return 0;
}

int gitlinks_tree_changed(const char *common, const char *tree, bool untracked, bool *ret_yes,
                          struct err *err)
{
    own_cleanup(search_done) struct search s = {.common = common, .untracked = untracked};
    strv_push(&s.pending, tree);
    for (size_t i = 0; !s.changed && i < s.pending.n; i++) { /* check_tree() adds to the list */
        autofree char *next = mem_str(s.pending.v[i]);
        if (check_tree(&s, next, err))
            return -1;
    }
    *ret_yes = s.changed;
    return 0;
}

int gitlinks_changed(const struct git_place *at, size_t id_len, bool untracked, struct strv *ret,
                     struct err *err)
{
    own_cleanup(submodules_done) struct submodules found = {.checked = BUF_INIT};
    const char *common = at->common ? at->common : at->git_dir;
    if (find_submodules(at, id_len, &found, err))
        return -1;
    for (size_t i = 0; i < found.all.n; i++) {
        autofree char *tree = mem_printf("%s/%s", at->work_tree, found.all.v[i]);
        bool yes;
        if (gitlinks_tree_changed(common, tree, untracked, &yes, err))
            return err_wrap(err, "the submodule '%s'", found.all.v[i]);
        if (yes)
            strv_push(ret, found.all.v[i]);
    }
    return 0;
}
