#include "git/format/gitlinks.h"

#include "base/mem.h"
#include "git/format/index.h"

#include <ctype.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct links {
    struct strv all; /* their paths */
    struct buf seen; /* those that git looks at in the work tree, each with a NUL behind it */
};

static void gitlinks_done(struct links *l)
{
    strv_done(&l->all);
    buf_done(&l->seen);
}

/* Whether an index surely has none: most have none, and this needs no process. */
static bool has_none(const char *path, size_t id_len)
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

/* Whether a folder above `path` is a symlink: git takes the entry for deleted then. */
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

/* "TAG MODE ID STAGE\tPATH"; the tag says whether git was told not to look at the file. */
static void add_link(const struct git_place *at, const char *line, struct links *ret)
{
    static const char mode[] = "160000 ";
    const char *tab = strchr(line, '\t');
    if (!tab || strncmp(line + 2, mode, strlen(mode)) != 0 ||
        is_beyond_symlink(at->work_tree, tab + 1))
        return;
    if (ret->all.n && strcmp(ret->all.v[ret->all.n - 1], tab + 1) == 0) /* it is not merged */
        return;
    strv_push(&ret->all, tab + 1);
    if (isupper((unsigned char)*line) && *line != 'S')
        buf_add(&ret->seen, tab + 1, strlen(tab + 1) + 1);
}

static int find_links(const struct git_place *at, size_t id_len, struct links *ret, struct err *err)
{
    autobuf struct buf out = BUF_INIT;
    if (has_none(at->index, id_len))
        return 0;
    if (git_call(at, &out, err, "ls-files", "-z", "-v", "--stage", NULL))
        return -1;
    for (const char *p = out.s; p < out.s + out.len; p += strlen(p) + 1)
        add_link(at, p, ret);
    return 0;
}

static void exclude_all(const struct links *l, struct strv *args)
{
    for (size_t i = 0; i < l->all.n; i++)
        strv_pushf(args, ":(top,exclude,literal)%s", l->all.v[i]);
}

int gitlinks_exclude(const struct git_place *at, size_t id_len, struct strv *args, struct err *err)
{
    own_cleanup(gitlinks_done) struct links found = {.seen = BUF_INIT};
    if (find_links(at, id_len, &found, err))
        return -1;
    exclude_all(&found, args);
    return 0;
}

int gitlinks_stage(const struct git_place *at, size_t id_len, struct strv *args, struct err *err)
{
    own_cleanup(gitlinks_done) struct links found = {.seen = BUF_INIT};
    autostrv struct strv update = {0};
    autobuf struct buf out = BUF_INIT, errout = BUF_INIT;
    int status = 0;
    if (find_links(at, id_len, &found, err))
        return -1;
    exclude_all(&found, args);
    strv_pushl(&update, "update-index", "--add", "--remove", "-z", "--stdin", NULL);
    if (found.seen.len && git_feed(at, &update, &found.seen, &out, &errout, &status, err))
        return -1;
    return status ? err_set(err, ERR_ENV, "git update-index: %s", errout.s) : 0;
}

/* A search for changes in a repository and in those inside of it. */
struct search {
    const char *common;
    bool untracked;
    struct strv left; /* work trees to look into */
    bool changed;
};

static void search_done(struct search *s)
{
    strv_done(&s->left);
}

/* Whether the index differs from HEAD, or new files are there. This reads no tracked file, so git
 * runs no filter. */
static int lookup_at_index(struct search *s, const struct git_place *there, struct err *err)
{
    autobuf struct buf head = BUF_INIT, out = BUF_INIT;
    struct err none = {0};
    bool unborn = git_resolve(there, "HEAD", &head, &none) != 0;
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

/* The files, by our own configuration. An index that we cannot read counts as a change. */
static void lookup_at_files(struct search *s, const struct git_place *ours)
{
    own_cleanup(gitlinks_done) struct links inner = {.seen = BUF_INIT};
    autobuf struct buf out = BUF_INIT;
    struct err none = {0};
    s->changed = git_call(ours, &out, &none, "ls-files", "-z", "--modified", NULL) || out.len ||
                 find_links(ours, 0, &inner, &none);
    for (size_t i = 0; !s->changed && i < inner.all.n; i++)
        strv_pushf(&s->left, "%s/%s", ours->work_tree, inner.all.v[i]);
}

static int lookup_into(struct search *s, const char *tree, struct err *err)
{
    autofree char *dot_git = mem_printf("%s/.git", tree);
    autobuf struct buf dir = BUF_INIT;
    struct git_place any = {.git_dir = s->common};
    struct stat st;
    if (lstat(dot_git, &st) < 0) /* it is not checked out */
        return 0;
    if (git_call(&any, &dir, err, "rev-parse", "--resolve-git-dir", dot_git, NULL))
        return -1;
    autofree char *index = mem_printf("%s/index", dir.s);
    struct git_place there = {.git_dir = dir.s, .work_tree = tree, .foreign = true};
    struct git_place ours = {.git_dir = s->common, .work_tree = tree, .index = index};
    bool has_index = lstat(index, &st) == 0;
    if (has_index && !S_ISREG(st.st_mode))
        s->changed = true;
    else if (lookup_at_index(s, &there, err))
        return -1;
    if (has_index && !s->changed)
        lookup_at_files(s, &ours);
    return 0;
}

int gitlinks_tree_changed(const char *common, const char *tree, bool untracked, bool *ret_yes,
                          struct err *err)
{
    own_cleanup(search_done) struct search s = {.common = common, .untracked = untracked};
    strv_push(&s.left, tree);
    for (size_t i = 0; !s.changed && i < s.left.n; i++) { /* it grows meanwhile */
        autofree char *next = mem_str(s.left.v[i]);
        if (lookup_into(&s, next, err))
            return -1;
    }
    *ret_yes = s.changed;
    return 0;
}

int gitlinks_changed(const struct git_place *at, size_t id_len, bool untracked, struct strv *ret,
                     struct err *err)
{
    own_cleanup(gitlinks_done) struct links found = {.seen = BUF_INIT};
    const char *common = at->common ? at->common : at->git_dir;
    if (find_links(at, id_len, &found, err))
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
