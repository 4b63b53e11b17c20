#include "git/tree/tree_diff.h"

#include "base/mem.h"
#include "base/vec.h"
#include "git/tree/tree_cursor.h"

#include <stdbool.h>
#include <string.h>

enum { FROM, TO, SIDES };

/* One folder. On a side that lacks the folder, the cursor is not open. */
struct level {
    struct tree_cursor at[SIDES];
    size_t prefix; /* length of its path, with the slash */
};

struct walk {
    struct git_batch *batch;
    size_t id_len;
    VEC(struct level *) levels;
    struct buf path;
    tree_diff_found *found;
    void *ctx;
};

static void level_free(struct level *l)
{
    for (int s = 0; s < SIDES; s++)
        tree_cursor_done(&l->at[s]);
    free(l);
}

static struct level *level_new(struct walk *w)
{
    struct level *l = mem_alloc(sizeof(*l));
    for (int s = 0; s < SIDES; s++)
        l->at[s] = (struct tree_cursor)TREE_CURSOR_INIT;
    l->prefix = w->path.len;
    vec_push(&w->levels, l);
    return l;
}

static int open_folder(struct walk *w, const struct tree_entry *const at[SIDES], struct err *err)
{
    buf_addch(&w->path, '/');
    struct level *l = level_new(w);
    for (int s = 0; s < SIDES; s++) {
        if (at[s] && tree_cursor_open_entry(&l->at[s], w->batch, at[s], w->id_len, err))
            return -1;
    }
    return 0;
}

/* Compares the next name of the last folder on the sides that have it. */
static int compare_next_name(struct walk *w, struct level *l, struct err *err)
{
    const struct tree_entry entries[SIDES] = {l->at[FROM].entry, l->at[TO].entry};
    const struct tree_entry *at[SIDES] = {NULL};
    int order = !l->at[FROM].has_entry ? 1
                : !l->at[TO].has_entry ? -1
                                       : tree_compare(&entries[FROM], &entries[TO]);
    if (order <= 0)
        at[FROM] = &entries[FROM];
    if (order >= 0)
        at[TO] = &entries[TO];
    for (int s = 0; s < SIDES; s++) {
        if (at[s] && tree_cursor_next(&l->at[s], err))
            return -1;
    }
    if (order == 0 && tree_same(at[FROM], at[TO], w->id_len))
        return 0;
    const struct tree_entry *any = at[FROM] ? at[FROM] : at[TO];
    buf_cut(&w->path, l->prefix);
    buf_add(&w->path, any->name, any->len);
    if (w->found(w->ctx, w->path.s, at[FROM], at[TO], err))
        return -1;
    return any->is_tree ? open_folder(w, at, err) : 0;
}

static int open_roots(struct walk *w, const char *const names[SIDES], struct err *err)
{
    struct level *l = level_new(w);
    for (int s = 0; s < SIDES; s++) {
        if (tree_cursor_open_commit(&l->at[s], w->batch, names[s], w->id_len, err))
            return -1;
    }
    return 0;
}

int tree_diff_each(struct git_batch *batch, const char *from, const char *to,
                   tree_diff_found *found, void *ctx, struct err *err)
{
    struct walk w = {
        .batch = batch, .id_len = strlen(from) / 2, .path = BUF_INIT, .found = found, .ctx = ctx};
    const char *const names[SIDES] = {from, to};
    int rc = open_roots(&w, names, err);
    while (rc == 0 && w.levels.n) {
        struct level *l = w.levels.v[w.levels.n - 1];
        if (l->at[FROM].has_entry || l->at[TO].has_entry)
            rc = compare_next_name(&w, l, err);
        else
            level_free(w.levels.v[--w.levels.n]);
    }
    while (w.levels.n)
        level_free(w.levels.v[--w.levels.n]);
    vec_done(&w.levels);
    buf_done(&w.path);
    return rc;
}

static int add_file(void *ctx, const char *path, const struct tree_entry *from,
                    const struct tree_entry *to, struct err *err)
{
    (void)err;
    if (!(from ? from : to)->is_tree)
        buf_add(ctx, path, strlen(path) + 1);
    return 0;
}

int tree_diff(struct git_batch *batch, const char *from, const char *to, struct buf *out,
              struct err *err)
{
    return tree_diff_each(batch, from, to, add_file, out, err);
}

static int find_name(const struct buf *tree, size_t id_len, const char *name, size_t len,
                     struct tree_entry *ret, bool *ret_found, struct err *err)
{
    struct err damage = {0};
    size_t pos = 0;
    *ret_found = false;
    while (!*ret_found && tree_next(tree, id_len, &pos, ret, &damage))
        *ret_found = ret->len == len && memcmp(ret->name, name, len) == 0;
    return damage.code ? err_set(err, damage.code, "%s", damage.msg) : 0;
}

int tree_find(struct git_batch *batch, const char *tree, const char *path, struct buf *ret_id,
              bool *ret_found, struct err *err)
{
    autobuf struct buf id = BUF_INIT;
    bool is_tree = true;
    buf_addstr(&id, tree);
    *ret_found = true;
    for (size_t len; *ret_found && *path; path += len + (path[len] == '/')) {
        autobuf struct buf bytes = BUF_INIT;
        struct tree_entry e;
        len = strcspn(path, "/");
        *ret_found = is_tree;
        if (is_tree && (git_batch_read(batch, id.s, &bytes, err) ||
                        find_name(&bytes, id.len / 2, path, len, &e, ret_found, err)))
            return -1;
        if (!*ret_found)
            return 0;
        is_tree = e.is_tree;
        size_t id_len = id.len / 2;
        buf_cut(&id, 0);
        tree_id(&id, e.id, id_len);
    }
    buf_add(ret_id, id.s, id.len);
    return 0;
}
