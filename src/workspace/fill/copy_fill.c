#include "workspace/fill/copy_fill.h"

#include "base/mem.h"
#include "base/text/str.h"
#include "base/vec.h"
#include "git/format/hash.h"
#include "git/format/index.h"
#include "sys/clock.h"
#include "sys/fs/beneath.h"
#include "sys/fs/file.h"
#include "sys/own_fd.h"
#include "sys/proc/parallel_for.h"
#include "sys/self_exe.h"
#include "workspace/fill/verbatim.h"
#include "workspace/write_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    THREADS_MAX = 4, /* more threads would block each other in the folders */
    CHUNK = 128,     /* files that a thread takes at a time */
    FILE_MAX =
        16 << 20,   /* bytes: we leave larger files to git, which does not keep them in memory */
    TICKS_MAX = 20, /* milliseconds that the clock of the file system may need to advance */
};

/* A file that may be copied. */
struct item {
    size_t entry; /* offset of its entry in the entries of the new index */
    mode_t mode;
    bool converted; /* git changes its content at checkout */
    bool copied;
};

struct copying {
    const struct copy_fill *job;
    struct git_index index; /* of the other tree */
    struct buf
        differing; /* paths whose entries differ from the wanted commit, each followed by a NUL */
    struct strv sorted; /* the same paths, sorted */
    struct buf entries; /* of the new index */
    VEC(struct item) items;
    int from, to;     /* the two folders */
    bool all;         /* no entry was left out so far */
    bool ask;         /* attributes may make git change contents */
    atomic_bool stop; /* something could not be written */
};

static void copying_done(struct copying *c)
{
    git_index_done(&c->index);
    buf_done(&c->differing);
    strv_done(&c->sorted);
    buf_done(&c->entries);
    vec_done(&c->items);
    own_close(&c->from);
    own_close(&c->to);
}

static const char *get_item_path(const struct copying *c, const struct item *item)
{
    return c->entries.s + item->entry + GIT_INDEX_ID + c->index.id_len + 2;
}

/* The state of one thread. */
struct copier {
    struct buf folder; /* path of the folders `from` and `to`, with the slash */
    int from, to;      /* the folder in both trees, or -1 */
    struct buf object; /* the content, with the header that git hashes before it */
    size_t content;    /* offset of the content */
    struct buf id;
};

#define COPIER_INIT                                                                                \
    {                                                                                              \
        .folder = BUF_INIT, .from = -1, .to = -1, .object = BUF_INIT, .id = BUF_INIT               \
    }

static void copier_done(struct copier *h)
{
    buf_done(&h->folder);
    buf_done(&h->object);
    buf_done(&h->id);
    own_close(&h->from);
    own_close(&h->to);
}

static void begin_object(struct copier *h, size_t size)
{
    buf_cut(&h->object, 0);
    buf_addf(&h->object, "blob %zu", size);
    buf_addch(&h->object, '\0');
    h->content = h->object.len;
}

/* Follows no link and does not block on a pipe. */
static bool read_file(struct copier *h, int folder, const char *name)
{
    autoclose int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > FILE_MAX)
        return false;
    begin_object(h, (size_t)st.st_size);
    return file_read_exactly(fd, (size_t)st.st_size, &h->object);
}

static bool read_link(struct copier *h, int folder, const char *name)
{
    autobuf struct buf target = BUF_INIT;
    if (file_read_link(folder, name, &target))
        return false;
    begin_object(h, target.len);
    buf_add(&h->object, target.s, target.len);
    return true;
}

/* Reads a file; true if its content is the object `id`. */
static bool read_object(struct copier *h, int folder, const char *name, mode_t mode,
                        const unsigned char *id, size_t id_len)
{
    if (!(S_ISLNK(mode) ? read_link(h, folder, name) : read_file(h, folder, name)))
        return false;
    buf_cut(&h->id, 0);
    git_hash_add(&h->id, h->object.s, h->object.len, 2 * id_len);
    return memcmp(h->id.s, id, id_len) == 0;
}

/* Lists paths whose entries in the other index differ from the wanted commit. */
static bool find_differing(struct copying *c)
{
    struct git_place at = workspace_place(c->job->to);
    autostrv struct strv args = {0};
    int status;
    at.index = c->job->index;
    strv_pushl(&args, "diff-index", "--cached", "--name-only", "--no-renames", "-z", "HEAD", "--",
               NULL);
    if (git_try(&at, &args, &c->differing, NULL, &status, NULL) || status != 0)
        return false;
    const char *end = c->differing.s + c->differing.len;
    for (const char *s = c->differing.s; s < end; s += strlen(s) + 1)
        strv_push(&c->sorted, s);
    if (c->sorted.n)
        qsort(c->sorted.v, c->sorted.n, sizeof(*c->sorted.v), str_compare);
    return true;
}

static bool is_differing(const struct copying *c, const char *path)
{
    return c->sorted.n &&
           bsearch(&path, c->sorted.v, c->sorted.n, sizeof(*c->sorted.v), str_compare);
}

