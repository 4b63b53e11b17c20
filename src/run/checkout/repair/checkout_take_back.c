#include "run/checkout/repair/checkout_take_back.h"

#include "base/mem.h"
#include "run/checkout/checkout_lock.h"
#include "run/checkout/repair/checkout_changes.h"
#include "run/watch/other_runs.h"
#include "workspace/commit/commit.h"

#include <string.h>

struct path_set {
    struct buf names;
    struct map paths;
};
#define PATH_SET_INIT                                                                              \
    {                                                                                              \
        .names = BUF_INIT                                                                          \
    }

/* One path of a move, as both commits have it. */
struct moved_path {
    const struct checkout_change *before, *after;
};

/* The two lists have the same paths in the same order. */
struct take_back {
    struct checkout_changes after, before;
    const char *scratch; /* a temporary index */
    bool head_exists;
    struct path_set head;          /* paths that differ between HEAD and `from` */
    struct path_set after_entries; /* paths whose index entry is not that of `to`, ... */
    struct path_set before_entries;
    struct path_set after_files; /* ... and whose file is not */
    struct path_set before_files;
    VEC(struct moved_path) files; /* to write as they were before */
    struct buf entries;           /* index entries to write as they were before */
};
#define TAKE_BACK_INIT                                                                             \
    {                                                                                              \
        .after = CHECKOUT_CHANGES_INIT, .before = CHECKOUT_CHANGES_INIT, .head = PATH_SET_INIT,    \
        .after_entries = PATH_SET_INIT, .before_entries = PATH_SET_INIT,                           \
        .after_files = PATH_SET_INIT, .before_files = PATH_SET_INIT, .entries = BUF_INIT           \
    }

static void take_back_done(struct take_back *t)
{
    struct path_set *const sets[] = {&t->head, &t->after_entries, &t->before_entries,
                                     &t->after_files, &t->before_files};
    checkout_changes_done(&t->after);
    checkout_changes_done(&t->before);
    for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
        map_done(&sets[i]->paths);
        buf_done(&sets[i]->names);
    }
    vec_done(&t->files);
    buf_done(&t->entries);
}

static bool has_path(const struct path_set *set, const char *path)
{
    return map_get(&set->paths, path, strlen(path)) != NULL;
}

/* HEAD may be a branch without a commit. */
static int compare_with_head(struct take_back *t, struct err *err)
{
    autobuf struct buf head = BUF_INIT;
    t->head_exists = git_resolve(&t->after.at, "HEAD", &head, NULL) == 0;
    return t->head_exists && strcmp(head.s, t->after.from) != 0
               ? commit_paths(&t->after.at, t->after.from, head.s, &t->head.names, err)
               : 0;
}

static int compare_files_and_entries(struct take_back *t, struct err *err)
{
    struct path_set *const sets[] = {&t->head, &t->after_entries, &t->before_entries,
                                     &t->after_files, &t->before_files};
    const struct checkout_changes *after = &t->after, *before = &t->before;
    if (compare_with_head(t, err) ||
        checkout_changes_list_entries(after, after->to, &t->after_entries.names, err) ||
        checkout_changes_list_entries(before, before->to, &t->before_entries.names, err) ||
        checkout_changes_list_files(after, t->scratch, &t->after_files.names, err) ||
        checkout_changes_list_files(before, t->scratch, &t->before_files.names, err))
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(sets); i++)
        checkout_changes_add_paths(&sets[i]->paths, &sets[i]->names);
    return 0;
}

/* True if the file is as in the later commit of `c`. */
static bool is_file_of(const struct checkout_changes *c, const struct checkout_change *change,
                       const struct path_set *other_files)
{
    return checkout_change_is_deleted(change) ? checkout_changes_is_gone(c, change->path)
                                              : !has_path(other_files, change->path);
}

static int choose_file(struct take_back *t, const struct moved_path *p, struct err *err)
{
    const char *path = p->after->path;
    bool ours = is_file_of(&t->after, p->after, &t->after_files) ||
                checkout_changes_is_gone(&t->after, path);
    if (is_file_of(&t->before, p->before, &t->before_files))
        return 0;
    if (!ours && checkout_changes_remove_partial(&t->after, p->after, &ours, err))
        return -1;
    if (ours)
        vec_push(&t->files, *p);
    return 0;
}

