#include "git/merge/merge_plain_trees.h"

#include "base/mem.h"
#include "base/vec.h"
#include "git/tree/tree_cursor.h"

#include <string.h>

enum side { BASE, OURS, THEIRS, SIDES };

enum { CLASH_MAX = 10000 }; /* comparisons of added names in one folder */

/* One folder that both sides changed. */
struct level {
    struct tree_cursor at[SIDES];
    VEC(struct tree_entry) added[SIDES]; /* entries that are not in the base */
    struct buf name;                     /* its name in its parent folder */
    struct buf merged;
};

struct merge {
    struct git_batch *batch;
    size_t id_len;
    VEC(struct level *) levels;
    bool plain;
};

static void level_free(struct level *l)
{
    for (int s = 0; s < SIDES; s++) {
        tree_cursor_done(&l->at[s]);
        vec_done(&l->added[s]);
    }
    buf_done(&l->name);
    buf_done(&l->merged);
    free(l);
}

static struct level *level_new(struct merge *m)
{
    struct level *l = mem_alloc(sizeof(*l));
    for (int s = 0; s < SIDES; s++)
        l->at[s] = (struct tree_cursor)TREE_CURSOR_INIT;
    l->name = l->merged = (struct buf)BUF_INIT;
    vec_push(&m->levels, l);
    return l;
}

/* Opens the folder of this name on all sides that have it. */
static int open_folder(struct merge *m, const struct tree_entry *const at[SIDES], struct err *err)
{
    struct level *l = level_new(m);
    buf_add(&l->name, at[OURS]->name, at[OURS]->len);
    for (int s = 0; s < SIDES; s++) {
        if (at[s] && tree_cursor_open_entry(&l->at[s], m->batch, at[s], m->id_len, err))
            return -1;
    }
    return 0;
}

static void add_entry(struct merge *m, struct level *l, const struct tree_entry *e)
{
    m->plain = m->plain && tree_is_usual(e);
    buf_add(&l->merged, e->mode, (size_t)((const char *)e->id - e->mode) + m->id_len);
}

/* Merges the entries of one name. `at` is NULL for sides that lack it. */
static int merge_entry(struct merge *m, struct level *l, const struct tree_entry *const at[SIDES],
                       struct err *err)
{
    const struct tree_entry *base = at[BASE], *ours = at[OURS], *theirs = at[THEIRS];
    if ((!ours && !theirs) || (base && (!ours || !theirs)))
        m->plain = false;
    else if (!ours)
        add_entry(m, l, theirs);
    else if (!theirs)
        add_entry(m, l, ours);
    else if (base && tree_same(base, theirs, m->id_len))
        add_entry(m, l, ours);
    else if (base && tree_same(base, ours, m->id_len))
        add_entry(m, l, theirs);
    else if (tree_same(ours, theirs, m->id_len) && !(base && ours->is_tree))
        add_entry(m, l, ours);
    else if (ours->is_tree && theirs->is_tree)
        return open_folder(m, at, err); /* each side may have moved entries out of it */
    else
        m->plain = false;
    return 0;
}

static int merge_next_name(struct merge *m, struct level *l, struct err *err)
{
    struct tree_entry entries[SIDES];
    const struct tree_entry *at[SIDES] = {NULL}, *first = NULL;
    for (int s = 0; s < SIDES; s++) {
        entries[s] = l->at[s].entry;
        if (l->at[s].has_entry && (!first || tree_compare(&entries[s], first) < 0))
            first = &entries[s];
    }
    for (int s = 0; s < SIDES; s++) {
        if (!l->at[s].has_entry || tree_compare(&entries[s], first) != 0)
            continue;
        at[s] = &entries[s];
        if (s != BASE && !at[BASE])
            vec_push(&l->added[s], entries[s]);
        if (tree_cursor_next(&l->at[s], err))
            return -1;
    }
    return merge_entry(m, l, at, err);
}

/* True if one side added a file and the other a folder of the same name: these are not adjacent in
 * the order of a tree. */
static bool has_clash(const struct level *l)
{
    if (l->added[OURS].n * l->added[THEIRS].n > CLASH_MAX)
        return true;
    for (size_t i = 0; i < l->added[OURS].n; i++) {
        const struct tree_entry *a = &l->added[OURS].v[i];
        for (size_t k = 0; k < l->added[THEIRS].n; k++) {
            const struct tree_entry *b = &l->added[THEIRS].v[k];
            if (a->is_tree != b->is_tree && a->len == b->len &&
                memcmp(a->name, b->name, a->len) == 0)
                return true;
        }
    }
    return false;
}

/* Writes the last folder, which is merged: it becomes an entry of its parent, or the result. */
static int finish_folder(struct merge *m, struct buf *ret_tree, struct err *err)
{
    struct level *l = m->levels.v[m->levels.n - 1];
    autobuf struct buf id = BUF_INIT;
    m->plain = !has_clash(l);
    if (!m->plain)
        return 0;
    if (git_batch_write(m->batch, GIT_BATCH_TREE, &l->merged, &id, err)) {
        m->plain = false;
        return git_batch_refused(err) ? 0 : -1;
    }
    m->levels.n--;
    if (m->levels.n)
        tree_add(&m->levels.v[m->levels.n - 1]->merged, "40000", l->name.s, l->name.len, id.s);
    else
        buf_add(ret_tree, id.s, id.len);
    level_free(l);
    return 0;
}

static int open_roots(struct merge *m, const char *const commits[SIDES], struct err *err)
{
    struct level *l = level_new(m);
    for (int s = 0; s < SIDES; s++) {
        if (tree_cursor_open_commit(&l->at[s], m->batch, commits[s], m->id_len, err))
            return -1;
    }
    return 0;
}

int merge_plain_trees(struct git_batch *batch, const char *base, const char *ours,
                      const char *theirs, struct buf *ret_tree, bool *ret_plain, struct err *err)
{
    struct merge m = {.batch = batch, .id_len = strlen(base) / 2, .plain = true};
    const char *const commits[SIDES] = {base, ours, theirs};
    int rc = open_roots(&m, commits, err);
    while (rc == 0 && m.plain && m.levels.n) {
        struct level *l = m.levels.v[m.levels.n - 1];
        bool has_entries =
            l->at[BASE].has_entry || l->at[OURS].has_entry || l->at[THEIRS].has_entry;
        rc = has_entries ? merge_next_name(&m, l, err) : finish_folder(&m, ret_tree, err);
    }
    *ret_plain = m.plain;
    while (m.levels.n)
        level_free(m.levels.v[--m.levels.n]);
    vec_done(&m.levels);
    return rc;
}
