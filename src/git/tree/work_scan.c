#include "git/tree/work_scan.h"

#include "base/text/str.h"
#include "base/vec.h"
#include "git/format/index.h"
#include "git/format/tree.h"
#include "sys/fs/dir_names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Each level needs a descriptor, and git must accept the path. */
enum { DEPTH_MAX = 200, LENGTH_MAX = 4096 };

/* A folder whose entries are being read. */
struct level {
    int fd;         /* -1: there is no such folder: skip its entries */
    size_t path;    /* length of its path, with the slash */
    size_t tracked; /* offset of the names of its tracked entries */
    size_t names;   /* number of these names */
    size_t there;   /* offset of the names found in the folder */
    size_t changed; /* number of changed paths found before it */
    off_t size;     /* size of the folder; -1: ignore it and read the names */
};

struct walk {
    struct work_scan *found;
    struct git_index index;
    struct timespec written;          /* when the index was written */
    enum dir_names_size size_meaning; /* meaning of a folder's size ... */
    dev_t device;                     /* ... in this file system */
    VEC(struct level) levels;         /* the root first */
    struct buf path;                  /* of the last level, with the slash */
    struct buf tracked; /* names of tracked entries, all levels, each with a NUL at the end */
    struct buf there;   /* names found in the folders, likewise */
};

void work_scan_close(struct work_scan *s)
{
    strv_done(&s->changed);
    strv_done(&s->untracked);
}

/* Returns false if there are too many. */
static bool add_found(struct walk *w, struct strv *list, const char *name, const char *end)
{
    strv_pushf(list, "%s%s%s", w->path.s, name, end);
    return w->found->changed.n + w->found->untracked.n <= WORK_SCAN_MAX;
}

/* True for the id of the empty blob; len is the length of a binary id. */
static bool is_empty_blob(const unsigned char *id, size_t len)
{
    static const unsigned char sha1[] = {0xe6, 0x9d, 0xe2, 0x9b, 0xb2, 0xd1, 0xd6,
                                         0x43, 0x4b, 0x8b, 0x29, 0xae, 0x77, 0x5a,
                                         0xd8, 0xc2, 0xe4, 0x8c, 0x53, 0x91};
    static const unsigned char sha256[] = {0x47, 0x3a, 0x0f, 0x4c, 0x3b, 0xe8, 0xa9, 0x36,
                                           0x81, 0xa2, 0x67, 0xe3, 0xb1, 0xe9, 0xa7, 0xdc,
                                           0xda, 0x11, 0x85, 0x43, 0x6f, 0xe1, 0x41, 0xf7,
                                           0x74, 0x91, 0x20, 0xa3, 0x03, 0x72, 0x18, 0x13};
    return memcmp(id, len == sizeof(sha1) ? sha1 : sha256, len) == 0;
}

/* True if a file may have been written again after git read it for the index, without a trace in
 * its stat data. If the index has no fractions of seconds, we compare the seconds. When git
 * rewrites the index, it records such a file with size 0. */
static bool is_racy(const struct walk *w, const struct git_index_entry *e)
{
    uint32_t second = (uint32_t)w->written.tv_sec, ns = (uint32_t)w->written.tv_nsec;
    if (e->mtime > second || (e->mtime == second && (!e->mtime_ns || e->mtime_ns >= ns)))
        return true;
    return !e->size && !is_empty_blob(e->id, w->index.id_len);
}

static bool check_file(struct walk *w, int folder, const char *name,
                       const struct git_index_entry *e)
{
    struct stat st;
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        if (errno != ENOENT)
            return false;
    } else if (git_index_fits(e, &st) && !is_racy(w, e) &&
               git_index_same_time(&st.st_ctim, e->ctime, e->ctime_ns)) {
        return true;
    }
    return add_found(w, &w->found->changed, name, "");
}

/* True for "." and "..", and for ".git", which git ignores everywhere. */
static bool is_ignored(const char *name)
{
    return str_is_dots(name) || strcmp(name, ".git") == 0;
}

/* A checksum of a list of names that does not depend on their order. */
struct checksum {
    size_t names;
    uint64_t hashes;
};

