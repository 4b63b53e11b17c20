#include "git/tree/index_tree.h"

#include "base/arena.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "git/batch.h"
#include "git/format/index.h"
#include "git/format/tree.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Above this number, one process is faster than the questions. */
enum { QUESTIONS_MAX = 64 };

/* A folder whose tree is known; `entries` is the number of index entries in it. */
struct known {
    size_t entries;
    const unsigned char *id;
};

/* A folder whose tree we are building. */
struct level {
    size_t prefix; /* length of its path, with the slash */
    struct buf tree;
};

struct reader {
    struct git_batch *batch;
    struct git_index index;
    size_t id_len;
    struct arena arena;
    size_t questions;          /* number of folders that we ask git about or let it write */
    struct map folders;        /* path, with the slash: struct known */
    const unsigned char *root; /* id of the root tree, if it is known */
    VEC(struct level) levels;
    struct buf last;     /* the last path added */
    struct buf required; /* ids of objects that must exist, one per line */
};

/* A node of the cache whose subtrees are being read. */
struct open_node {
    long subtrees;
    size_t path; /* length of its path, with the slash */
    bool known;  /* it or a folder above it is known: skip the folders below */
};

static void note_folder(struct reader *r, const struct buf *path, size_t entries,
                        const unsigned char *id)
{
    struct known *known = arena_alloc(&r->arena, sizeof(*known));
    *known = (struct known){entries, id};
    if (path->len)
        (void)map_put(&r->folders, arena_dup(&r->arena, path->s, path->len), path->len, known);
    else
        r->root = id;
}

/* The index may name trees that were pruned: we rebuild these. */
static bool has_object(const struct reader *r, const unsigned char *id)
{
    autobuf struct buf name = BUF_INIT, out = BUF_INIT;
    bool found = false;
    tree_id(&name, id, r->id_len);
    return git_batch_resolve(r->batch, name.s, &out, &found, NULL) == 0 && found;
}

static bool read_cache(struct reader *r, const char *at, const char *end)
{
    VEC(struct open_node) open = {0};
    autobuf struct buf path = BUF_INIT;
    bool good = true;
    vec_push(&open, (struct open_node){.subtrees = 1});
    while (open.n) {
        struct open_node *above = &open.v[open.n - 1];
        buf_cut(&path, above->path);
        if (above->subtrees-- == 0) {
            open.n--;
            continue;
        }
        struct open_node node = {.known = above->known};
        struct git_index_node read;
        good = git_index_node(&r->index, &at, end, &read) &&
               (node.known || ++r->questions <= QUESTIONS_MAX);
        if (!good)
            break;
        buf_addstr(&path, read.name);
        if (path.len)
            buf_addch(&path, '/');
        node.path = path.len;
        node.subtrees = read.subtrees;
        if (read.entries > 0 && !node.known && has_object(r, read.id)) {
            note_folder(r, &path, (size_t)read.entries, read.id);
            node.known = true;
        }
        vec_push(&open, node);
    }
    vec_done(&open);
    return good;
}

/* Entries that cannot be in a tree, or need git. */
static bool is_odd(const struct git_index_entry *e)
{
    return e->unmerged || e->intended || (e->mode & GIT_INDEX_KIND) == GIT_INDEX_FOLDER;
}

/* Reads all entries once, to reach the known trees that follow them. */
static bool read_known_trees(struct reader *r)
{
    struct git_index first = r->index;
    const char *cache;
    size_t len;
    bool good = true;
    first.name = (struct buf)BUF_INIT;
    for (struct git_index_entry e; good && git_index_next(&first, &e);)
        good = !is_odd(&e);
    if (good && first.good)
        good = git_index_extension(&first, "TREE", &cache, &len) ? read_cache(r, cache, cache + len)
                                                                 : r->index.left <= QUESTIONS_MAX;
    buf_done(&first.name);
    return good && first.good;
}

