#include "git/tree/tree_edit.h"

#include "base/mem.h"
#include "base/vec.h"
#include "git/tree/tree_cursor.h"

#include <stdio.h>
#include <string.h>

/* A folder that contains a change. */
struct level {
    struct tree_cursor old;
    struct buf made;
    bool has_new;  /* some name is new */
    size_t prefix; /* length of its path, with the slash */
};

struct edit {
    struct git_batch *batch;
    size_t id_len;
    const struct index_change *next, *end;
    VEC(struct level *) levels;
    struct buf path;     /* of the last level, with the slash */
    struct buf required; /* ids of objects that must exist, one per line */
    bool plain;          /* false: git must do it */
};

static void level_free(struct level *l)
{
    tree_cursor_done(&l->old);
    buf_done(&l->made);
    free(l);
}

static void edit_done(struct edit *e)
{
    while (e->levels.n)
        level_free(e->levels.v[--e->levels.n]);
    vec_done(&e->levels);
    buf_done(&e->path);
    buf_done(&e->required);
}

/* Opens the folder at the current path; tree NULL: it is empty so far. */
static int open_level(struct edit *e, const char *tree, struct err *err)
{
    struct level *l = mem_alloc(sizeof(*l));
    *l = (struct level){.old = TREE_CURSOR_INIT, .made = BUF_INIT, .prefix = e->path.len};
    vec_push(&e->levels, l);
    return tree ? tree_cursor_open(&l->old, e->batch, tree, e->id_len, err) : 0;
}

static int keep_entry(struct edit *e, struct level *l, struct err *err)
{
    const struct tree_entry *was = &l->old.entry;
    e->plain = tree_is_usual(was);
    buf_add(&l->made, was->mode, (size_t)((const char *)was->id - was->mode) + e->id_len);
    return tree_cursor_next(&l->old, err);
}

static int change_file(struct edit *e, struct level *l, const struct tree_entry *name, bool exists,
                       struct err *err)
{
    const struct index_change *c = e->next++;
    char mode[16];
    e->plain = exists || c->id;
    l->has_new |= !exists;
    if (c->id) {
        (void)snprintf(mode, sizeof(mode), "%o", c->mode);
        tree_add(&l->made, mode, name->name, name->len, c->id);
        buf_addf(&e->required, "%s\n", c->id);
    }
    return exists ? tree_cursor_next(&l->old, err) : 0;
}

static int change_folder(struct edit *e, struct level *l, const struct tree_entry *name,
                         bool exists, struct err *err)
{
    autobuf struct buf id = BUF_INIT;
    bool is_removed = !name->name[name->len + 1];
    l->has_new |= !exists;
    if (is_removed) {
        e->plain = exists && !e->next->id;
        e->next++;
    }
    if (exists) {
        tree_id(&id, l->old.entry.id, e->id_len);
        if (tree_cursor_next(&l->old, err))
            return -1;
    }
    buf_add(&e->path, name->name, name->len + 1);
    return open_level(e, exists && !is_removed ? id.s : NULL, err);
}

/* The name of the folder's next change; false if none is left. */
static bool get_next_name(const struct edit *e, const struct level *l, struct tree_entry *ret)
{
    if (e->next == e->end || strncmp(e->next->path, e->path.s, l->prefix) != 0)
        return false;
    const char *name = e->next->path + l->prefix;
    size_t len = strcspn(name, "/");
    *ret = (struct tree_entry){.name = name, .len = len, .is_tree = name[len] == '/'};
    return true;
}

/* The order of the paths is also the order of the trees, because the paths of folders end with a
 * slash. */
static int edit_next_name(struct edit *e, struct level *l, bool changes,
                          const struct tree_entry *name, struct err *err)
{
    int order = !changes ? -1 : !l->old.has_entry ? 1 : tree_compare(&l->old.entry, name);
    if (order < 0)
        return keep_entry(e, l, err);
    return name->is_tree ? change_folder(e, l, name, order == 0, err)
                         : change_file(e, l, name, order == 0, err);
}

static bool has_prefix(const struct tree_entry *start, const struct tree_entry *e)
{
    return start->len <= e->len && memcmp(start->name, e->name, start->len) == 0;
}

/* True if a name is both a file's and a folder's. These need not be adjacent: "d.c" may lie between
 * "d" and "d/", but only names that begin with "d" can. */
static bool has_clash(const struct edit *e, const struct buf *tree)
{
    VEC(struct tree_entry) files = {0}; /* files whose names are prefixes of the last name */
    bool clash = false;
    size_t pos = 0;
    for (struct tree_entry at; !clash && tree_next(tree, e->id_len, &pos, &at, NULL);) {
        while (files.n && !has_prefix(&files.v[files.n - 1], &at))
            files.n--;
        clash = at.is_tree && files.n && files.v[files.n - 1].len == at.len;
        if (!at.is_tree)
            vec_push(&files, at);
    }
    vec_done(&files);
    return clash;
}

/* Writes the last folder, which is complete: it becomes an entry of its parent, or the result. */
static int close_level(struct edit *e, struct buf *ret_tree, struct err *err)
{
    struct level *l = e->levels.v[e->levels.n - 1];
    struct level *above = e->levels.n > 1 ? e->levels.v[e->levels.n - 2] : NULL;
    autobuf struct buf id = BUF_INIT;
    e->plain = !l->has_new || !has_clash(e, &l->made);
    if (!e->plain)
        return 0;
    if ((l->made.len || !above) && git_batch_use_tree(e->batch, &l->made, &e->required, &id, err)) {
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

static int build_tree(struct edit *e, struct buf *ret_tree, struct err *err)
{
    int rc = 0;
    while (rc == 0 && e->plain && e->levels.n) {
        struct level *l = e->levels.v[e->levels.n - 1];
        struct tree_entry name;
        bool changes = get_next_name(e, l, &name);
        rc = changes || l->old.has_entry ? edit_next_name(e, l, changes, &name, err)
                                         : close_level(e, ret_tree, err);
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
                                            .required = BUF_INIT,
                                            .plain = true};
    size_t before = ret_tree->len;
    *ret_done = false;
    if (open_level(&e, tree, err) || build_tree(&e, ret_tree, err))
        return -1;
    if (e.plain && git_batch_has_all(batch, &e.required, ret_done, err))
        return -1;
    if (!*ret_done)
        buf_cut(ret_tree, before);
    return 0;
}