static struct checksum compute_checksum(const struct buf *names, size_t start)
{
    struct checksum checksum = {0};
    for (const char *s = names->s + start; s < names->s + names->len; s++, checksum.names++) {
        uint64_t hash = 0xcbf29ce484222325;
        for (; *s; s++)
            hash = (hash ^ (unsigned char)*s) * 0x100000001b3;
        checksum.hashes += hash;
    }
    return checksum;
}

/* Returns the names sorted, to be freed; *ret_n is their number. */
static const char **sort_names(const struct buf *names, size_t start, size_t *ret_n)
{
    VEC(const char *) list = {0};
    for (const char *s = names->s + start; s < names->s + names->len; s += strlen(s) + 1)
        vec_push(&list, s);
    if (list.n)
        qsort(list.v, list.n, sizeof(*list.v), str_compare);
    *ret_n = list.n;
    return list.v;
}

static bool add_untracked(struct walk *w, int fd, const char *name)
{
    struct stat st;
    if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT;
    return add_found(w, &w->found->untracked, name, S_ISDIR(st.st_mode) ? "/" : "");
}

static bool find_untracked(struct walk *w, const struct level *l)
{
    size_t n, m, k = 0;
    autofree const char **there = sort_names(&w->there, l->there, &n);
    autofree const char **tracked = sort_names(&w->tracked, l->tracked, &m);
    bool good = true;
    for (size_t i = 0; good && i < n; i++) {
        while (k < m && strcmp(tracked[k], there[i]) < 0)
            k++;
        if (k == m || strcmp(tracked[k], there[i]) != 0)
            good = add_untracked(w, l->fd, there[i]);
    }
    return good;
}

/* Most folders contain the tracked names and nothing else: then the checksums are equal. The number
 * of names alone is not enough on file systems that ignore case. */
static bool check_names(struct walk *w, const struct level *l)
{
    struct checksum there = compute_checksum(&w->there, l->there),
                    tracked = compute_checksum(&w->tracked, l->tracked);
    return (there.names == tracked.names && there.hashes == tracked.hashes) || find_untracked(w, l);
}

/* We skip `.git` only at the top of the work tree: someone created any other one, and git would
 * ignore it. */
static bool read_names(struct walk *w, const struct level *l)
{
    return dir_names_read(l->fd, l->path ? "" : ".git", &w->there) == 0;
}

/* Takes ownership of the descriptor. Reads the names first, because that makes the checks of the
 * files cheaper; not if the folder's size is likely to be enough. */
static bool push_level(struct walk *w, int fd)
{
    struct level l = {.fd = fd,
                      .path = w->path.len,
                      .tracked = w->tracked.len,
                      .there = w->there.len,
                      .changed = w->found->changed.n,
                      .size = -1};
    struct stat st;
    if (fd >= 0 && w->size_meaning && w->levels.n && fstat(fd, &st) == 0 && st.st_dev == w->device)
        l.size = st.st_size;
    vec_push(&w->levels, l);
    return fd < 0 || l.size >= 0 || read_names(w, &l);
}

static void pop_level(struct walk *w)
{
    struct level l = w->levels.v[--w->levels.n];
    if (l.fd >= 0)
        (void)close(l.fd);
    buf_cut(&w->tracked, l.tracked);
    buf_cut(&w->there, l.there);
    buf_cut(&w->path, w->levels.n ? w->levels.v[w->levels.n - 1].path : 0);
}

/* True if all tracked entries exist and the folder's size leaves room for no others. */
static bool is_full(const struct walk *w, const struct level *l)
{
    size_t length = w->tracked.len - l->tracked - l->names;
    return w->found->changed.n == l->changed &&
           dir_names_size_fits(w->size_meaning, l->size, l->names, length);
}

/* Finishes the last folder. */
static bool close_level(struct walk *w)
{
    const struct level *l = &w->levels.v[w->levels.n - 1];
    bool good = true;
    if (l->fd >= 0 && (l->size < 0 || !is_full(w, l)))
        good = (l->size < 0 || read_names(w, l)) && check_names(w, l);
    pop_level(w);
    return good;
}

