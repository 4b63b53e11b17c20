#include "data/index_tree.h"

#include "base/arena.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "data/git_batch.h"
#include "data/tree.h"
#include "sys/file.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum {
    HEADER = 12,
    STAT = 40, /* what an entry begins with; its mode is at 24 */
    MODE_AT = 24,
    FLAG_EXTENDED = 0x4000,
    FLAG_STAGE = 0x3000,
    FLAG_NAME = 0x0fff,
    EXTENDED_INTENT = 0x2000, /* git add -N */
    MODE_FOLDER = 040000,     /* of a sparse index */
};

struct entry {
    const char *path;
    const unsigned char *id;
    unsigned mode;
};

/* A folder whose tree is known: so many entries of the index are in it. */
struct known {
    size_t entries;
    const unsigned char *id;
};

/* A folder that is being put together. */
struct level {
    size_t prefix; /* length of its path, with the slash */
    struct buf tree;
};

struct reader {
    struct git_batch *batch;
    size_t id_len;
    struct buf bytes;
    size_t pos, end; /* the checksum is behind the end */
    uint32_t left;   /* entries */
    struct arena arena;
    struct map folders;        /* path, with the slash: struct known */
    const unsigned char *root; /* its id, where all is known */
    VEC(struct level) levels;
    bool readable;
};

