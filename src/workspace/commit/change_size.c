#include "workspace/commit/change_size.h"

#include "base/own.h"
#include "base/text/text.h"
#include "base/vec.h"
#include "sys/own_fd.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct item {
    const char *path;
    int64_t size;
};

struct items {
    VEC(struct item) all;
};

static void items_done(struct items *items)
{
    vec_done(&items->all);
}

void change_size_done(struct change_size *s)
{
    buf_done(&s->fits);
    strv_done(&s->left);
}

bool change_is_over(const struct change_bounds *bounds, int64_t files, int64_t bytes)
{
    return (bounds->files > 0 && files > bounds->files) ||
           (bounds->bytes > 0 && bytes > bounds->bytes);
}

static void add_amounts(int64_t files, int64_t bytes, struct buf *out)
{
    text_format_count(out, files);
    buf_addf(out, " file%s with ", files == 1 ? "" : "s");
    text_format_bytes(out, bytes);
}

void change_say(const struct change_bounds *bounds, int64_t files, int64_t bytes, struct buf *out)
{
    add_amounts(files, bytes, out);
    buf_addstr(out, ", more than limits.change allows (");
    if (bounds->files > 0 && files > bounds->files)
        text_format_count(out, bounds->files), buf_addstr(out, " files");
    else
        text_format_bytes(out, bounds->bytes);
    buf_addch(out, ')');
}

/* The size of a path. git stores only files and links. */
static int64_t get_size_at(int root, const char *path)
{
    struct stat st;
    bool there = fstatat(root, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
    return there && (S_ISREG(st.st_mode) || S_ISLNK(st.st_mode)) ? (int64_t)st.st_size : 0;
}

static int open_tree(const char *work_tree, struct err *err)
{
    int fd = open(work_tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? err_sys(err, "open '%s'", work_tree) : fd;
}

/* Sorts by size, then by name: we save small files first. */
static int compare_items(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    return x->size != y->size ? (x->size > y->size) - (x->size < y->size)
                              : strcmp(x->path, y->path);
}

static void choose_fitting(const struct change_bounds *bounds, struct items *items,
                           struct change_size *ret)
{
    int64_t files = 0, bytes = 0;
    if (items->all.n)
        qsort(items->all.v, items->all.n, sizeof(*items->all.v), compare_items);
    for (size_t i = 0; i < items->all.n; i++) {
        const struct item *item = &items->all.v[i];
        if (!change_is_over(bounds, files + 1, bytes + item->size)) {
            files++;
            bytes += item->size;
            buf_add(&ret->fits, item->path, strlen(item->path) + 1);
            continue;
        }
        ret->left_bytes += item->size;
        if (ret->left_count++ < CHANGE_NAMES)
            strv_push(&ret->left, item->path);
    }
}

int change_measure(const struct git_place *at, const struct change_bounds *bounds,
                   struct change_size *ret, struct err *err)
{
    autobuf struct buf out = BUF_INIT;
    own_cleanup(items_done) struct items items = {0};
    autoclose int root = -1;
    if (!bounds->files && !bounds->bytes)
        return 0;
    if (git_call(at, &out, err, "ls-files", "-z", "--others", "--modified", "--exclude-standard",
                 NULL) ||
        (root = open_tree(at->work_tree, err)) < 0)
        return -1;
    for (const char *p = out.s; p < out.s + out.len; p += strlen(p) + 1) {
        if (p[strlen(p) - 1] == '/') /* a nested repository, which git does not add as files */
            continue;
        vec_push(&items.all, (struct item){p, get_size_at(root, p)});
        ret->files++;
        ret->bytes += items.all.v[items.all.n - 1].size;
    }
    ret->over = change_is_over(bounds, ret->files, ret->bytes);
    if (ret->over)
        choose_fitting(bounds, &items, ret);
    return 0;
}

int change_add_up(const char *work_tree, const struct buf *paths, struct change_size *ret,
                  struct err *err)
{
    autoclose int root = open_tree(work_tree, err);
    if (root < 0)
        return -1;
    for (const char *p = paths->s; p < paths->s + paths->len; p += strlen(p) + 1) {
        ret->files++;
        ret->bytes += get_size_at(root, p);
    }
    return 0;
}
