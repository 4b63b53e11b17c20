#include "workspace/overlay/base_tree_delta.h"

#include "base/mem.h"
#include "base/own.h"
#include "git/format/index.h"
#include "sys/contain/overlayfs.h"
#include "sys/own_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <string.h>
#include <sys/stat.h>

bool base_tree_delta_hide(int root, const char *path)
{
    return mknodat(root, path, S_IFCHR, 0) == 0;
}

struct lookup {
    int root;
    struct git_index now, below;
    struct git_index_entry at, was;
    bool is, had; /* the two are entries */
    size_t found; /* in the delta */
};

static void lookup_done(struct lookup *l)
{
    git_index_done(&l->now);
    git_index_done(&l->below);
    own_close(&l->root);
}

static bool is_same(const struct lookup *l)
{
    const struct git_index_entry *a = &l->at, *b = &l->was;
    return a->mode == b->mode && a->size == b->size && a->ino == b->ino && a->mtime == b->mtime &&
           a->mtime_ns == b->mtime_ns && a->ctime == b->ctime && a->ctime_ns == b->ctime_ns &&
           memcmp(a->id, b->id, l->now.id_len) == 0;
}

static bool is_written(struct lookup *l)
{
    const struct git_index_entry *e = &l->at;
    struct stat st;
    l->found++;
    return fstatat(l->root, e->path, &st, AT_SYMLINK_NOFOLLOW) == 0 && git_index_fits(e, &st) &&
           git_index_same_time(&st.st_ctim, e->ctime, e->ctime_ns);
}

static bool is_hidden(struct lookup *l)
{
    struct stat st;
    l->found++;
    return fstatat(l->root, l->was.path, &st, AT_SYMLINK_NOFOLLOW) == 0 && overlay_is_whiteout(&st);
}

/* The next path, of one index or of both. */
static bool step(struct lookup *l)
{
    int order = !l->had ? -1 : !l->is ? 1 : strcmp(l->at.path, l->was.path);
    bool good = order > 0 ? is_hidden(l) : (order == 0 && is_same(l)) || is_written(l);
    if (order <= 0)
        l->is = git_index_next(&l->now, &l->at);
    if (order >= 0)
        l->had = git_index_next(&l->below, &l->was);
    return good;
}

/* Nothing else is in it. */
static bool has_so_many(const char *tree, size_t n)
{
    autofree char *top = mem_str(tree);
    char *const roots[] = {top, NULL};
    FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    size_t found = 0;
    if (!fts)
        return false;
    for (FTSENT *e; found <= n && (e = fts_read(fts));)
        found += e->fts_info != FTS_D && e->fts_info != FTS_DP;
    (void)fts_close(fts);
    return found == n;
}

bool base_tree_delta_fits(const char *tree, const char *index, const char *below, size_t digits)
{
    own_cleanup(lookup_done) struct lookup l = {.root =
                                                    open(tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    bool good = l.root >= 0 && git_index_open(&l.now, index, digits, NULL) == 0 &&
                git_index_open(&l.below, below, digits, NULL) == 0;
    l.is = good && git_index_next(&l.now, &l.at);
    l.had = good && git_index_next(&l.below, &l.was);
    while (good && (l.is || l.had))
        good = step(&l);
    return good && l.now.good && l.below.good && has_so_many(tree, l.found);
}
