#include "git/checkout/untracked.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text/str.h"
#include "git/format/index.h"
#include "sys/clock.h"
#include "sys/fs/beneath.h"
#include "sys/fs/file.h"
#include "sys/own_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH_MAX = 64 };

static void free_file(struct untracked_file *f)
{
    free(f->path);
    free(f->content);
    *f = (struct untracked_file){0};
}

static void free_files(untracked_files *files)
{
    for (size_t i = 0; i < files->n; i++)
        free_file(&files->v[i]);
    vec_done(files);
}

void untracked_close(struct untracked *u)
{
    free_files(&u->files);
    strv_done(&u->full);
    strv_done(&u->skipped);
    free(u->root);
    free(u->index);
    *u = (struct untracked){0};
}

void untracked_changes_done(struct untracked_changes *changes)
{
    for (size_t i = 0; i < changes->list.n; i++) {
        free_file(&changes->list.v[i].was);
        free_file(&changes->list.v[i].is);
    }
    vec_done(&changes->list);
}

static bool has_path(const struct strv *paths, const char *path)
{
    for (size_t i = 0; i < paths->n; i++) {
        if (strcmp(paths->v[i], path) == 0)
            return true;
    }
    return false;
}

struct item {
    char *name;
    bool folder;
};

/* A folder on the current path. */
struct frame {
    int fd;
    size_t path_len; /* of its path, with the slash */
    VEC(struct item) items;
    size_t next_item;
};

/* We walk the index and the folders together, in git's order of paths. */
struct walk {
    const struct untracked *before;
    struct timespec began;
    int root;
    struct git_index index;
    struct git_index_entry entry;
    bool has_entry; /* `entry` is valid */
    struct buf path;
    struct frame stack[DEPTH_MAX];
    size_t depth;
    size_t folder_depth; /* depth of the folder without tracked files that we are in; 0: none */
    size_t folder_start; /* number of files found before it */
    untracked_files files;
    struct strv full;
};

/* Sorts a folder as if its name ended with a slash. */
static int compare_items(const void *a, const void *b)
{
    const struct item *ia = a, *ib = b;
    size_t la = strlen(ia->name), lb = strlen(ib->name), len = la < lb ? la : lb;
    int order = memcmp(ia->name, ib->name, len);
    unsigned char ca = la > len ? (unsigned char)ia->name[len] : ia->folder ? '/' : 0;
    unsigned char cb = lb > len ? (unsigned char)ib->name[len] : ib->folder ? '/' : 0;
    return order ? order : (ca > cb) - (ca < cb);
}

