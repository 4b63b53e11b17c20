#include "git/merge/merge_plain_trees.h"

#include "base/mem.h"
#include "base/vec.h"
#include "git/batch.h"
#include "git/format/tree.h"

#include <string.h>

enum side { BASE, OURS, THEIRS, SIDES };

enum { CLASH_MAX = 10000 }; /* comparisons of added names in one folder */

/* One folder that both sides changed. */
struct level {
    struct buf tree[SIDES];
    size_t pos[SIDES];
    struct tree_entry next[SIDES];
    bool there[SIDES];                   /* `next` is one */
    VEC(struct tree_entry) added[SIDES]; /* what is not in the base */
    struct buf name;                     /* in the folder above */
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
        buf_done(&l->tree[s]);
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
        l->tree[s] = (struct buf)BUF_INIT;
    l->name = l->merged = (struct buf)BUF_INIT;
    vec_push(&m->levels, l);
    return l;
}

static int advance(struct merge *m, struct level *l, enum side s, struct err *err)
{
    struct err damage = {0};
    l->there[s] = tree_next(&l->tree[s], m->id_len, &l->pos[s], &l->next[s], &damage);
    return damage.code ? (*err = damage, -1) : 0;
}

static int read_tree(struct merge *m, struct level *l, enum side s, const char *name,
                     struct err *err)
{
    return git_batch_read(m->batch, name, &l->tree[s], err) || advance(m, l, s, err) ? -1 : 0;
}

/* The folder of that name, on all sides that have it. */
static int descend(struct merge *m, const struct tree_entry *const at[SIDES], struct err *err)
{
    struct level *l = level_new(m);
    buf_add(&l->name, at[OURS]->name, at[OURS]->len);
    for (int s = 0; s < SIDES; s++) {
        autobuf struct buf id = BUF_INIT;
        if (!at[s])
            continue;
        tree_id(&id, at[s]->id, m->id_len);
        if (read_tree(m, l, (enum side)s, id.s, err))
            return -1;
    }
    return 0;
}

static void take(struct merge *m, struct level *l, const struct tree_entry *e)
{
    m->plain = m->plain && tree_is_usual(e);
    buf_add(&l->merged, e->mode, (size_t)((const char *)e->id - e->mode) + m->id_len);
}

/* What is there under one name: `at` has NULL for the sides that lack it. */
static int settle(struct merge *m, struct level *l, const struct tree_entry *const at[SIDES],
                  struct err *err)
{
    const struct tree_entry *base = at[BASE], *ours = at[OURS], *theirs = at[THEIRS];
    if ((!ours && !theirs) || (base && (!ours || !theirs)))
        m->plain = false;
    else if (!ours)
        take(m, l, theirs);
    else if (!theirs)
        take(m, l, ours);
    else if (base && tree_same(base, theirs, m->id_len))
        take(m, l, ours);
    else if (base && tree_same(base, ours, m->id_len))
        take(m, l, theirs);
    else if (tree_same(ours, theirs, m->id_len) && !(base && ours->is_tree))
        take(m, l, ours);
    else if (ours->is_tree && theirs->is_tree)
        return descend(m, at, err); /* what both took out may be elsewhere now, on each side */
    else
        m->plain = false;
    return 0;
}

static int step(struct merge *m, struct level *l, struct err *err)
{
    struct tree_entry entries[SIDES];
    const struct tree_entry *at[SIDES] = {NULL}, *first = NULL;
    memcpy(entries, l->next, sizeof(entries));
    for (int s = 0; s < SIDES; s++) {
        if (l->there[s] && (!first || tree_compare(&entries[s], first) < 0))
            first = &entries[s];
    }
    for (int s = 0; s < SIDES; s++) {
        if (!l->there[s] || tree_compare(&entries[s], first) != 0)
            continue;
        at[s] = &entries[s];
        if (s != BASE && !at[BASE])
            vec_push(&l->added[s], entries[s]);
        if (advance(m, l, (enum side)s, err))
            return -1;
    }
    return settle(m, l, at, err);
}

/* A file here and a folder there of one name are not side by side in the order of a tree. */
static bool clash(const struct level *l)
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

/* The last folder is merged: it becomes an entry of the one above, or the result. */
static int ascend(struct merge *m, struct buf *ret_tree, struct err *err)
{
    struct level *l = m->levels.v[m->levels.n - 1];
    autobuf struct buf id = BUF_INIT;
    m->plain = !clash(l);
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

static int begin(struct merge *m, const char *const commits[SIDES], struct err *err)
{
    struct level *l = level_new(m);
    for (int s = 0; s < SIDES; s++) {
        autofree char *name = mem_printf("%s^{tree}", commits[s]);
        if (read_tree(m, l, (enum side)s, name, err))
            return -1;
    }
    return 0;
}

int merge_plain_trees(struct git_batch *batch, const char *base, const char *ours,
                      const char *theirs, struct buf *ret_tree, bool *ret_plain, struct err *err)
{
    struct merge m = {.batch = batch, .id_len = strlen(base) / 2, .plain = true};
    const char *const commits[SIDES] = {base, ours, theirs};
    int rc = begin(&m, commits, err);
    while (rc == 0 && m.plain && m.levels.n) {
        struct level *l = m.levels.v[m.levels.n - 1];
        bool left = l->there[BASE] || l->there[OURS] || l->there[THEIRS];
        rc = left ? step(&m, l, err) : ascend(&m, ret_tree, err);
    }
    *ret_plain = m.plain;
    while (m.levels.n)
        level_free(m.levels.v[--m.levels.n]);
    vec_done(&m.levels);
    return rc;
}
