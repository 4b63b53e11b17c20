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

/* We write these while the whole run waits. */
enum { FILES_MAX = 2000, BYTES_MAX = 8 << 20 };

struct update {
    const struct base_tree_draft *draft;
    struct git_batch *batch;
    size_t id_len; /* bytes of an id */
    int root;
    struct arena arena;
    struct map trees; /* binary ids of folders that differ, by path with a slash at the end */
    VEC(struct index_change) changes;
    struct buf contents; /* contents of all changed files, each followed by a NUL */
    VEC(size_t) ends;    /* the offset in `contents` at which each file ends */
};

static void update_done(struct update *u)
{
    vec_done(&u->changes);
    buf_done(&u->contents);
    vec_done(&u->ends);
    map_done(&u->trees);
    arena_done(&u->arena);
    own_close(&u->root);
}

static void add_tree(struct update *u, const char *path, const unsigned char *id)
{
    char *key = arena_str(&u->arena, path);
    (void)map_put(&u->trees, key, strlen(key), arena_dup(&u->arena, id, u->id_len));
}

static void add_change(struct update *u, const char *path, const struct tree_entry *to)
{
    autobuf struct buf id = BUF_INIT;
    struct index_change c = {.path = arena_str(&u->arena, path)};
    if (to) {
        tree_id(&id, to->id, u->id_len);
        c.id = arena_str(&u->arena, id.s);
        c.mode = (uint32_t)strtoul(to->mode, NULL, 8);
    }
    vec_push(&u->changes, c);
}

static bool is_file(const struct tree_entry *e)
{
    unsigned long mode = strtoul(e->mode, NULL, 8);
    return S_ISLNK(mode) || (S_ISREG(mode) && tree_is_usual(e));
}

/* An error only means that git must do the update. */
static int add_difference(void *ctx, const char *path, const struct tree_entry *from,
                          const struct tree_entry *to, struct err *err)
{
    struct update *u = ctx;
    bool is_tree = (from ? from : to)->is_tree;
    if (is_tree
            ? !from || !to
            : (to && !is_file(to)) || git_index_is_attributes(path) || u->changes.n == FILES_MAX)
        return err_set(err, ERR_ENV, "git must write '%s'", path);
    autofree char *folder = is_tree ? mem_printf("%s/", path) : NULL;
    if (is_tree)
        add_tree(u, folder, to->id);
    else
        add_change(u, path, to);
    return 0;
}

/* A name that is a file on one side and a folder on the other counts as a folder that appears or
 * disappears. */
static bool find_differences(struct update *u)
{
    const struct base_tree_draft *d = u->draft;
    autofree char *top = mem_printf("%s^{tree}", d->commit);
    autobuf struct buf id = BUF_INIT;
    bool found;
    if (git_batch_resolve(u->batch, top, &id, &found, NULL) || !found ||
        tree_diff_each(u->batch, d->from, d->commit, add_difference, u, NULL))
        return false;
    unsigned char *root = arena_alloc(&u->arena, u->id_len);
    for (size_t i = 0; i < u->id_len; i++) {
        char byte[] = {id.s[2 * i], id.s[2 * i + 1], '\0'};
        root[i] = (unsigned char)strtoul(byte, NULL, 16);
    }
    add_tree(u, "", root);
    return true;
}

/* A .gitattributes file anywhere may apply to any file. */
static bool is_plain(const struct git_index *index)
{
    struct git_index reader = *index;
    bool plain = true;
    reader.name = (struct buf)BUF_INIT;
    for (struct git_index_entry e; plain && git_index_next(&reader, &e);)
        plain = git_index_is_plain(&e) && !git_index_is_attributes(e.path);
    buf_done(&reader.name);
    return plain && reader.good;
}

/* Reads everything before we write anything: if it is too much, git still finds the draft
 * untouched. */
static bool read_contents(struct update *u)
{
    if (u->changes.n)
        qsort(u->changes.v, u->changes.n, sizeof(*u->changes.v), index_change_compare);
    for (size_t i = 0; i < u->changes.n; i++) {
        const char *id = u->changes.v[i].id;
        if (id && git_batch_read(u->batch, id, &u->contents, NULL))
            return false;
        vec_push(&u->ends, u->contents.len);
        buf_addch(&u->contents, '\0');
        if (u->contents.len > BYTES_MAX)
            return false;
    }
    return true;
}

static bool write_index(const struct update *u, const struct git_index *index)
{
    autofree char *path = mem_printf("%s/index", u->draft->dir);
    autofree char *aside = mem_printf("%s.new", path);
    bool done = false;
    return index_edit(index, u->changes.v, u->changes.n, &u->trees, aside, &done, NULL) == 0 &&
           done && rename(aside, path) == 0;
}

static bool remove_old(const struct update *u, struct work_folder *at, const struct index_change *c)
{
    const char *name;
    int folder = work_folder_enter(at, c->path, u->draft->is_delta, &name);
    if (!u->draft->is_delta)
        return folder >= 0 ? unlinkat(folder, name, 0) == 0 || errno == ENOENT : errno == ENOENT;
    return folder >= 0 && (c->id || base_tree_delta_hide(folder, name));
}

static bool write_change(const struct update *u, struct work_folder *at, struct index_change *c,
                         const char *content, size_t len)
{
    const char *name;
    if (!remove_old(u, at, c))
        return false;
    if (!c->id)
        return true;
    int folder = work_folder_enter(at, c->path, false, &name);
    return folder >= 0 &&
           work_file_write(folder, name, work_file_mode(c->mode), content, len, &c->st, NULL) == 0;
}

static bool write_changes(struct update *u)
{
    autofree char *tree = mem_printf("%s/tree", u->draft->dir);
    u->root = open(tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    autoworkfolder struct work_folder folder = WORK_FOLDER_INIT(u->root);
    bool good = u->root >= 0;
    for (size_t i = 0, at = 0; good && i < u->changes.n; at = u->ends.v[i++] + 1)
        good = write_change(u, &folder, &u->changes.v[i], u->contents.s + at, u->ends.v[i] - at);
    return good;
}

bool base_tree_update(const struct base_tree_draft *d, struct git_batch *batch)
{
    own_cleanup(update_done) struct update u = {.draft = d,
                                                .batch = batch,
                                                .id_len = strlen(d->commit) / 2,
                                                .root = -1,
                                                .contents = BUF_INIT};
    autofree char *path = d->is_delta ? base_tree_index_below(d) : mem_printf("%s/index", d->dir);
    if (!d->from || strlen(d->from) != strlen(d->commit) || !find_differences(&u))
        return false;
    autogitindex struct git_index index;
    return git_index_open(&index, path, strlen(d->commit), NULL) == 0 && is_plain(&index) &&
           read_contents(&u) && write_changes(&u) && write_index(&u, &index);
}