static bool is_folder(int fd, const struct dirent *d)
{
    struct stat st;
    if (d->d_type != DT_UNKNOWN)
        return d->d_type == DT_DIR;
    return fstatat(fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

static bool read_folder(struct frame *f)
{
    autodir DIR *dir = dir_take(fcntl(f->fd, F_DUPFD_CLOEXEC, 0));
    if (!dir)
        return false;
    for (struct dirent *d; (d = dir_next(dir));) {
        if (strcmp(d->d_name, ".git") != 0)
            vec_push(&f->items, (struct item){mem_str(d->d_name), is_folder(f->fd, d)});
    }
    if (f->items.n)
        qsort(f->items.v, f->items.n, sizeof(*f->items.v), compare_items);
    return true;
}

static void leave_folder(struct walk *w)
{
    struct frame *f = &w->stack[--w->depth];
    for (size_t i = 0; i < f->items.n; i++)
        free(f->items.v[i].name);
    vec_done(&f->items);
    own_close(&f->fd);
    if (w->depth < w->folder_depth)
        w->folder_depth = 0;
}

/* A folder that we may not read, or that has gone meanwhile, counts as empty. */
static bool enter_folder(struct walk *w, int parent, const char *name)
{
    if (w->depth == DEPTH_MAX)
        return false;
    struct frame *f = &w->stack[w->depth];
    *f = (struct frame){.path_len = w->path.len};
    f->fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (f->fd < 0)
        return false;
    w->depth++;
    if (read_folder(f))
        return true;
    leave_folder(w);
    return false;
}

static void add_file(struct walk *w, const char *path, const struct stat *st)
{
    vec_push(&w->files, (struct untracked_file){.path = mem_str(path),
                                                .size = st->st_size,
                                                .ino = st->st_ino,
                                                .mode = st->st_mode,
                                                .mtime = st->st_mtim,
                                                .ctime = st->st_ctim,
                                                .in_folder = w->folder_depth > 0,
                                                .ours = standard_files_have(&w->before->ours, st)});
}

/* In a folder with too many files we check only the files of the last snapshot. */
static void add_known_files(struct walk *w, const char *folder)
{
    const untracked_files *known = &w->before->files;
    strv_push(&w->full, folder);
    for (size_t i = 0; i < known->n; i++) {
        struct stat st;
        if (str_begins(known->v[i].path, folder) &&
            fstatat(w->root, known->v[i].path, &st, AT_SYMLINK_NOFOLLOW) == 0) {
            add_file(w, known->v[i].path, &st);
            w->files.v[w->files.n - 1].in_folder = true;
        }
    }
}

/* Stops reading a folder with too many files. At the first check we keep the files found so far;
 * from then on we check only these. */
static void give_up_folder(struct walk *w)
{
    size_t depth = w->folder_depth;
    autofree char *folder = mem_dup(w->path.s, w->stack[depth - 1].path_len);
    while (w->depth >= depth)
        leave_folder(w);
    if (!w->before->root) {
        strv_push(&w->full, folder);
        return;
    }
    while (w->files.n > w->folder_start)
        free_file(&w->files.v[--w->files.n]);
    add_known_files(w, folder);
}

static void visit_file(struct walk *w, const struct frame *f, const char *name)
{
    struct stat st;
    if (w->files.n >= UNTRACKED_FILES_MAX || has_path(&w->before->skipped, w->path.s) ||
        fstatat(f->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISDIR(st.st_mode))
        return;
    add_file(w, w->path.s, &st);
    if (w->folder_depth && w->files.n - w->folder_start > UNTRACKED_FOLDER_MAX)
        give_up_folder(w);
}

static void visit_folder(struct walk *w, const struct frame *f, const char *name)
{
    bool tracked = w->has_entry && str_begins(w->entry.path, w->path.s);
    if (has_path(&w->before->skipped, w->path.s))
        return;
    if (!tracked && has_path(&w->before->full, w->path.s)) {
        add_known_files(w, w->path.s);
        return;
    }
    if (!enter_folder(w, f->fd, name) || tracked || w->folder_depth)
        return;
    w->folder_depth = w->depth;
    w->folder_start = w->files.n;
}

/* Skips the index entries before the current path. Returns true if the current path is a submodule:
 * its entry sorts before the contents of its folder. */
static bool skip_entries(struct walk *w, const char *name_end)
{
    bool is_module = false;
    while (w->has_entry && strcmp(w->entry.path, w->path.s) < 0) {
        size_t len = (size_t)(name_end - w->path.s);
        is_module = (w->entry.mode & GIT_INDEX_KIND) == GIT_INDEX_SUBMODULE &&
                    strlen(w->entry.path) == len && strncmp(w->entry.path, w->path.s, len) == 0;
        w->has_entry = git_index_next(&w->index, &w->entry);
    }
    return is_module;
}

static void visit_item(struct walk *w, struct frame *f)
{
    const struct item item = f->items.v[f->next_item++];
    buf_cut(&w->path, f->path_len);
    buf_addf(&w->path, "%s%s", item.name, item.folder ? "/" : "");
    bool is_module = skip_entries(w, w->path.s + f->path_len + strlen(item.name));
    if (item.folder && !is_module)
        visit_folder(w, f, item.name);
    else if (!item.folder && !(w->has_entry && strcmp(w->entry.path, w->path.s) == 0))
        visit_file(w, f, item.name);
}

static void walk_done(struct walk *w)
{
    while (w->depth)
        leave_folder(w);
    git_index_done(&w->index);
    buf_done(&w->path);
    own_close(&w->root);
    free_files(&w->files);
    strv_done(&w->full);
}

static int walk_open(struct walk *w, const char *root, const char *index, size_t id_len,
                     struct err *err)
{
    if (clock_gettime(CLOCK_REALTIME, &w->began) < 0)
        return err_sys(err, "read the clock");
    w->root = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (w->root < 0)
        return err_sys(err, "open '%s'", root);
    if (git_index_open(&w->index, index, id_len, err))
        return -1;
    w->has_entry = git_index_next(&w->index, &w->entry);
    return enter_folder(w, w->root, ".") ? 0 : err_sys(err, "look into '%s'", root);
}

static int walk_all(struct walk *w, const char *root, const char *index, size_t id_len,
                    struct err *err)
{
    if (walk_open(w, root, index, id_len, err))
        return -1;
    while (w->depth) {
        struct frame *f = &w->stack[w->depth - 1];
        if (f->next_item < f->items.n)
            visit_item(w, f);
        else
            leave_folder(w);
    }
    while (w->has_entry)
        w->has_entry = git_index_next(&w->index, &w->entry);
    return w->index.good ? 0
                         : err_set(err, ERR_INPUT, "'%s' is an index of an unknown kind", index);
}

static void replace_snapshot(struct untracked *u, struct walk *w)
{
    free_files(&u->files);
    strv_done(&u->full);
    u->files = w->files;
    u->full = w->full;
    u->looked = w->began;
    w->files = (untracked_files){0};
    w->full = (struct strv){0};
}

/* Fails if the file was replaced since we read its stat data. */
static bool read_content(int root, const struct untracked_file *f, struct buf *out)
{
    struct stat st;
    if (S_ISLNK(f->mode))
        return file_read_link(root, f->path, out) == 0;
    if (!S_ISREG(f->mode) || f->size > UNTRACKED_KEPT_MAX || f->ours)
        return false;
    autoclose int fd = openat(root, f->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size != f->size)
        return false;
    buf_reserve(out, (size_t)f->size + 1);
    ssize_t n;
    while ((n = read(fd, out->s + out->len, (size_t)f->size + 1 - out->len)) > 0)
        out->len += (size_t)n;
    out->s[out->len] = '\0';
    return n == 0 && out->len == (size_t)f->size;
}

/* Files in folders with tracked files come first: people write these. */
static void keep_contents(struct untracked *u, int root)
{
    size_t bytes = 0, kept_files = 0;
    for (int in_folder = 0; in_folder < 2; in_folder++) {
        for (size_t i = 0; i < u->files.n && kept_files < UNTRACKED_KEPT_FILES_MAX; i++) {
            struct untracked_file *f = &u->files.v[i];
            autobuf struct buf content = BUF_INIT;
            if (f->in_folder != in_folder || bytes + (size_t)f->size > UNTRACKED_KEPT_ALL_MAX ||
                !read_content(root, f, &content))
                continue;
            bytes += content.len;
            kept_files++;
            f->len = content.len;
            f->content = buf_steal(&content);
        }
    }
}

/* True if `a` is earlier by more than a tick of the file system's clock. */
static bool is_before(const struct timespec *a, const struct timespec *b)
{
    enum { TICK_NS = 20000000 };
    int64_t ns = (int64_t)(b->tv_sec - a->tv_sec) * 1000000000 + (b->tv_nsec - a->tv_nsec);
    return b->tv_sec - a->tv_sec > 1 || ns > TICK_NS;
}

static bool is_same(const struct untracked_file *a, const struct untracked_file *b)
{
    return a->size == b->size && a->ino == b->ino && a->mode == b->mode &&
           clock_same(&a->mtime, &b->mtime) && clock_same(&a->ctime, &b->ctime);
}

static bool has_same_content(int root, const struct untracked_file *was,
                             const struct untracked_file *is)
{
    autobuf struct buf now = BUF_INIT;
    return was->content && was->mode == is->mode && is->size == (off_t)was->len &&
           read_content(root, is, &now) && memcmp(now.s, was->content, now.len) == 0;
}

static struct untracked_file copy_file(const struct untracked_file *f)
{
    struct untracked_file copy = f ? *f : (struct untracked_file){0};
    copy.path = f ? mem_str(f->path) : NULL;
    copy.content = f && f->content ? mem_dup(f->content, f->len) : NULL;
    return copy;
}

static void add_change(struct untracked_changes *changes, const struct untracked_file *was,
                       const struct untracked_file *is)
{
    if (changes)
        vec_push(&changes->list, (struct untracked_change){copy_file(was), copy_file(is)});
}

/* The new snapshot inherits the content that the first check kept. */
static void compare_pair(const struct walk *w, struct untracked_file *was,
                         struct untracked_file *is, struct untracked_changes *changes)
{
    if (!is_same(was, is) && !(was->ours && is->ours) && !has_same_content(w->root, was, is))
        add_change(changes, was, is);
    is->content = steal_ptr(was->content);
    is->len = was->len;
}

/* We report a folder that has become too full as a whole. */
static void compare_full(const struct untracked *u, const struct walk *w,
                         struct untracked_changes *changes)
{
    for (size_t i = 0; i < w->full.n; i++) {
        struct untracked_file folder = {.path = w->full.v[i]};
        if (!has_path(&u->full, folder.path))
            add_change(changes, NULL, &folder);
    }
}

/* Is there a file? A folder, or a file behind a symlink, is another one. */
static bool is_file_there(int root, const char *path)
{
    const char *name;
    struct stat st;
    autoclose int folder = beneath_parent(root, path, &name);
    return folder >= 0 && fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           !S_ISDIR(st.st_mode);
}

/* A file that git now tracks is not deleted. */
static void compare_missing(const struct walk *w, const struct untracked_file *was,
                            struct untracked_changes *changes)
{
    if (!was->ours && !is_file_there(w->root, was->path))
        add_change(changes, was, NULL);
}

/* A file that git no longer tracks is not new. */
static void compare_new(const struct untracked *u, const struct untracked_file *is,
                        struct untracked_changes *changes)
{
    if (!is->ours && !is_before(&is->ctime, &u->looked))
        add_change(changes, NULL, is);
}

static void compare_files(struct untracked *u, struct walk *w, struct untracked_changes *changes)
{
    for (size_t i = 0, k = 0; i < u->files.n || k < w->files.n;) {
        int order = i == u->files.n   ? 1
                    : k == w->files.n ? -1
                                      : strcmp(u->files.v[i].path, w->files.v[k].path);
        if (order == 0)
            compare_pair(w, &u->files.v[i++], &w->files.v[k++], changes);
        else if (order < 0)
            compare_missing(w, &u->files.v[i++], changes);
        else
            compare_new(u, &w->files.v[k++], changes);
    }
    compare_full(u, w, changes);
}

int untracked_open(struct untracked *u, const char *root, const char *index, size_t id_len,
                   const struct strv *skipped, struct err *err)
{
    *u = (struct untracked){.id_len = id_len};
    standard_files_find(&u->ours);
    for (size_t i = 0; i < skipped->n; i++)
        strv_push(&u->skipped, skipped->v[i]);
    struct walk w = {.before = u, .root = -1, .path = BUF_INIT};
    int rc = walk_all(&w, root, index, id_len, err);
    if (rc == 0) {
        replace_snapshot(u, &w);
        keep_contents(u, w.root);
    }
    walk_done(&w);
    u->root = mem_str(root);
    u->index = mem_str(index);
    return rc;
}

int untracked_look(struct untracked *u, struct untracked_changes *changes, struct err *err)
{
    struct walk w = {.before = u, .root = -1, .path = BUF_INIT};
    int rc = walk_all(&w, u->root, u->index, u->id_len, err);
    if (rc == 0) {
        compare_files(u, &w, changes);
        replace_snapshot(u, &w);
    }
    walk_done(&w);
    return rc;
}