/* Leaves names that git would refuse to write to git, which reports them. */
static bool is_usual(const char *path)
{
    for (const char *name = path;; name++) {
        size_t len = strcspn(name, "/");
        if (len == 0 || (len == 1 && *name == '.') || (len == 2 && memcmp(name, "..", 2) == 0) ||
            (len == 4 && strncasecmp(name, ".git", 4) == 0))
            return false;
        name += len;
        if (!*name)
            return true;
    }
}

/* An attributes file that we cannot read, or that is not the wanted one, may contain anything. */
static bool is_harmless_attributes(struct copying *c, struct copier *h,
                                   const struct git_index_entry *e)
{
    return S_ISREG(e->mode) && read_object(h, c->from, e->path, e->mode, e->id, c->index.id_len) &&
           verbatim_attributes(h->object.s + h->content, h->object.len - h->content);
}

static void add_entry(struct copying *c, struct copier *h, const struct git_index_entry *e)
{
    bool fit = git_index_is_plain(e) && is_usual(e->path) && !is_differing(c, e->path);
    if (git_index_is_attributes(e->path) && !c->ask)
        c->ask = !fit || !is_harmless_attributes(c, h, e);
    c->all = c->all && fit;
    if (!fit)
        return;
    struct item item = {.entry = c->entries.len, .mode = work_file_mode(e->mode)};
    git_index_add_blank(&c->entries, e, c->index.id_len);
    vec_push(&c->items, item);
}

/* True if the attributes in the other index are not the wanted ones. */
static bool has_other_attributes(const struct copying *c)
{
    for (size_t i = 0; i < c->sorted.n; i++) {
        if (git_index_is_attributes(c->sorted.v[i]))
            return true;
    }
    return false;
}

static bool add_entries(struct copying *c)
{
    own_cleanup(copier_done) struct copier h = COPIER_INIT;
    c->all = c->sorted.n == 0;
    for (struct git_index_entry e; git_index_next(&c->index, &e);)
        add_entry(c, &h, &e);
    return c->index.good;
}

/* Marks the files that git would not write as they are. */
static bool mark_converted(struct copying *c)
{
    struct git_place at = workspace_place(c->job->to);
    autobuf struct buf paths = BUF_INIT;
    autofree bool *verbatim = mem_array(c->items.n, sizeof(*verbatim));
    for (size_t i = 0; i < c->items.n; i++) {
        const char *path = get_item_path(c, &c->items.v[i]);
        buf_add(&paths, path, strlen(path) + 1);
    }
    at.index = c->job->index;
    if (!verbatim_ask(&at, &paths, c->items.n, verbatim))
        return false;
    for (size_t i = 0; i < c->items.n; i++)
        c->items.v[i].converted = !verbatim[i];
    return true;
}

static bool open_folders(struct copying *c)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
    c->from = open(c->job->from, flags);
    c->to = open(c->job->to->path, flags);
    return c->from >= 0 && c->to >= 0;
}

/* Checks at the end that nobody has changed the index in the meantime: git and we must have read
 * the same one. */
static bool read_source(struct copying *c)
{
    struct stat before, after;
    return open_folders(c) && stat(c->job->index, &before) == 0 &&
           git_index_open(&c->index, c->job->index, c->job->id_len, NULL) == 0 && c->index.good &&
           find_differing(c) && !has_other_attributes(c) && add_entries(c) &&
           (!c->ask || mark_converted(c)) && stat(c->job->index, &after) == 0 &&
           git_index_is_same(&before, &after);
}

/* Entries are sorted, so we open each folder only once. */
static bool make_folders(struct copying *c)
{
    autoworkfolder struct work_folder folder = WORK_FOLDER_INIT(c->to);
    const char *name;
    for (size_t i = 0; i < c->items.n; i++) {
        if (work_folder_enter(&folder, get_item_path(c, &c->items.v[i]), true, &name) < 0)
            return false;
    }
    return true;
}

/* Opens the folder of a path in both trees. */
static bool enter_folder(const struct copying *c, struct copier *h, const char *path, size_t len)
{
    if (h->to >= 0 && h->folder.len == len && memcmp(h->folder.s, path, len) == 0)
        return h->from >= 0;
    buf_cut(&h->folder, 0);
    buf_add(&h->folder, path, len);
    own_close(&h->from);
    own_close(&h->to);
    h->from = beneath_at(c->from, h->folder.s);
    h->to = beneath_at(c->to, h->folder.s);
    return h->from >= 0 && h->to >= 0;
}

static void copy_item(struct copying *c, struct copier *h, struct item *item)
{
    const char *path = get_item_path(c, item), *name = str_last_part(path);
    unsigned char *entry = (unsigned char *)c->entries.s + item->entry;
    struct stat st;
    if (item->converted || !enter_folder(c, h, path, (size_t)(name - path)) ||
        !read_object(h, h->from, name, item->mode, entry + GIT_INDEX_ID, c->index.id_len))
        return;
    if (work_file_write(h->to, name, item->mode, h->object.s + h->content,
                        h->object.len - h->content, &st, NULL)) {
        atomic_store(&c->stop, true);
        return;
    }
    git_index_set_stat(entry, &st);
    item->copied = true;
}