/* Writes the last folder, which is complete: it becomes an entry of its parent, or the result. */
static int close_level(struct reader *r, struct buf *ret_tree, struct err *err)
{
    autobuf struct buf id = BUF_INIT;
    struct level *l = &r->levels.v[r->levels.n - 1];
    if (git_batch_use_tree(r->batch, &l->tree, &r->required, &id, err))
        return -1;
    buf_done(&l->tree);
    if (--r->levels.n) {
        struct level *above = l - 1;
        tree_add(&above->tree, "40000", r->last.s + above->prefix, l->prefix - above->prefix - 1,
                 id.s);
    } else {
        buf_add(ret_tree, id.s, id.len);
    }
    return 0;
}

/* Adds a folder with its known tree and skips its entries. */
static void add_known(struct reader *r, const char *name, size_t len, const struct known *known)
{
    autobuf struct buf id = BUF_INIT;
    struct git_index_entry e;
    tree_id(&id, known->id, r->id_len);
    tree_add(&r->levels.v[r->levels.n - 1].tree, "40000", name, len, id.s);
    for (size_t i = 1; i < known->entries && git_index_next(&r->index, &e); i++)
        ;
}

/* Adds the entry to its folder. If the entry is the first of a known folder, adds that folder. */
static void add_entry(struct reader *r, const struct git_index_entry *e)
{
    const char *path =
        r->last.s; /* a copy of e->path, which becomes invalid when we skip entries */
    for (;;) {
        struct level *l = &r->levels.v[r->levels.n - 1];
        const char *name = path + l->prefix, *slash = strchr(name, '/');
        if (!slash) {
            autobuf struct buf id = BUF_INIT;
            char mode[16];
            (void)snprintf(mode, sizeof(mode), "%o", e->mode);
            tree_id(&id, e->id, r->id_len);
            tree_add(&l->tree, mode, name, strlen(name), id.s);
            if (!e->unseen && (e->mode & GIT_INDEX_KIND) != GIT_INDEX_SUBMODULE)
                buf_addf(&r->required, "%s\n", id.s);
            return;
        }
        size_t prefix = (size_t)(slash + 1 - path);
        const struct known *known = map_get(&r->folders, path, prefix);
        if (known) {
            add_known(r, name, (size_t)(slash - name), known);
            return;
        }
        vec_push(&r->levels, (struct level){.prefix = prefix, .tree = BUF_INIT});
    }
}

/* Entries are sorted by path, so those of a folder are adjacent. Also fails if the content of a
 * file is missing: git may prune new objects until a commit reaches them. */
static int build_tree(struct reader *r, struct buf *ret_tree, struct err *err)
{
    vec_push(&r->levels, (struct level){.tree = BUF_INIT});
    for (struct git_index_entry e; git_index_next(&r->index, &e);) {
        for (struct level *l; l = &r->levels.v[r->levels.n - 1],
                              l->prefix && strncmp(r->last.s, e.path, l->prefix) != 0;) {
            if (close_level(r, NULL, err))
                return -1;
        }
        buf_cut(&r->last, 0);
        buf_addstr(&r->last, e.path);
        add_entry(r, &e);
    }
    while (r->levels.n) {
        if (close_level(r, ret_tree, err))
            return -1;
    }
    bool all = false;
    return git_batch_has_all(r->batch, &r->required, &all, err) || !all ? -1 : 0;
}

static void reader_done(struct reader *r)
{
    while (r->levels.n)
        buf_done(&r->levels.v[--r->levels.n].tree);
    vec_done(&r->levels);
    map_done(&r->folders);
    arena_done(&r->arena);
    buf_done(&r->last);
    buf_done(&r->required);
    git_index_done(&r->index);
}

int index_tree(struct git_batch *batch, const char *path, size_t id_len, struct buf *ret_tree,
               bool *ret_done, struct err *err)
{
    struct reader r = {
        .batch = batch, .id_len = id_len / 2, .last = BUF_INIT, .required = BUF_INIT};
    struct err refused = {0};
    size_t before = ret_tree->len;
    int rc = git_index_open(&r.index, path, id_len, err);
    *ret_done = rc == 0 && read_known_trees(&r);
    if (*ret_done && r.root)
        tree_id(ret_tree, r.root, r.id_len);
    else if (*ret_done)
        *ret_done = build_tree(&r, ret_tree, &refused) == 0;
    if (!*ret_done)
        buf_cut(ret_tree, before);
    reader_done(&r);
    return git_batch_refused(&refused) ? rc : err_set(err, refused.code, "%s", refused.msg);
}
