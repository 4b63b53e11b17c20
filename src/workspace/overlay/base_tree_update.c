#include "workspace/overlay/base_tree_update.h"

#include "base/arena.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "git/batch.h"
#include "git/format/tree.h"
#include "git/tree/index_edit.h"
#include "git/tree/tree_diff.h"
#include "sys/own_fd.h"
#include "workspace/overlay/base_tree_delta.h"
#include "workspace/write_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Written while everybody waits. */
enum { FILES_MAX = 2000, BYTES_MAX = 8 << 20 };

struct forward {
    const struct base_tree_draft *draft;
    struct git_batch *batch;
    size_t id_len; /* of a binary id */
    int root;
    struct arena arena;
    struct map trees; /* of folders that differ, by their paths with the slash: binary ids */
    VEC(struct index_change) changes;
    struct buf contents; /* of all of them, with a NUL behind each, ... */
    VEC(size_t) ends;    /* ... behind which it ends */
};

static void checkout_move_done(struct forward *f)
{
    vec_done(&f->changes);
    buf_done(&f->contents);
    vec_done(&f->ends);
    map_done(&f->trees);
    arena_done(&f->arena);
    own_close(&f->root);
}

/* --- what differs ------------------------------------------------------------------------- */

static bool is_attributes(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strcmp(slash ? slash + 1 : path, ".gitattributes") == 0;
}

static void add_tree(struct forward *f, const char *path, const unsigned char *id)
{
    char *key = arena_str(&f->arena, path);
    (void)map_put(&f->trees, key, strlen(key), arena_dup(&f->arena, id, f->id_len));
}

static void add_change(struct forward *f, const char *path, const struct tree_entry *to)
{
    autobuf struct buf id = BUF_INIT;
    struct index_change c = {.path = arena_str(&f->arena, path)};
    if (to) {
        tree_id(&id, to->id, f->id_len);
        c.id = arena_str(&f->arena, id.s);
        c.mode = (uint32_t)strtoul(to->mode, NULL, 8);
    }
    vec_push(&f->changes, c);
}

static bool is_file(const struct tree_entry *e)
{
    unsigned long mode = strtoul(e->mode, NULL, 8);
    return S_ISLNK(mode) || (S_ISREG(mode) && tree_is_usual(e));
}

/* A failure is no more than an answer here. */
static int take_difference(void *ctx, const char *path, const struct tree_entry *from,
                           const struct tree_entry *to, struct err *err)
{
    struct forward *f = ctx;
    bool is_tree = (from ? from : to)->is_tree;
    if (is_tree ? !from || !to
                : (to && !is_file(to)) || is_attributes(path) || f->changes.n == FILES_MAX)
        return err_set(err, ERR_ENV, "'%s' is for git", path);
    autofree char *folder = is_tree ? mem_printf("%s/", path) : NULL;
    if (is_tree)
        add_tree(f, folder, to->id);
    else
        add_change(f, path, to);
    return 0;
}

/* A name may be a file's on one side and a folder's on the other: then folders come or go. */
static bool find_differences(struct forward *f)
{
    const struct base_tree_draft *d = f->draft;
    autofree char *top = mem_printf("%s^{tree}", d->commit);
    autobuf struct buf id = BUF_INIT;
    bool found;
    struct err none = {0};
    if (git_batch_resolve(f->batch, top, &id, &found, &none) || !found ||
        tree_diff_each(f->batch, d->from, d->commit, take_difference, f, &none))
        return false;
    unsigned char *root = arena_alloc(&f->arena, f->id_len);
    for (size_t i = 0; i < f->id_len; i++) {
        char byte[] = {id.s[2 * i], id.s[2 * i + 1], '\0'};
        root[i] = (unsigned char)strtoul(byte, NULL, 16);
    }
    add_tree(f, "", root);
    return true;
}

/* Attributes anywhere may be about any file. */
static bool is_plain(const struct git_index *index)
{
    struct git_index reader = *index;
    bool plain = true;
    reader.name = (struct buf)BUF_INIT;
    for (struct git_index_entry e; plain && git_index_next(&reader, &e);)
        plain = git_index_is_plain(&e) && !git_index_is_attributes(&e);
    buf_done(&reader.name);
    return plain && reader.good;
}

/* Before anything is written: what is too much is left to git as it is. */
static bool read_contents(struct forward *f)
{
    struct err none = {0};
    if (f->changes.n)
        qsort(f->changes.v, f->changes.n, sizeof(*f->changes.v), index_change_compare);
    for (size_t i = 0; i < f->changes.n; i++) {
        const char *id = f->changes.v[i].id;
        if (id && git_batch_read(f->batch, id, &f->contents, &none))
            return false;
        vec_push(&f->ends, f->contents.len);
        buf_addch(&f->contents, '\0');
        if (f->contents.len > BYTES_MAX)
            return false;
    }
    return true;
}

/* --- writing ------------------------------------------------------------------------------ */

static bool write_index(const struct forward *f, const struct git_index *index)
{
    autofree char *path = mem_printf("%s/index", f->draft->dir);
    autofree char *aside = mem_printf("%s.new", path);
    struct err none = {0};
    bool done = false;
    return index_edit(index, f->changes.v, f->changes.n, &f->trees, aside, &done, &none) == 0 &&
           done && rename(aside, path) == 0;
}

static bool take_away(const struct forward *f, struct work_folder *at, const struct index_change *c)
{
    const char *name;
    int folder = work_folder_enter(at, c->path, f->draft->is_delta, &name);
    if (!f->draft->is_delta)
        return folder >= 0 ? unlinkat(folder, name, 0) == 0 || errno == ENOENT : errno == ENOENT;
    return folder >= 0 && (c->id || base_tree_delta_hide(folder, name));
}

static bool write_change(const struct forward *f, struct work_folder *at, struct index_change *c,
                         const char *content, size_t len)
{
    const char *name;
    if (!take_away(f, at, c))
        return false;
    if (!c->id)
        return true;
    int folder = work_folder_enter(at, c->path, false, &name);
    return folder >= 0 &&
           work_file_write(folder, name, work_file_mode(c->mode), content, len, &c->st, NULL) == 0;
}

static bool write_changes(struct forward *f)
{
    autofree char *tree = mem_printf("%s/tree", f->draft->dir);
    f->root = open(tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    autoworkfolder struct work_folder folder = WORK_FOLDER_INIT(f->root);
    bool good = f->root >= 0;
    for (size_t i = 0, at = 0; good && i < f->changes.n; at = f->ends.v[i++] + 1)
        good = write_change(f, &folder, &f->changes.v[i], f->contents.s + at, f->ends.v[i] - at);
    return good;
}

bool base_tree_update(const struct base_tree_draft *d, struct git_batch *batch)
{
    own_cleanup(checkout_move_done) struct forward f = {.draft = d,
                                                        .batch = batch,
                                                        .id_len = strlen(d->commit) / 2,
                                                        .root = -1,
                                                        .contents = BUF_INIT};
    autofree char *path = d->is_delta ? base_tree_index_below(d) : mem_printf("%s/index", d->dir);
    struct err none = {0};
    if (!d->from || strlen(d->from) != strlen(d->commit) || !find_differences(&f))
        return false;
    autogitindex struct git_index index;
    return git_index_open(&index, path, strlen(d->commit), &none) == 0 && is_plain(&index) &&
           read_contents(&f) && write_changes(&f) && write_index(&f, &index);
}
