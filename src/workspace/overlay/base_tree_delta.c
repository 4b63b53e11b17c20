#include "workspace/overlay/base_tree_delta.h"

#include "base/mem.h"
#include "base/own.h"
#include "git/format/index.h"
#include "sys/contain/overlayfs.h"
#include "sys/own_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

bool base_tree_delta_hide(int root, const char *path)
{
    return mknodat(root, path, S_IFCHR, 0) == 0;
}

struct delta_check {
    int root;
    struct git_index index, below;
    struct git_index_entry entry, old_entry;
    bool has_entry, has_old; /* entry, old_entry are valid */
    size_t found;            /* files seen in the delta */
};

static void delta_check_done(struct delta_check *c)
{
    git_index_done(&c->index);
    git_index_done(&c->below);
    own_close(&c->root);
}

static bool is_same(const struct delta_check *c)
{
    const struct git_index_entry *a = &c->entry, *b = &c->old_entry;
    return a->mode == b->mode && a->size == b->size && a->ino == b->ino && a->mtime == b->mtime &&
           a->mtime_ns == b->mtime_ns && a->ctime == b->ctime && a->ctime_ns == b->ctime_ns &&
           memcmp(a->id, b->id, c->index.id_len) == 0;
}

static bool is_written(struct delta_check *c)
{
    const struct git_index_entry *e = &c->entry;
    struct stat st;
    c->found++;
    return fstatat(c->root, e->path, &st, AT_SYMLINK_NOFOLLOW) == 0 && git_index_fits(e, &st) &&
           git_index_same_time(&st.st_ctim, e->ctime, e->ctime_ns);
}

static bool is_hidden(struct delta_check *c)
{
    struct stat st;
    c->found++;
    return fstatat(c->root, c->old_entry.path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           overlay_is_whiteout(&st);
}

/* Checks the next path, which is in one index or in both. */
static bool check_next_path(struct delta_check *c)
{
    int order = !c->has_old ? -1 : !c->has_entry ? 1 : strcmp(c->entry.path, c->old_entry.path);
    bool good = order > 0 ? is_hidden(c) : (order == 0 && is_same(c)) || is_written(c);
    if (order <= 0)
        c->has_entry = git_index_next(&c->index, &c->entry);
    if (order >= 0)
        c->has_old = git_index_next(&c->below, &c->old_entry);
    return good;
}

/* True if the folder contains exactly n files, so nothing else is in it. */
static bool has_file_count(const char *tree, size_t n)
{
    autofree char *top = mem_str(tree);
    char *const roots[] = {top, NULL};
    autofts FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    size_t found = 0;
    if (!fts)
        return false;
    for (FTSENT *e; found <= n && (e = fts_read(fts));)
        found += e->fts_info != FTS_D && e->fts_info != FTS_DP;
    return found == n;
}

bool base_tree_delta_fits(const char *tree, const char *index, const char *below, size_t digits)
{
    own_cleanup(delta_check_done) struct delta_check c = {
        .root = open(tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    bool good = c.root >= 0 && git_index_open(&c.index, index, digits, NULL) == 0 &&
                git_index_open(&c.below, below, digits, NULL) == 0;
    c.has_entry = good && git_index_next(&c.index, &c.entry);
    c.has_old = good && git_index_next(&c.below, &c.old_entry);
    while (good && (c.has_entry || c.has_old))
        good = check_next_path(&c);
    return good && c.index.good && c.below.good && has_file_count(tree, c.found);
}
