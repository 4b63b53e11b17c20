#include "git/tree/tree_edit.h"

#include "base/mem.h"
#include "base/vec.h"
#include "git/batch.h"
#include "git/format/tree.h"

#include <stdio.h>
#include <string.h>

/* A folder with something changed in it. */
struct level {
    struct buf old, made;
    size_t pos;
    struct tree_entry next;
    bool there;    /* `next` is one */
    bool has_new;  /* some name was not in it */
    size_t prefix; /* length of its path, with the slash */
};

struct edit {
    struct git_batch *batch;
    size_t id_len;
    const struct index_change *next, *end;
    VEC(struct level *) levels;
    struct buf path;   /* of the last one, with the slash */
    struct buf relied; /* ids of what must be there already, a line each */
    bool plain;        /* so far it is not for git */
};

static void level_free(struct level *l)
{
    buf_done(&l->old);
    buf_done(&l->made);
    free(l);
}

static void edit_done(struct edit *e)
{
    while (e->levels.n)
        level_free(e->levels.v[--e->levels.n]);
    vec_done(&e->levels);
    buf_done(&e->path);
    buf_done(&e->relied);
}

static int advance(const struct edit *e, struct level *l, struct err *err)
{
    struct err damage = {0};
    l->there = tree_next(&l->old, e->id_len, &l->pos, &l->next, &damage);
    return damage.code ? (*err = damage, -1) : 0;
}

/* The folder that the path leads to; NULL: nothing is in it yet. */
static int open_level(struct edit *e, const char *tree, struct err *err)
{
    struct level *l = mem_alloc(sizeof(*l));
    *l = (struct level){.old = BUF_INIT, .made = BUF_INIT, .prefix = e->path.len};
    vec_push(&e->levels, l);
    return tree && (git_batch_read(e->batch, tree, &l->old, err) || advance(e, l, err)) ? -1 : 0;
}

static int keep_entry(struct edit *e, struct level *l, struct err *err)
{
    const struct tree_entry *was = &l->next;
    e->plain = tree_is_usual(was);
    buf_add(&l->made, was->mode, (size_t)((const char *)was->id - was->mode) + e->id_len);
    return advance(e, l, err);
}

static int change_file(struct edit *e, struct level *l, const struct tree_entry *name, bool had,
                       struct err *err)
{
    const struct index_change *c = e->next++;
    char mode[16];
    e->plain = had || c->id;
    l->has_new |= !had;
    if (c->id) {
        (void)snprintf(mode, sizeof(mode), "%o", c->mode);
        tree_add(&l->made, mode, name->name, name->len, c->id);
        buf_addf(&e->relied, "%s\n", c->id);
    }
    return had ? advance(e, l, err) : 0;
}

static int change_folder(struct edit *e, struct level *l, const struct tree_entry *name, bool had,
                         struct err *err)
{
    autobuf struct buf id = BUF_INIT;
    bool goes = !name->name[name->len + 1];
    l->has_new |= !had;
    if (goes) {
        e->plain = had && !e->next->id;
        e->next++;
    }
    if (had) {
        tree_id(&id, l->next.id, e->id_len);
        if (advance(e, l, err))
            return -1;
    }
    buf_add(&e->path, name->name, name->len + 1);
    return open_level(e, had && !goes ? id.s : NULL, err);
}

/* The folder's next change by the name that it has there; false where there is none left. */
static bool next_name(const struct edit *e, const struct level *l, struct tree_entry *ret)
{
    if (e->next == e->end || strncmp(e->next->path, e->path.s, l->prefix) != 0)
        return false;
    const char *name = e->next->path + l->prefix;
    size_t len = strcspn(name, "/");
    *ret = (struct tree_entry){.name = name, .len = len, .is_tree = name[len] == '/'};
    return true;
}