static void copy_chunk(void *ctx, size_t k)
{
    struct copying *c = ctx;
    own_cleanup(copier_done) struct copier h = COPIER_INIT;
    size_t end = (k + 1) * CHUNK < c->items.n ? (k + 1) * CHUNK : c->items.n;
    for (size_t i = k * CHUNK; i < end && !atomic_load(&c->stop); i++)
        copy_item(c, &h, &c->items.v[i]);
}

/* Appends the entries of the copied files; returns their number. */
static size_t add_copied(struct copying *c, struct buf *ret)
{
    size_t n = 0;
    for (size_t i = 0; i < c->items.n; i++) {
        size_t start = c->items.v[i].entry;
        size_t end = i + 1 < c->items.n ? c->items.v[i + 1].entry : c->entries.len;
        if (c->items.v[i].copied) {
            buf_add(ret, c->entries.s + start, end - start);
            n++;
        }
    }
    return n;
}

/* git distrusts a file that is not older than the index and would read it each time. So we date
 * the index one tick later; the file system's clock advances every few milliseconds. */
static void date_index(const char *path)
{
    const struct timespec pause = {.tv_nsec = 1000 * 1000};
    struct stat st;
    if (stat(path, &st) < 0)
        return;
    const struct timespec written = st.st_mtim;
    for (int i = 0; i < TICKS_MAX && !clock_is_later(&st.st_mtim, &written); i++) {
        (void)nanosleep(&pause, NULL);
        if (utimensat(AT_FDCWD, path, NULL, 0) < 0 || stat(path, &st) < 0)
            return;
    }
}

/* If all entries of the other index were copied, we also keep its cached trees. */
static int write_index(struct copying *c, const char *path, bool *ret_whole, struct err *err)
{
    autobuf struct buf kept = BUF_INIT;
    const char *trees = NULL;
    size_t len = 0, n = add_copied(c, &kept);
    bool whole = c->all && n == c->items.n && git_index_root(&c->index) &&
                 git_index_extension(&c->index, "TREE", &trees, &len);
    if (n == 0)
        return 0;
    if (git_index_write(path, &kept, n, whole ? trees : NULL, whole ? len : 0, c->index.id_len,
                        err))
        return -1;
    date_index(path);
    *ret_whole = whole;
    return 0;
}

int copy_fill(const struct copy_fill *job, bool *ret_whole, struct err *err)
{
    struct git_place at = workspace_place(job->to);
    own_cleanup(copying_done) struct copying c = {.job = job,
                                                  .differing = BUF_INIT,
                                                  .entries = BUF_INIT,
                                                  .index = {.bytes = BUF_INIT, .name = BUF_INIT},
                                                  .from = -1,
                                                  .to = -1};
    autofree char *path = mem_printf("%s/index", job->to->admin);
    *ret_whole = false;
    if (access(path, F_OK) == 0 || !verbatim_settings(&at, &c.ask) || !read_source(&c) ||
        !make_folders(&c))
        return 0;
    parallel_for_by(THREADS_MAX, (c.items.n + CHUNK - 1) / CHUNK, copy_chunk, &c);
    return write_index(&c, path, ret_whole, err);
}

/* We hash each file, which with SHA-256 takes longer than git needs for everything. */
static bool is_worth_it(const char *index, const char *commit)
{
    enum { SHA1_DIGITS = 40 };
    struct stat st;
    return strlen(commit) == SHA1_DIGITS && stat(index, &st) == 0 &&
           st.st_size > WORKSPACE_LARGE_INDEX;
}

/* Finds the base tree of the commit, or else the user's work tree, which is at that commit or near
 * it. */
static void find_tree(const struct git_repo *repo, const char *commit, char **ret_from,
                      char **ret_index)
{
    autofree char *tree = mem_printf("%s/anabranch/pristine/%s", repo->common, commit);
    autofree char *index = mem_printf("%s/index", tree);
    autofree char *below = mem_printf("%s/below", tree); /* a delta does not have all files */
    bool there = access(index, R_OK) == 0 && access(below, F_OK) < 0;
    *ret_from = there ? mem_printf("%s/tree", tree) : mem_str(repo->root);
    *ret_index = there ? steal_ptr(index) : mem_printf("%s/index", repo->git_dir);
}

void copy_fill_command(const struct git_repo *repo, const struct workspace *ws, const char *commit,
                       struct strv *argv, struct strv *env)
{
    autofree char *from = NULL, *index = NULL;
    find_tree(repo, commit, &from, &index);
    if (!self_path() || !repo->core.verbatim || !is_worth_it(index, commit)) {
        workspace_fill(ws, argv, env);
        return;
    }
    strv_pushl(argv, self_path(), "__fill", ws->common, ws->admin, ".", from, index, NULL);
    strv_pushf(argv, "%zu", strlen(commit));
    git_environment(env);
}
