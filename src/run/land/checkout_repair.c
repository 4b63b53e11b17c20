#include "run/land/checkout_repair.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "sys/fs/file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { INDEX_MAX = 1 << 30, FILE_MAX = 1 << 30 };

/* One path that differs, as diff-tree says it: ":MODE MODE ID ID STATUS" and the path. */
struct change {
    const char *mode, *id, *path; /* of the later commit; the mode of what is deleted there is 0 */
};

struct adoption {
    struct git_place at; /* the user's checkout */
    const char *from, *to;
    bool half;          /* a git of ours did not end well in it */
    struct buf listing; /* where the changes are */
    VEC(struct change) changes;
};

static void adoption_done(struct adoption *a)
{
    buf_done(&a->listing);
    vec_done(&a->changes);
}

static int list_changes(struct adoption *a, struct err *err)
{
    if (git_call(&a->at, &a->listing, err, "diff-tree", "-r", "-z", "--no-renames", a->from, a->to,
                 NULL))
        return -1;
    char *end = a->listing.s + a->listing.len;
    for (char *s = a->listing.s, *path; s < end; s = path + strlen(path) + 1) {
        path = s + strlen(s) + 1;
        struct change c = {.path = path};
        char *next = s;
        (void)strsep(&next, " ");
        c.mode = strsep(&next, " ");
        (void)strsep(&next, " ");
        c.id = strsep(&next, " ");
        if (!c.id || path >= end)
            return err_set(err, ERR_ENV, "git diff-tree: an answer that was not expected");
        vec_push(&a->changes, c);
    }
    return 0;
}

static bool is_deleted(const struct change *c)
{
    return strcmp(c->mode, "000000") == 0;
}

/* Writes entries into an index; those that are deleted leave it. */
static int put_entries(const struct git_place *at, const struct buf *entries, struct err *err)
{
    autostrv struct strv args = {0};
    autobuf struct buf out = BUF_INIT, errout = BUF_INIT;
    int status;
    strv_pushl(&args, "update-index", "-z", "--index-info", NULL);
    if (git_feed(at, &args, entries, &out, &errout, &status, err))
        return -1;
    return status ? err_set(err, ERR_ENV, "git update-index: %s", errout.s) : 0;
}

static int forget(const char *index, struct err *err)
{
    return unlink(index) < 0 && errno != ENOENT ? err_sys(err, "remove '%s'", index) : 0;
}

static void add_entry(const struct change *c, struct buf *out)
{
    buf_addf(out, "%s %s\t%s", c->mode, c->id, c->path);
    buf_addch(out, '\0');
}

/* The paths whose file is not as in the later commit: it is held against an index that has these
 * paths alone, so that no other file is read. */
static int list_unlike(const struct adoption *a, const char *index, struct buf *ret,
                       struct err *err)
{
    struct git_place at = a->at;
    autobuf struct buf entries = BUF_INIT, out = BUF_INIT;
    autostrv struct strv refresh = {0};
    int status;
    at.index = index;
    for (size_t i = 0; i < a->changes.n; i++) {
        if (!is_deleted(&a->changes.v[i]))
            add_entry(&a->changes.v[i], &entries);
    }
    strv_pushl(&refresh, "update-index", "-q", "--refresh", NULL);
    return forget(index, err) || put_entries(&at, &entries, err) ||
                   git_try(&at, &refresh, &out, NULL, &status, err) ||
                   git_call(&at, ret, err, "diff-files", "-z", "--name-only",
                            "--ignore-submodules=dirty", NULL)
               ? -1
               : 0;
}

static void put_all(struct map *set, const struct buf *paths)
{
    for (const char *p = paths->s; p < paths->s + paths->len; p += strlen(p) + 1)
        (void)map_put(set, p, strlen(p), (void *)p);
}

static bool is_gone(const struct adoption *a, const char *path)
{
    autofree char *full = mem_printf("%s/%s", a->at.work_tree, path);
    struct stat st;
    return lstat(full, &st) < 0 && errno == ENOENT;
}

/* Whether a file is the beginning of what git was to write there: it takes a file away before it
 * writes what comes in its place. */