/* Paths in their order are in that of the trees too, as those of folders have the slash. */
static int step(struct edit *e, struct level *l, bool changes, const struct tree_entry *name,
                struct err *err)
{
    int order = !changes ? -1 : !l->there ? 1 : tree_compare(&l->next, name);
    if (order < 0)
        return keep_entry(e, l, err);
    return name->is_tree ? change_folder(e, l, name, order == 0, err)
                         : change_file(e, l, name, order == 0, err);
}

static bool begins(const struct tree_entry *start, const struct tree_entry *e)
{
    return start->len <= e->len && memcmp(start->name, e->name, start->len) == 0;
}

/* Whether a name is a file's and a folder's. They need not be side by side: between "d" and "d/"
 * may be "d.c", but nothing that does not begin with the name. */
static bool clashes(const struct edit *e, const struct buf *tree)
{
    VEC(struct tree_entry) files = {0}; /* those that the last name begins with */
    struct err none = {0};
    bool clash = false;
    size_t pos = 0;
    for (struct tree_entry at; !clash && tree_next(tree, e->id_len, &pos, &at, &none);) {
        while (files.n && !begins(&files.v[files.n - 1], &at))
            files.n--;
        clash = at.is_tree && files.n && files.v[files.n - 1].len == at.len;
        if (!at.is_tree)
            vec_push(&files, at);
    }
    vec_done(&files);
    return clash;
}

/* A folder may have become what it is in another task's commit. */
static int write_tree(struct edit *e, const struct buf *tree, struct buf *ret_id, struct err *err)
{
    const char *known = git_batch_tree_id(e->batch, tree);
    if (!known)
        return git_batch_write(e->batch, GIT_BATCH_TREE, tree, ret_id, err);
    buf_addstr(ret_id, known);
    buf_addf(&e->relied, "%s\n", known);
    return 0;
}

/* The last folder is complete: it becomes an entry of the one above, or the result. */
static int close_level(struct edit *e, struct buf *ret_tree, struct err *err)
{
    struct level *l = e->levels.v[e->levels.n - 1];
    struct level *above = e->levels.n > 1 ? e->levels.v[e->levels.n - 2] : NULL;
    autobuf struct buf id = BUF_INIT;
    e->plain = !l->has_new || !clashes(e, &l->made);
    if (!e->plain)
        return 0;
    if ((l->made.len || !above) && write_tree(e, &l->made, &id, err)) {
        e->plain = false;
        return git_batch_refused(err) ? 0 : -1;
    }
    if (above && id.len)
        tree_add(&above->made, "40000", e->path.s + above->prefix, l->prefix - above->prefix - 1,
                 id.s);
    else if (!above)
        buf_add(ret_tree, id.s, id.len);
    buf_cut(&e->path, above ? above->prefix : 0);
    e->levels.n--;
    level_free(l);
    return 0;
}

static int build(struct edit *e, struct buf *ret_tree, struct err *err)
{
    int rc = 0;
    while (rc == 0 && e->plain && e->levels.n) {
        struct level *l = e->levels.v[e->levels.n - 1];
        struct tree_entry name;
        bool changes = next_name(e, l, &name);
        rc = changes || l->there ? step(e, l, changes, &name, err) : close_level(e, ret_tree, err);
    }
    return rc;
}

int tree_edit(struct git_batch *batch, const char *tree, const struct index_change *changes,
              size_t n, struct buf *ret_tree, bool *ret_done, struct err *err)
{
    own_cleanup(edit_done) struct edit e = {.batch = batch,
                                            .id_len = strlen(tree) / 2,
                                            .next = changes,
                                            .end = n ? changes + n : changes,
                                            .path = BUF_INIT,
                                            .relied = BUF_INIT,
                                            .plain = true};
    size_t before = ret_tree->len;
    *ret_done = false;
    if (open_level(&e, tree, err) || build(&e, ret_tree, err))
        return -1;
    if (e.plain && git_batch_has_all(batch, &e.relied, ret_done, err))
        return -1;
    if (!*ret_done)
        buf_cut(ret_tree, before);
    return 0;
}