/* A folder that is missing or replaced counts as gone with all its entries. */
static bool add_gone(struct walk *w, int above, const char *name)
{
    return (errno == ENOENT || errno == ENOTDIR || errno == ELOOP) &&
           add_found(w, &w->found->changed, name, "/") && add_untracked(w, above, name);
}

static bool open_level(struct walk *w, int above, const char *name)
{
    if (!*name || is_ignored(name) || w->levels.n == DEPTH_MAX || w->path.len > LENGTH_MAX)
        return false;
    int fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && !add_gone(w, above, name))
        return false;
    buf_addf(&w->path, "%s/", name);
    return push_level(w, fd);
}

/* Entries are sorted by path, so those of a folder are adjacent. */
static bool check_entry(struct walk *w, const struct git_index_entry *e)
{
    while (strncmp(w->path.s, e->path, w->path.len) != 0) {
        if (!close_level(w))
            return false;
    }
    for (;;) {
        struct level *l = &w->levels.v[w->levels.n - 1];
        const char *name = e->path + l->path;
        size_t len = strcspn(name, "/"), start = w->tracked.len;
        if (l->fd < 0)
            return true;
        l->names++;
        buf_add(&w->tracked, name, len + 1);
        w->tracked.s[w->tracked.len - 1] = '\0';
        if (!name[len])
            return check_file(w, l->fd, name, e);
        if (!open_level(w, l->fd, w->tracked.s + start))
            return false;
    }
}

static bool scan_tree(struct walk *w, const char *work_tree)
{
    int root = open(work_tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat st;
    bool good = root >= 0 && push_level(w, root) && fstat(root, &st) == 0;
    if (good) {
        w->size_meaning = dir_names_size_means(root);
        w->device = st.st_dev;
    }
    w->found->no_attributes = true;
    for (struct git_index_entry e; good && git_index_next(&w->index, &e);) {
        w->found->no_attributes = w->found->no_attributes && !git_index_is_attributes(e.path);
        good = git_index_is_plain(&e) && check_entry(w, &e);
    }
    good = good && git_index_root(&w->index); /* the index still ends as in is_of_tree() */
    while (good && w->levels.n)
        good = close_level(w);
    return good;
}

/* Reads all entries once, without their paths, to reach the root tree that follows them. */
static bool is_of_tree(const struct git_index *index, const char *tree)
{
    struct git_index first = *index;
    autobuf struct buf id = BUF_INIT;
    const unsigned char *root = NULL;
    bool plain = true;
    first.name = (struct buf)BUF_INIT;
    first.nameless = true;
    for (struct git_index_entry e; plain && git_index_next(&first, &e);)
        plain = git_index_is_plain(&e);
    if (plain && (root = git_index_root(&first)))
        tree_id(&id, root, first.id_len);
    buf_done(&first.name);
    return root && strcmp(id.s, tree) == 0;
}

static void walk_done(struct walk *w)
{
    while (w->levels.n)
        pop_level(w);
    vec_done(&w->levels);
    git_index_done(&w->index);
    buf_done(&w->path);
    buf_done(&w->tracked);
    buf_done(&w->there);
}

bool work_scan_is_plain(const char *index, const char *tree)
{
    autogitindex struct git_index i;
    return git_index_open(&i, index, strlen(tree), NULL) == 0 && is_of_tree(&i, tree);
}

bool work_scan_open(struct work_scan *s, const char *work_tree, const char *index, const char *tree)
{
    own_cleanup(walk_done) struct walk w = {
        .found = s, .path = BUF_INIT, .tracked = BUF_INIT, .there = BUF_INIT};
    struct stat st;
    *s = (struct work_scan){0};
    if (stat(index, &st) < 0) /* before we read the index: what we read is no older */
        return false;
    w.written = st.st_mtim;
    return git_index_open(&w.index, index, strlen(tree), NULL) == 0 && is_of_tree(&w.index, tree) &&
           scan_tree(&w, work_tree);
}
