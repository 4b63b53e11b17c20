#include "git/tree/index_edit.h"

#include "base/arena.h"
#include "base/vec.h"
#include "git/format/tree.h"

#include <string.h>

enum { VERSION = 2 };

struct edit {
    struct git_index index; /* a separate reader of the index */
    const struct index_change *next, *end;
    struct buf entries, trees;
    uint32_t n;              /* number of entries */
    struct map touched;      /* paths of changed folders, with the slash; ... */
    struct arena arena;      /* ... values: change of the number of entries, a long each */
    const struct map *known; /* their new trees, or NULL */
};

static void edit_done(struct edit *e)
{
    buf_done(&e->index.name);
    buf_done(&e->entries);
    buf_done(&e->trees);
    map_done(&e->touched);
    arena_done(&e->arena);
}

static void touch_folder(struct edit *e, const char *path, size_t len, long difference)
{
    long *sum = map_get(&e->touched, path, len);
    if (!sum) {
        sum = arena_alloc(&e->arena, sizeof(*sum));
        (void)map_put(&e->touched, path, len, sum);
    }
    *sum += difference;
}

/* All folders above a changed path have new trees. */
static void touch_parents(struct edit *e, const char *path, long difference)
{
    touch_folder(e, "", 0, difference);
    for (const char *slash = path; (slash = strchr(slash, '/')); slash++)
        touch_folder(e, path, (size_t)(slash + 1 - path), difference);
}

static void add_changed(struct edit *e, const struct index_change *c)
{
    git_index_add(&e->entries, c->path, c->mode, c->id, &c->st);
    e->n++;
}

/* Adds the new entries that sort before a path; NULL: all that are left. Returns false if an entry
 * is to be removed that does not exist. */
static bool add_before(struct edit *e, const char *path)
{
    for (; e->next < e->end && (!path || strcmp(e->next->path, path) < 0); e->next++) {
        if (!e->next->id)
            return false;
        add_changed(e, e->next);
        touch_parents(e, e->next->path, 1);
    }
    return true;
}

static bool is_same(const struct git_index *index, const struct git_index_entry *entry,
                    const struct index_change *c)
{
    autobuf struct buf id = BUF_INIT;
    tree_id(&id, entry->id, index->id_len);
    return c->id && entry->mode == c->mode && strcmp(id.s, c->id) == 0;
}

static void copy_entry(struct edit *e, const struct git_index_entry *entry)
{
    size_t len = strlen(entry->path);
    if (e->next == e->end || strcmp(e->next->path, entry->path) != 0) {
        buf_add(&e->entries, entry->id - GIT_INDEX_ID, git_index_length(len, e->index.id_len));
        e->n++;
        return;
    }
    if (e->next->id)
        add_changed(e, e->next);
    if (!is_same(&e->index, entry, e->next))
        touch_parents(e, e->next->path, e->next->id ? 0 : -1);
    e->next++;
}

static bool copy_entries(struct edit *e)
{
    bool good = e->index.version == VERSION;
    for (struct git_index_entry entry; good && git_index_next(&e->index, &entry);) {
        good = !entry.unsorted && !entry.unmerged && add_before(e, entry.path);
        if (good)
            copy_entry(e, &entry);
    }
    return good && e->index.good && add_before(e, NULL);
}

static void add_node(struct edit *e, const struct git_index_node *node)
{
    buf_addstr(&e->trees, node->name);
    buf_addch(&e->trees, '\0');
    buf_addf(&e->trees, "%ld %ld\n", node->entries, node->subtrees);
    if (node->entries >= 0)
        buf_add(&e->trees, node->id, e->index.id_len);
}

/* Updates the node of a changed folder. */
static void update_node(const struct edit *e, const struct buf *path, struct git_index_node *node)
{
    const long *difference = map_get(&e->touched, path->s, path->len);
    if (!difference || node->entries < 0)
        return;
    node->id = e->known ? map_get(e->known, path->s, path->len) : NULL;
    node->entries = node->id ? node->entries + *difference : -1;
}

/* A folder whose subfolders are being read. */
struct folder {
    long left;
    size_t path; /* length of its path, with the slash */
};

/* The nodes are in the order of a walk, so unchanged ones can be copied. */
static bool copy_trees(struct edit *e)
{
    VEC(struct folder) folders = {0};
    autobuf struct buf path = BUF_INIT;
    struct git_index_node node;
    const char *at;
    size_t len;
    bool good = true;
    if (!git_index_extension(&e->index, "TREE", &at, &len))
        return true;
    vec_push(&folders, (struct folder){.left = 1});
    for (const char *end = at + len; folders.n;) {
        struct folder *above = &folders.v[folders.n - 1];
        buf_cut(&path, above->path);
        if (above->left-- == 0) {
            folders.n--;
            continue;
        }
        good = git_index_node(&e->index, &at, end, &node);
        if (!good)
            break;
        buf_addf(&path, "%s%s", node.name, *node.name ? "/" : "");
        update_node(e, &path, &node);
        add_node(e, &node);
        vec_push(&folders, (struct folder){.left = node.subtrees, .path = path.len});
    }
    vec_done(&folders);
    return good;
}

int index_edit(const struct git_index *index, const struct index_change *changes, size_t n,
               const struct map *trees, const char *to, bool *ret_done, struct err *err)
{
    own_cleanup(edit_done) struct edit e = {.index = *index,
                                            .known = trees,
                                            .next = changes,
                                            .end = n ? changes + n : changes,
                                            .entries = BUF_INIT,
                                            .trees = BUF_INIT};
    e.index.name = (struct buf)BUF_INIT;
    *ret_done = copy_entries(&e) && copy_trees(&e);
    if (!*ret_done)
        return 0;
    return git_index_write(to, &e.entries, e.n, e.trees.s, e.trees.len, e.index.id_len, err);
}

int index_change_compare(const void *a, const void *b)
{
    return strcmp(((const struct index_change *)a)->path, ((const struct index_change *)b)->path);
}
