#include "sys/fs/dir_sync.h"

#include "base/mem.h"
#include "base/own.h"
#include "base/text/str.h"
#include "base/vec.h"
#include "sys/clock.h"
#include "sys/fs/beneath.h"
#include "sys/fs/copy.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"
#include "sys/own_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 64 << 10, LEFT_OUT = 1 };

/* A folder of the original that the walk has left. */
struct left_folder {
    char *path;
    mode_t mode;
    struct timespec times[2];
};

struct walk {
    const struct dir_sync *m;
    FTS *src, *dst;
    FTSENT *src_entry, *dst_entry; /* current entries of original and copy; NULL: at the end */
    struct copy *copy;
    char *blocks;          /* two blocks, for comparing */
    char *writable_folder; /* the folder that we last made writable, or NULL */
    bool differs;
    struct dir_sync_count count;
    VEC(struct left_folder) left_folders; /* each folder comes after everything in it */
};

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static int open_side(const char *root, const char *path, FTS **ret, struct err *err)
{
    autofree char *top = mem_printf("%s/%s", root, path);
    char *const roots[] = {top, NULL};
    *ret = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
    return *ret ? 0 : err_sys(err, "look into '%s'", top);
}

static const char *get_relative_path(const FTSENT *e, const char *root)
{
    return e->fts_path + strlen(root) + 1;
}

/* Finds the next entry that exists. */
static int next_entry(FTS *fts, FTSENT **ret, struct err *err)
{
    for (;;) {
        errno = 0;
        *ret = fts_read(fts);
        if (!*ret)
            return errno && errno != ENOENT ? err_sys(err, "look into a folder") : 0;
        int kind = (*ret)->fts_info;
        if (kind != FTS_DNR && kind != FTS_ERR && kind != FTS_NS)
            return 0;
        errno = (*ret)->fts_errno;
        if (errno != ENOENT)
            return err_sys(err, "look into '%s'", (*ret)->fts_path);
    }
}

static bool is_folder(const FTSENT *e)
{
    return S_ISDIR(e->fts_statp->st_mode);
}

static bool is_left_out(FTS *fts, FTSENT *e)
{
    mode_t mode = e->fts_statp->st_mode;
    if (!S_ISDIR(mode))
        return !S_ISREG(mode) && !S_ISLNK(mode);
    if (!copy_is_linked_worktree(e->fts_path))
        return false;
    e->fts_number = LEFT_OUT;
    (void)fts_set(fts, e, FTS_SKIP);
    return true;
}

static int step_copy(struct walk *w, struct err *err)
{
    do {
        if (next_entry(w->dst, &w->dst_entry, err))
            return -1;
    } while (w->dst_entry && w->dst_entry->fts_info == FTS_DP);
    return 0;
}

static int begin_change(struct walk *w, struct err *err)
{
    if (w->differs)
        return 0;
    w->differs = true;
    return w->m->before && !w->m->look ? w->m->before(w->m->ctx, err) : 0;
}

/* Makes the folder of a path writable if its owner may not write to it, until finish_folder(). */
static void make_writable(struct walk *w, const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t len = slash ? (size_t)(slash - path) : 0;
    autoclose int fd = -1;
    struct stat st;
    if (w->writable_folder && strlen(w->writable_folder) == len &&
        memcmp(w->writable_folder, path, len) == 0)
        return; /* usually the same folder as last time */
    free(w->writable_folder);
    w->writable_folder = mem_dup(path, len);
    autofree char *folder = mem_printf("%s/%s", w->m->to, w->writable_folder);
    if (beneath_folder(folder, &fd, NULL) == 0 && fstat(fd, &st) == 0 &&
        (st.st_mode & 0700) != 0700)
        /* If this fails, the next change in the folder reports the error. */
        (void)beneath_chmod(fd, "", (st.st_mode & 07777) | 0700);
}

