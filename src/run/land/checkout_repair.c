#include "run/land/checkout_repair.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "sys/fs/beneath.h"
#include "sys/fs/file.h"
#include "sys/own_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { INDEX_MAX = 1 << 30, FILE_MAX = 1 << 30 };

/* A changed path, parsed from a line of diff-tree: ":MODE MODE ID ID STATUS", then the path. */
struct change {
    const char *mode, *id, *path; /* of the later commit; mode 0: deleted there */
};

struct index_repair {
    struct git_place at; /* the user's checkout */
    int root;            /* its folder, open */
    const char *from, *to;
    bool git_died;      /* a git of ours did not end well in it */
    struct buf listing; /* holds the strings of `changes` */
    VEC(struct change) changes;
};

static void index_repair_done(struct index_repair *a)
{
    own_close(&a->root);
    buf_done(&a->listing);
    vec_done(&a->changes);
}

static int list_changes(struct index_repair *a, struct err *err)
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
            return err_set(err, ERR_ENV, "git diff-tree: unexpected output");
        vec_push(&a->changes, c);
    }
    return 0;
}

static bool is_deleted(const struct change *c)
{
    return strcmp(c->mode, "000000") == 0;
}

/* Writes entries into an index, and removes deleted ones from it. */
static int write_entries(const struct git_place *at, const struct buf *entries, struct err *err)
{
    autostrv struct strv args = {0};
    autobuf struct buf out = BUF_INIT, errout = BUF_INIT;
    int status;
    strv_pushl(&args, "update-index", "-z", "--index-info", NULL);
    if (git_feed(at, &args, entries, &out, &errout, &status, err))
        return -1;
    return status ? err_set(err, ERR_ENV, "git update-index: %s", errout.s) : 0;
}

static int remove_index(const char *index, struct err *err)
{
    return unlink(index) < 0 && errno != ENOENT ? err_sys(err, "remove '%s'", index) : 0;
}

static void add_entry(const struct change *c, struct buf *out)
{
    buf_addf(out, "%s %s\t%s", c->mode, c->id, c->path);
    buf_addch(out, '\0');
}

/* Lists the paths whose file differs from the later commit. We compare with an index that has
 * only these paths, so that git reads no other file. */
static int list_differing_files(const struct index_repair *a, const char *index, struct buf *ret,
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
    return remove_index(index, err) || write_entries(&at, &entries, err) ||
                   git_try(&at, &refresh, &out, NULL, &status, err) ||
                   git_call(&at, ret, err, "diff-files", "-z", "--name-only",
                            "--ignore-submodules=dirty", NULL)
               ? -1
               : 0;
}

static void add_paths(struct map *set, const struct buf *paths)
{
    for (const char *p = paths->s; p < paths->s + paths->len; p += strlen(p) + 1)
        (void)map_put(set, p, strlen(p), (void *)p);
}

/* Somebody may have put a symlink in the place of a folder: we follow none, and do not know then.
 */
static bool is_gone(const struct index_repair *a, const char *path)
{
    const char *name;
    autoclose int folder = beneath_parent(a->root, path, &name);
    struct stat st;
    return (folder < 0 || fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0) && errno == ENOENT;
}

/* True if a file is only the beginning of what git was writing there: git deletes a file before
 * it writes the new one. */
static bool is_partial_file(const struct index_repair *a, const struct change *c, int folder,
                            const char *name)
{
    autobuf struct buf there = BUF_INIT, whole = BUF_INIT;
    autostrv struct strv args = {0};
    autoclose int fd = -1;
    struct err none = {0};
    int status;
    strv_pushl(&args, "cat-file", "blob", c->id, NULL);
    return strncmp(c->mode, "100", 3) == 0 &&
           file_open(folder, name, O_RDONLY | O_NOFOLLOW, &fd, &none) == 0 &&
           file_read_open(fd, c->path, FILE_MAX, &there, &none) == 0 &&
           git_try(&a->at, &args, &whole, NULL, &status, &none) == 0 && status == 0 &&
           there.len < whole.len && memcmp(there.s, whole.s, there.len) == 0;
}