static uint32_t number(const char *s)
{
    const unsigned char *b = (const unsigned char *)s;
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static unsigned half(const unsigned char *b)
{
    return (unsigned)b[0] << 8 | b[1];
}

/* --- entries ------------------------------------------------------------------------------ */

/* Reads the next entry; sets readable to false where it is of a kind that is git's to read. */
static bool next_entry(struct reader *r, struct entry *ret)
{
    size_t fixed = STAT + r->id_len + 2;
    const char *start = r->bytes.s + r->pos;
    if (r->end - r->pos <= fixed)
        return r->readable = false;
    const unsigned char *id = (const unsigned char *)start + STAT;
    unsigned flags = half(id + r->id_len), extended = 0;
    if (flags & FLAG_EXTENDED) {
        extended = half(id + r->id_len + 2);
        fixed += 2;
    }
    const char *path = start + fixed;
    const char *nul = memchr(path, '\0', (size_t)(r->bytes.s + r->end - path));
    *ret = (struct entry){path, id, number(start + MODE_AT)};
    if (!nul || flags & FLAG_STAGE || extended & EXTENDED_INTENT || ret->mode == MODE_FOLDER)
        return r->readable = false;
    size_t len = (size_t)(nul - start);
    r->pos += (len + 8) & ~(size_t)7;
    r->left--;
    return r->readable = r->pos <= r->end;
}

/* --- what is known of folders ------------------------------------------------------------- */

/* One node of the tree cache: "NAME\0ENTRIES SUBTREES\n", and an id unless ENTRIES is -1. */
static bool read_node(const struct reader *r, const char **at, const char *end, long *ret_entries,
                      long *ret_subtrees, const unsigned char **ret_id)
{
    char *after;
    const char *nul = memchr(*at, '\0', (size_t)(end - *at));
    const char *lf = nul ? memchr(nul, '\n', (size_t)(end - nul)) : NULL;
    if (!lf)
        return false;
    *ret_entries = strtol(nul + 1, &after, 10);
    *ret_subtrees = strtol(after, &after, 10);
    if (after != lf || *ret_subtrees < 0)
        return false;
    *ret_id = (const unsigned char *)lf + 1;
    *at = lf + 1 + (*ret_entries >= 0 ? r->id_len : 0);
    return *at <= end;
}

/* A node of the cache whose subtrees are being read. */
struct open_node {
    long subtrees;
    size_t path; /* length of its path, with the slash */
    bool known;  /* it or one above is: those below are of no interest */
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

static bool read_cache(struct reader *r, const char *at, const char *end)
{
    VEC(struct open_node) open = {0};
    autobuf struct buf path = BUF_INIT;
    bool good = true;
    vec_push(&open, (struct open_node){.subtrees = 1});
    while (good && open.n) {
        struct open_node *above = &open.v[open.n - 1];
        buf_cut(&path, above->path);
        if (above->subtrees-- == 0) {
            open.n--;
            continue;
        }
        struct open_node node = {.known = above->known};
        const unsigned char *id = NULL;
        long entries = -1;
        buf_addstr(&path, at);
        if (path.len)
            buf_addch(&path, '/');
        node.path = path.len;
        good = read_node(r, &at, end, &entries, &node.subtrees, &id);
        if (good && entries > 0 && !node.known) {
            note_folder(r, &path, (size_t)entries, id);
            node.known = true;
        }
        vec_push(&open, node);
    }
    vec_done(&open);
    return good;
}

/* Extensions: a name of four letters and a length. Those in capitals are optional; of the others we
 * know none. */
static bool read_extensions(struct reader *r, size_t pos)
{
    while (r->end - pos >= 8) {
        const char *name = r->bytes.s + pos;
        size_t len = number(name + 4);
        if (len > r->end - pos - 8 || *name < 'A' || *name > 'Z')
            return false;
        if (memcmp(name, "TREE", 4) == 0 && !read_cache(r, name + 8, name + 8 + len))
            return false;
        pos += 8 + len;
    }
    return true;
}

/* Where the entries end, the extensions begin. */
static bool find_extensions(struct reader *r)
{
    size_t first = r->pos;
    uint32_t count = r->left;
    struct entry e;
    while (r->left && next_entry(r, &e))
        ;
    bool good = r->readable && read_extensions(r, r->pos);
    r->pos = first;
    r->left = count;
    return good;
}

/* --- putting it together ------------------------------------------------------------------ */

/* The last folder is complete: it becomes an entry of the one above, or the result. */
static int close_level(struct reader *r, const char *path, struct buf *ret_tree, struct err *err)
{
    autobuf struct buf id = BUF_INIT;
    struct level *l = &r->levels.v[r->levels.n - 1];
    if (git_batch_write(r->batch, GIT_BATCH_TREE, &l->tree, &id, err))
        return -1;
    buf_done(&l->tree);
    if (--r->levels.n) {
        struct level *above = l - 1;
        tree_add(&above->tree, "40000", path + above->prefix, l->prefix - above->prefix - 1, id.s);
    } else {
        buf_add(ret_tree, id.s, id.len);
    }
    return 0;
}

/* Adds the folder as it is known, and passes over its entries. */
static void add_known(struct reader *r, const char *name, size_t len, const struct known *known)
{
    autobuf struct buf id = BUF_INIT;
    struct entry e;
    tree_id(&id, known->id, r->id_len);
    tree_add(&r->levels.v[r->levels.n - 1].tree, "40000", name, len, id.s);
    for (size_t i = 1; i < known->entries && r->left && next_entry(r, &e); i++)
        ;
}

/* The entry, or the first of a folder that is known, goes into the folder that it is in. */
static void add_entry(struct reader *r, const struct entry *e)
{
    for (;;) {
        struct level *l = &r->levels.v[r->levels.n - 1];
        const char *name = e->path + l->prefix, *slash = strchr(name, '/');
        if (!slash) {
            autobuf struct buf id = BUF_INIT;
            char mode[16];
            (void)snprintf(mode, sizeof(mode), "%o", e->mode);
            tree_id(&id, e->id, r->id_len);
            tree_add(&l->tree, mode, name, strlen(name), id.s);
            return;
        }
        size_t prefix = (size_t)(slash + 1 - e->path);
        const struct known *known = map_get(&r->folders, e->path, prefix);
        if (known) {
            add_known(r, name, (size_t)(slash - name), known);
            return;
        }
        vec_push(&r->levels, (struct level){.prefix = prefix, .tree = BUF_INIT});
    }
}

/* Entries are sorted by path, so that a folder's are all together. */
static int build(struct reader *r, struct buf *ret_tree, struct err *err)
{
    struct entry e = {.path = ""};
    vec_push(&r->levels, (struct level){.tree = BUF_INIT});
    while (r->left) {
        const char *last = e.path;
        if (!next_entry(r, &e))
            return 0;
        for (struct level *l; l = &r->levels.v[r->levels.n - 1],
                              l->prefix && strncmp(last, e.path, l->prefix) != 0;) {
            if (close_level(r, last, NULL, err))
                return -1;
        }
        add_entry(r, &e);
    }
    while (r->levels.n) {
        if (close_level(r, e.path, ret_tree, err))
            return -1;
    }
    return 0;
}

static bool read_header(struct reader *r)
{
    if (r->bytes.len < HEADER + r->id_len || memcmp(r->bytes.s, "DIRC", 4) != 0)
        return false;
    uint32_t version = number(r->bytes.s + 4);
    r->left = number(r->bytes.s + 8);
    r->pos = HEADER;
    r->end = r->bytes.len - r->id_len;
    return version == 2 || version == 3;
}

int index_tree(struct git_batch *batch, const char *path, size_t id_len, struct buf *ret_tree,
               bool *ret_done, struct err *err)
{
    struct reader r = {.batch = batch, .id_len = id_len, .bytes = BUF_INIT, .readable = true};
    int rc = file_read(path, SIZE_MAX, &r.bytes, err);
    if (rc == 0 && (r.readable = read_header(&r) && find_extensions(&r))) {
        if (r.root)
            tree_id(ret_tree, r.root, id_len);
        else
            rc = build(&r, ret_tree, err);
    }
    *ret_done = r.readable;
    while (r.levels.n)
        buf_done(&r.levels.v[--r.levels.n].tree);
    vec_done(&r.levels);
    map_done(&r.folders);
    arena_done(&r.arena);
    buf_done(&r.bytes);
    return rc;
}