static int set_mode(struct walk *w, const char *path, mode_t mode, struct err *err)
{
    autoclose int fd = -1;
    if (begin_change(w, err) || beneath_folder(path, &fd, err))
        return -1;
    return beneath_chmod(fd, "", mode) < 0 ? err_sys(err, "finish the folder '%s'", path) : 0;
}

static int set_times(const char *path, const struct timespec times[2], struct err *err)
{
    autoclose int folder = -1;
    const char *name;
    if (beneath_folder_of(path, &folder, &name, err))
        return -1;
    return utimensat(folder, name, times, AT_SYMLINK_NOFOLLOW) < 0
               ? err_sys(err, "finish the folder '%s'", path)
               : 0;
}

/* Sets mode and times of a folder after we have synchronized its contents. */
static int finish_folder(struct walk *w, const struct left_folder *l, struct err *err)
{
    autofree char *path = mem_printf("%s/%s", w->m->to, l->path);
    struct stat st;
    if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode))
        return 0;
    if ((st.st_mode & 07777) != l->mode && set_mode(w, path, l->mode, err))
        return -1;
    return clock_same(&st.st_mtim, &l->times[1]) ? 0 : set_times(path, l->times, err);
}

/* We finish the folder later: the copy may have more entries in it that we must remove first. */
static void leave_folder(struct walk *w, const FTSENT *e)
{
    const struct stat *st = e->fts_statp;
    if (!w->m->look && e->fts_number != LEFT_OUT)
        vec_push(&w->left_folders,
                 (struct left_folder){.path = mem_str(get_relative_path(e, w->m->from)),
                                      .mode = st->st_mode & 07777,
                                      .times = {st->st_atim, st->st_mtim}});
}

static int step_original(struct walk *w, struct err *err)
{
    for (;;) {
        if (next_entry(w->src, &w->src_entry, err))
            return -1;
        if (w->src_entry && w->src_entry->fts_info == FTS_DP)
            leave_folder(w, w->src_entry);
        else if (!w->src_entry || !is_left_out(w->src, w->src_entry))
            return 0;
    }
}

/* Removes an entry of the copy that the original does not have. */
static int remove_entry(struct walk *w, struct err *err)
{
    if (begin_change(w, err))
        return -1;
    if (w->m->look)
        return 0;
    make_writable(w, get_relative_path(w->dst_entry, w->m->to));
    if (is_folder(w->dst_entry))
        (void)fts_set(w->dst, w->dst_entry, FTS_SKIP);
    return dirs_remove(w->dst_entry->fts_path, err);
}

static int copy_entry(struct walk *w, struct err *err)
{
    const char *path = get_relative_path(w->src_entry, w->m->from);
    if (begin_change(w, err))
        return -1;
    if (w->m->look)
        return 0;
    make_writable(w, path);
    if (is_folder(w->src_entry) ? copy_folder(w->copy, path, err) : copy_path(w->copy, path, err))
        return -1;
    w->count.copied = copy_count(w->copy);
    return 0;
}

static ssize_t read_block(int fd, char *block)
{
    size_t len = 0;
    for (ssize_t n; len < BLOCK && (n = read(fd, block + len, BLOCK - len)) != 0;) {
        if (n < 0 && errno != EINTR)
            return -1;
        len += n > 0 ? (size_t)n : 0;
    }
    return (ssize_t)len;
}

/* False if one of them cannot be read. copy_entry() then reports the reason. */
static bool have_same_bytes(struct walk *w)
{
    enum { HOW = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC };
    autoclose int a = open(w->src_entry->fts_path, HOW), b = open(w->dst_entry->fts_path, HOW);
    if (a < 0 || b < 0)
        return false;
    if (!w->blocks)
        w->blocks = mem_alloc((size_t)2 * BLOCK);
    for (;;) {
        ssize_t n = read_block(a, w->blocks), k = read_block(b, w->blocks + BLOCK);
        if (n < 0 || n != k || memcmp(w->blocks, w->blocks + BLOCK, (size_t)n) != 0)
            return false;
        if (n < BLOCK)
            return true;
    }
}