static int remove_if_partial(const struct index_repair *a, const struct change *c, bool *ret_some,
                             struct err *err)
{
    const char *name;
    autoclose int folder = beneath_parent(a->root, c->path, &name);
    if (folder < 0 || !is_partial_file(a, c, folder, name))
        return 0;
    if (unlinkat(folder, name, 0) < 0)
        return err_sys(err, "remove '%s/%s'", a->at.work_tree, c->path);
    *ret_some = true;
    return 0;
}

/* Removes partial files that a full disk or a kill left. Their whole content is in the commit,
 * and git writes them again. */
static int remove_partial_files(const struct index_repair *a, const struct map *staged,
                                bool *ret_some, struct err *err)
{
    for (size_t i = 0; a->git_died && i < a->changes.n; i++) {
        const struct change *c = &a->changes.v[i];
        if (!map_get(staged, c->path, strlen(c->path)) && remove_if_partial(a, c, ret_some, err))
            return -1;
    }
    return 0;
}

/* *ret_yes: git accepts the fast-forward with these entries, tried on a copy of the index.
 * Otherwise something that is not ours is in the way, and the user's index stays as it is. */
static int test_fast_forward(const struct index_repair *a, const char *copy,
                             const struct buf *entries, bool *ret_yes, struct err *err)
{
    struct git_place at = a->at;
    autofree char *real =
        a->at.index ? mem_str(a->at.index) : mem_printf("%s/index", a->at.git_dir);
    autobuf struct buf bytes = BUF_INIT, out = BUF_INIT;
    autostrv struct strv args = {0};
    int status;
    at.index = copy;
    strv_pushl(&args, "read-tree", "-n", "-m", "-u", a->from, a->to, NULL);
    if (file_read(real, INDEX_MAX, &bytes, err) || remove_index(copy, err) ||
        file_create(copy, bytes.s, bytes.len, err) || write_entries(&at, entries, err) ||
        git_try(&at, &args, &out, NULL, &status, err))
        return -1;
    *ret_yes = status == 0;
    return 0;
}

static int repair_paths(struct index_repair *a, const char *index, bool *ret_some, struct err *err)
{
    autobuf struct buf differing = BUF_INIT, staged = BUF_INIT, entries = BUF_INIT;
    automap struct map excluded = {0}, staged_paths = {0};
    if (list_differing_files(a, index, &differing, err) ||
        git_call(&a->at, &staged, err, "diff-index", "--cached", "-z", "--name-only",
                 "--no-renames", a->from, "--", NULL))
        return -1;
    add_paths(&staged_paths, &staged);
    add_paths(&excluded, &differing);
    add_paths(&excluded, &staged);
    if (remove_partial_files(a, &staged_paths, ret_some, err))
        return -1;
    for (size_t i = 0; i < a->changes.n; i++) {
        const struct change *c = &a->changes.v[i];
        if (!map_get(&excluded, c->path, strlen(c->path)) &&
            (!is_deleted(c) || is_gone(a, c->path)))
            add_entry(c, &entries);
    }
    bool passes = false;
    if (entries.len && test_fast_forward(a, index, &entries, &passes, err))
        return -1;
    *ret_some = *ret_some || passes;
    return passes ? write_entries(&a->at, &entries, err) : 0;
}

int checkout_repair(const struct git_repo *repo, const char *index, const char *dir,
                    const char *from, const char *to, bool git_died, bool *ret_some,
                    struct err *err)
{
    autofree char *scratch = mem_printf("%s/adopt.index", dir);
    own_cleanup(index_repair_done) struct index_repair a = {.at = {.git_dir = repo->git_dir,
                                                                   .common = repo->common,
                                                                   .work_tree = repo->root,
                                                                   .index = index},
                                                            .from = from,
                                                            .to = to,
                                                            .git_died = git_died,
                                                            .root = -1,
                                                            .listing = BUF_INIT};
    *ret_some = false;
    a.root = open(repo->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (a.root < 0)
        return err_sys(err, "open '%s'", repo->root);
    if (list_changes(&a, err))
        return -1;
    int rc = a.changes.n ? repair_paths(&a, scratch, ret_some, err) : 0;
    (void)unlink(scratch); /* missing if nothing was to be done */
    return rc;
}