/* Chooses what we write. The user may have staged the path, or switched to a commit that has
 * another file there. */
static int choose_all(struct take_back *t, struct err *err)
{
    for (size_t i = 0; i < t->after.all.n; i++) {
        const struct moved_path p = {&t->before.all.v[i], &t->after.all.v[i]};
        const char *path = p.after->path;
        bool installed =
            !has_path(&t->after_entries, path) && t->head_exists && !has_path(&t->head, path);
        if (installed)
            checkout_change_add_entry(p.before, &t->entries);
        if ((installed || !has_path(&t->before_entries, path)) && choose_file(t, &p, err))
            return -1;
    }
    return 0;
}

/* Makes the temporary index from these entries, and its tree. */
static int write_tree(const struct git_place *at, const struct buf *entries, struct buf *ret_tree,
                      struct err *err)
{
    return checkout_changes_remove_index(at->index, err) ||
                   checkout_changes_write(at, entries, err) || checkout_changes_refresh(at, err) ||
                   git_call(at, ret_tree, err, "write-tree", NULL)
               ? -1
               : 0;
}

/* git moves the files from one tree to the other, and both have only these files. It refuses if
 * someone changes one of them meanwhile, or if something is in the way of one. */
static int write_files(const struct take_back *t, const struct moved_path *files, size_t n,
                       bool *ret_written, struct err *err)
{
    struct git_place at = t->after.at;
    autobuf struct buf before = BUF_INIT, after = BUF_INIT, from = BUF_INIT, to = BUF_INIT;
    autostrv struct strv args = {0};
    int status;
    at.index = t->scratch;
    for (size_t i = 0; i < n; i++) {
        if (!checkout_change_is_deleted(files[i].before))
            checkout_change_add_entry(files[i].before, &before);
        if (!checkout_change_is_deleted(files[i].after))
            checkout_change_add_entry(files[i].after, &after);
    }
    if (write_tree(&at, &before, &to, err) || write_tree(&at, &after, &from, err))
        return -1;
    strv_pushl(&args, "read-tree", "-m", "-u", from.s, to.s, NULL);
    if (git_try(&at, &args, NULL, NULL, &status, err))
        return -1;
    *ret_written = status == 0;
    return 0;
}

/* If something is in the way of one file, the others still become as they were. */
static int write_all_files(const struct take_back *t, struct err *err)
{
    bool written = true;
    if (t->files.n && write_files(t, t->files.v, t->files.n, &written, err))
        return -1;
    for (size_t i = 0; !written && t->files.n > 1 && i < t->files.n; i++) {
        bool ignored;
        if (write_files(t, &t->files.v[i], 1, &ignored, err))
            return -1;
    }
    return 0;
}

static int write_entries(const struct take_back *t, struct err *err)
{
    const struct git_place *at = &t->after.at;
    return (t->entries.len && checkout_changes_write(at, &t->entries, err)) ||
                   checkout_changes_refresh(at, err)
               ? -1
               : 0;
}

/* *ret_some: the copy of the index has changed. */
static int take_back(struct take_back *t, bool *ret_some, struct err *err)
{
    if (compare_files_and_entries(t, err) || choose_all(t, err) || write_all_files(t, err))
        return -1;
    *ret_some = t->files.n || t->entries.len;
    return *ret_some ? write_entries(t, err) : 0;
}

int checkout_take_back(const struct checkout_lock *l, const char *common, const char *from,
                       const char *to, struct err *err)
{
    autofree char *index = mem_printf("%s/index", l->aside);
    autofree char *scratch = mem_printf("%s/scratch.index", l->aside);
    const struct git_place at = {
        .git_dir = l->git_dir, .common = common, .work_tree = l->root, .index = index};
    own_cleanup(take_back_done) struct take_back t = TAKE_BACK_INIT;
    autostrv struct strv env = {0};
    bool some = false;
    t.scratch = scratch;
    if (checkout_lock_prepare(l, common, from, &env, err) ||
        checkout_changes_open(&t.after, &at, from, to, err) ||
        checkout_changes_open(&t.before, &at, to, from, err) ||
        (t.after.all.n && take_back(&t, &some, err)))
        return -1;
    return some ? checkout_lock_install(l, err) : 0;
}