static bool have_same_target(const struct walk *w)
{
    autobuf struct buf a = BUF_INIT, b = BUF_INIT;
    return file_read_link(AT_FDCWD, w->src_entry->fts_path, &a) == 0 &&
           file_read_link(AT_FDCWD, w->dst_entry->fts_path, &b) == 0 && strcmp(a.s, b.s) == 0;
}

static bool is_same(struct walk *w)
{
    const struct stat *s = w->src_entry->fts_statp, *d = w->dst_entry->fts_statp;
    if (s->st_mode != d->st_mode || s->st_size != d->st_size ||
        !clock_same(&s->st_mtim, &d->st_mtim))
        return false;
    if (S_ISLNK(s->st_mode))
        return have_same_target(w);
    bool known =
        clock_is_later(&w->m->looked, &s->st_ctim) && clock_is_later(&w->m->changed, &d->st_ctim);
    return known || have_same_bytes(w);
}

/* Both sides have an entry of this name. */
static int sync_entry(struct walk *w, struct err *err)
{
    bool folders = is_folder(w->src_entry) && is_folder(w->dst_entry);
    if (folders && w->m->look)
        w->differs =
            w->differs || w->src_entry->fts_statp->st_mode != w->dst_entry->fts_statp->st_mode;
    if (folders || (!is_folder(w->src_entry) && !is_folder(w->dst_entry) && is_same(w)))
        return 0;
    return remove_entry(w, err) || copy_entry(w, err) ? -1 : 0;
}

static void count_entry(struct walk *w)
{
    if (is_folder(w->src_entry))
        return;
    w->count.files++;
    w->count.bytes +=
        S_ISREG(w->src_entry->fts_statp->st_mode) ? w->src_entry->fts_statp->st_size : 0;
    if (w->m->progress)
        w->m->progress(w->m->ctx, &w->count);
}

/* Handles the next entry: one that only one side has, or both have. */
static int sync_next(struct walk *w, struct err *err)
{
    int which = !w->src_entry   ? 1
                : !w->dst_entry ? -1
                                : str_compare_paths(get_relative_path(w->src_entry, w->m->from),
                                                    get_relative_path(w->dst_entry, w->m->to));
    if (which > 0 ? remove_entry(w, err) : which < 0 ? copy_entry(w, err) : sync_entry(w, err))
        return -1;
    if (which <= 0)
        count_entry(w);
    return (which <= 0 && step_original(w, err)) || (which >= 0 && step_copy(w, err)) ? -1 : 0;
}

static int sync_trees(struct walk *w, struct err *err)
{
    if (open_side(w->m->from, w->m->path, &w->src, err) ||
        open_side(w->m->to, w->m->path, &w->dst, err) ||
        copy_open(&w->copy, w->m->from, w->m->to, err) || step_original(w, err) ||
        step_copy(w, err))
        return -1;
    while ((w->src_entry || w->dst_entry) && !(w->m->look && w->differs)) {
        if (sync_next(w, err))
            return -1;
    }
    for (size_t i = 0; i < w->left_folders.n; i++) {
        if (finish_folder(w, &w->left_folders.v[i], err))
            return -1;
    }
    return 0;
}

static void walk_done(struct walk *w)
{
    own_fts_close(&w->src);
    own_fts_close(&w->dst);
    for (size_t i = 0; i < w->left_folders.n; i++)
        free(w->left_folders.v[i].path);
    vec_done(&w->left_folders);
    free(w->blocks);
    free(w->writable_folder);
}

int dir_sync_run(const struct dir_sync *m, struct dir_sync_count *ret, bool *ret_same,
                 struct err *err)
{
    own_cleanup(walk_done) struct walk w = {.m = m};
    struct err why = {0};
    int rc = sync_trees(&w, err);
    if (copy_close(w.copy, &why) && rc == 0)
        rc = err_set(err, why.code, "%s", why.msg);
    if (rc == 0) {
        *ret = w.count;
        *ret_same = !w.differs;
    }
    return rc;
}
