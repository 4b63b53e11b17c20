#include "git/merge/merge_attributes.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/vec.h"
#include "git/batch.h"
#include "git/format/tree.h"

#include <string.h>
#include <strings.h>

enum { MEMORY_MAX = 4 << 20, READS_MAX = 256 };

/* A folder, and what the base has in its place. */
struct level {
    struct buf key;
    struct buf tree, was;
    size_t pos, was_pos;
    struct tree_entry next_was;
    bool was_there; /* `next_was` is one */
};

struct walk {
    struct simple_trees *known;
    struct git_batch *batch;
    size_t id_len, reads;
    VEC(struct level *) levels;
    bool simple;
};

void simple_trees_done(struct simple_trees *s)
{
    map_done(&s->known);
    arena_done(&s->arena);
}

static void level_free(struct level *l)
{
    buf_done(&l->key);
    buf_done(&l->tree);
    buf_done(&l->was);
    free(l);
}

/* In capitals as well: there are file systems that do not tell them apart. */
static bool is_simple(const struct tree_entry *e)
{
    static const char attributes[] = ".gitattributes", submodule[] = "160000 ";
    return strncmp(e->mode, submodule, strlen(submodule)) != 0 &&
           (e->len != strlen(attributes) || strncasecmp(e->name, attributes, e->len) != 0);
}

/* What one side took out, the other may still have as it was. */
static int next_was(struct walk *w, struct level *l, struct err *err)
{
    struct err damage = {0};
    l->was_there = tree_next(&l->was, w->id_len, &l->was_pos, &l->next_was, &damage);
    w->simple = w->simple && (!l->was_there || is_simple(&l->next_was));
    return damage.code ? (*err = damage, -1) : 0;
}

/* Goes into a folder by its id, unless it is known; `was` is the id of the base's, or empty. */
static int enter(struct walk *w, const char *id, const char *was, struct err *err)
{
    autobuf struct buf key = BUF_INIT;
    buf_addf(&key, "%s %s", was, id);
    if (map_get(&w->known->known, key.s, key.len))
        return 0;
    w->simple = ++w->reads <= READS_MAX;
    if (!w->simple)
        return 0;
    struct level *l = mem_alloc(sizeof(*l));
    l->key = key;
    l->tree = l->was = key = (struct buf)BUF_INIT;
    vec_push(&w->levels, l);
    return git_batch_read(w->batch, id, &l->tree, err) ||
                   (*was && git_batch_read(w->batch, was, &l->was, err)) || next_was(w, l, err)
               ? -1
               : 0;
}

static int enter_entry(struct walk *w, struct level *l, const struct tree_entry *e, struct err *err)
{
    autobuf struct buf id = BUF_INIT, was = BUF_INIT;
    while (l->was_there && tree_compare(&l->next_was, e) < 0) {
        if (next_was(w, l, err))
            return -1;
    }
    if (l->was_there && tree_compare(&l->next_was, e) == 0) {
        if (tree_same(&l->next_was, e, w->id_len))
            return 0;
        tree_id(&was, l->next_was.id, w->id_len);
    }
    tree_id(&id, e->id, w->id_len);
    return enter(w, id.s, was.s, err);
}

/* All that is below the last folder was looked at; what is left are names that only the base has.
 */
static int leave(struct walk *w, struct level *l, struct err *err)
{
    struct simple_trees *s = w->known;
    while (w->simple && l->was_there) {
        if (next_was(w, l, err))
            return -1;
    }
    if (!w->simple)
        return 0;
    (void)map_put(&s->known, arena_dup(&s->arena, l->key.s, l->key.len), l->key.len, s);
    level_free(l);
    w->levels.n--;
    return 0;
}

static int step(struct walk *w, struct err *err)
{
    struct level *l = w->levels.v[w->levels.n - 1];
    struct tree_entry e;
    struct err damage = {0};
    if (!tree_next(&l->tree, w->id_len, &l->pos, &e, &damage))
        return damage.code ? (*err = damage, -1) : leave(w, l, err);
    w->simple = is_simple(&e);
    return w->simple && e.is_tree ? enter_entry(w, l, &e, err) : 0;
}

static int find_root(struct walk *w, const char *commit, struct buf *ret_id, struct err *err)
{
    autofree char *name = mem_printf("%s^{tree}", commit);
    bool found;
    if (git_batch_resolve(w->batch, name, ret_id, &found, err))
        return -1;
    return found ? 0 : err_set(err, ERR_ENV, "there is no commit %s", commit);
}

static int walk(struct walk *w, const char *base, const char *commit, struct err *err)
{
    autobuf struct buf id = BUF_INIT, was = BUF_INIT;
    if (find_root(w, commit, &id, err) || find_root(w, base, &was, err))
        return -1;
    int rc = strcmp(id.s, was.s) ? enter(w, id.s, was.s, err) : 0;
    while (rc == 0 && w->simple && w->levels.n)
        rc = step(w, err);
    return rc;
}

int simple_trees_since(struct simple_trees *s, struct git_batch *batch, const char *base,
                       const char *commit, bool *ret_simple, struct err *err)
{
    struct walk w = {.known = s, .batch = batch, .id_len = strlen(base) / 2, .simple = true};
    if (s->arena.total >= MEMORY_MAX)
        simple_trees_done(s);
    int rc = walk(&w, base, commit, err);
    while (w.levels.n)
        level_free(w.levels.v[--w.levels.n]);
    vec_done(&w.levels);
    if (rc == 0)
        *ret_simple = w.simple;
    return rc;
}