static bool is_stub(const struct adoption *a, const struct change *c)
{
    autofree char *full = mem_printf("%s/%s", a->at.work_tree, c->path);
    autobuf struct buf there = BUF_INIT, whole = BUF_INIT;
    autostrv struct strv args = {0};
    struct err none = {0};
    struct stat st;
    int status;
    strv_pushl(&args, "cat-file", "blob", c->id, NULL);
    return strncmp(c->mode, "100", 3) == 0 && lstat(full, &st) == 0 && S_ISREG(st.st_mode) &&
           file_read(full, FILE_MAX, &there, &none) == 0 &&
           git_try(&a->at, &args, &whole, NULL, &status, &none) == 0 && status == 0 &&
           there.len < whole.len && memcmp(there.s, whole.s, there.len) == 0;
}

/* What a full disk or its death left of files, all of which is in the commit, makes room for them.
 */
static int remove_stubs(const struct adoption *a, const struct map *staged, bool *ret_some,
                        struct err *err)
{
    for (size_t i = 0; a->half && i < a->changes.n; i++) {
        const struct change *c = &a->changes.v[i];
        if (map_get(staged, c->path, strlen(c->path)) || !is_stub(a, c))
            continue;
        autofree char *full = mem_printf("%s/%s", a->at.work_tree, c->path);
        if (unlink(full) < 0)
            return err_sys(err, "remove '%s'", full);
        *ret_some = true;
    }
    return 0;
}

/* Whether git would go through, once these entries are there: tried out on a copy of the index.
 * Else something is in the way that is not ours, and the user's index stays as it is. */
static int would_pass(const struct adoption *a, const char *copy, const struct buf *entries,
                      bool *ret_yes, struct err *err)
{
    struct git_place at = a->at;
    autofree char *real =
        a->at.index ? mem_str(a->at.index) : mem_printf("%s/index", a->at.git_dir);
    autobuf struct buf bytes = BUF_INIT, out = BUF_INIT;
    autostrv struct strv args = {0};
    int status;
    at.index = copy;
    strv_pushl(&args, "read-tree", "-n", "-m", "-u", a->from, a->to, NULL);
    if (file_read(real, INDEX_MAX, &bytes, err) || forget(copy, err) ||
        file_create(copy, bytes.s, bytes.len, err) || put_entries(&at, entries, err) ||
        git_try(&at, &args, &out, NULL, &status, err))
        return -1;
    *ret_yes = status == 0;
    return 0;
}

static int adopt_paths(struct adoption *a, const char *index, bool *ret_some, struct err *err)
{
    autobuf struct buf unlike = BUF_INIT, staged = BUF_INIT, entries = BUF_INIT;
    automap struct map others = {0}, of_user = {0};
    if (list_unlike(a, index, &unlike, err) ||
        git_call(&a->at, &staged, err, "diff-index", "--cached", "-z", "--name-only",
                 "--no-renames", a->from, "--", NULL))
        return -1;
    put_all(&of_user, &staged);
    put_all(&others, &unlike);
    put_all(&others, &staged);
    if (remove_stubs(a, &of_user, ret_some, err))
        return -1;
    for (size_t i = 0; i < a->changes.n; i++) {
        const struct change *c = &a->changes.v[i];
        if (!map_get(&others, c->path, strlen(c->path)) && (!is_deleted(c) || is_gone(a, c->path)))
            add_entry(c, &entries);
    }
    bool passes = false;
    if (entries.len && would_pass(a, index, &entries, &passes, err))
        return -1;
    *ret_some = *ret_some || passes;
    return passes ? put_entries(&a->at, &entries, err) : 0;
}

int checkout_repair(const struct git_repo *repo, const char *index, const char *dir,
                    const char *from, const char *to, bool half, bool *ret_some, struct err *err)
{
    autofree char *scratch = mem_printf("%s/adopt.index", dir);
    own_cleanup(adoption_done) struct adoption a = {.at = {.git_dir = repo->git_dir,
                                                           .common = repo->common,
                                                           .work_tree = repo->root,
                                                           .index = index},
                                                    .from = from,
                                                    .to = to,
                                                    .half = half,
                                                    .listing = BUF_INIT};
    *ret_some = false;
    if (list_changes(&a, err))
        return -1;
    int rc = a.changes.n ? adopt_paths(&a, scratch, ret_some, err) : 0;
    (void)unlink(scratch); /* not there where nothing was to be done */
    return rc;
}
