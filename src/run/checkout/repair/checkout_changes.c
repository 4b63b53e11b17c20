#include "run/checkout/repair/checkout_changes.h"

#include "sys/fs/beneath.h"
#include "sys/fs/file.h"
#include "sys/own_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MAX = 1 << 30 };

void checkout_changes_done(struct checkout_changes *c)
{
    own_close(&c->root);
    buf_done(&c->listing);
    vec_done(&c->all);
}

/* Parses lines of diff-tree: ":MODE MODE ID ID STATUS", then the path. */
static int list_changes(struct checkout_changes *c, struct err *err)
{
    if (git_call(&c->at, &c->listing, err, "diff-tree", "-r", "-z", "--no-renames", c->from, c->to,
                 NULL))
        return -1;
    char *end = c->listing.s + c->listing.len;
    for (char *s = c->listing.s, *path; s < end; s = path + strlen(path) + 1) {
        path = s + strlen(s) + 1;
        struct checkout_change change = {.path = path};
        char *next = s;
        (void)strsep(&next, " ");
        change.mode = strsep(&next, " ");
        (void)strsep(&next, " ");
        change.id = strsep(&next, " ");
        if (!change.id || path >= end)
            return err_set(err, ERR_ENV, "git diff-tree: unexpected output");
        vec_push(&c->all, change);
    }
    return 0;
}

int checkout_changes_open(struct checkout_changes *c, const struct git_place *at, const char *from,
                          const char *to, struct err *err)
{
    c->at = *at;
    c->from = from;
    c->to = to;
    c->root = open(at->work_tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return c->root < 0 ? err_sys(err, "open '%s'", at->work_tree) : list_changes(c, err);
}

bool checkout_change_is_deleted(const struct checkout_change *change)
{
    return strcmp(change->mode, "000000") == 0;
}

void checkout_change_add_entry(const struct checkout_change *change, struct buf *out)
{
    buf_addf(out, "%s %s\t%s", change->mode, change->id, change->path);
    buf_addch(out, '\0');
}

int checkout_changes_write(const struct git_place *at, const struct buf *entries, struct err *err)
{
    autostrv struct strv args = {0};
    autobuf struct buf out = BUF_INIT, errout = BUF_INIT;
    int status;
    strv_pushl(&args, "update-index", "-z", "--index-info", NULL);
    if (git_feed(at, &args, entries, &out, &errout, &status, err))
        return -1;
    return status ? err_set(err, ERR_ENV, "git update-index: %s", errout.s) : 0;
}

int checkout_changes_refresh(const struct git_place *at, struct err *err)
{
    autobuf struct buf out = BUF_INIT;
    autostrv struct strv args = {0};
    int status;
    strv_pushl(&args, "update-index", "-q", "--refresh", NULL);
    return git_try(at, &args, &out, NULL, &status, err);
}

int checkout_changes_remove_index(const char *index, struct err *err)
{
    return unlink(index) < 0 && errno != ENOENT ? err_sys(err, "remove '%s'", index) : 0;
}

/* We compare with an index that has only these paths, so that git reads no other file. */
int checkout_changes_list_files(const struct checkout_changes *c, const char *index,
                                struct buf *ret, struct err *err)
{
    struct git_place at = c->at;
    autobuf struct buf entries = BUF_INIT;
    at.index = index;
    for (size_t i = 0; i < c->all.n; i++) {
        if (!checkout_change_is_deleted(&c->all.v[i]))
            checkout_change_add_entry(&c->all.v[i], &entries);
    }
    return checkout_changes_remove_index(index, err) ||
                   checkout_changes_write(&at, &entries, err) ||
                   checkout_changes_refresh(&at, err) ||
                   git_call(&at, ret, err, "diff-files", "-z", "--name-only",
                            "--ignore-submodules=dirty", NULL)
               ? -1
               : 0;
}

int checkout_changes_list_entries(const struct checkout_changes *c, const char *commit,
                                  struct buf *ret, struct err *err)
{
    return git_call(&c->at, ret, err, "diff-index", "--cached", "-z", "--name-only", "--no-renames",
                    "--ignore-submodules=none", commit, "--", NULL);
}

void checkout_changes_add_paths(struct map *set, const struct buf *paths)
{
    for (const char *p = paths->s; p < paths->s + paths->len; p += strlen(p) + 1)
        (void)map_put(set, p, strlen(p), (void *)p);
}

bool checkout_changes_is_gone(const struct checkout_changes *c, const char *path)
{
    const char *name;
    autoclose int folder = beneath_parent(c->root, path, &name);
    struct stat st;
    return (folder < 0 || fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0) && errno == ENOENT;
}

/* True if a file is only the beginning of what git was writing there: git deletes a file before
 * it writes the new one. */
static bool is_partial_file(const struct checkout_changes *c, const struct checkout_change *change,
                            int folder, const char *name)
{
    autobuf struct buf there = BUF_INIT, whole = BUF_INIT;
    autostrv struct strv args = {0};
    autoclose int fd = -1;
    struct err none = {0};
    int status;
    strv_pushl(&args, "cat-file", "blob", change->id, NULL);
    return strncmp(change->mode, "100", 3) == 0 &&
           file_open(folder, name, O_RDONLY | O_NOFOLLOW, &fd, &none) == 0 &&
           file_read_open(fd, change->path, FILE_MAX, &there, &none) == 0 &&
           git_try(&c->at, &args, &whole, NULL, &status, &none) == 0 && status == 0 &&
           there.len < whole.len && memcmp(there.s, whole.s, there.len) == 0;
}

int checkout_changes_remove_partial(const struct checkout_changes *c,
                                    const struct checkout_change *change, bool *ret_removed,
                                    struct err *err)
{
    const char *name;
    autoclose int folder = beneath_parent(c->root, change->path, &name);
    if (folder < 0 || !is_partial_file(c, change, folder, name))
        return 0;
    if (unlinkat(folder, name, 0) < 0)
        return err_sys(err, "remove '%s/%s'", c->at.work_tree, change->path);
    *ret_removed = true;
    return 0;
}
