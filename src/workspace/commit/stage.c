#include "workspace/commit/stage.h"

#include "base/arena.h"
#include "base/mem.h"
#include "base/vec.h"
#include "git/batch.h"
#include "git/format/ignore.h"
#include "git/format/loose_object.h"
#include "git/tree/index_edit.h"
#include "git/tree/tree_diff.h"
#include "git/tree/tree_edit.h"
#include "sys/fs/beneath.h"
#include "sys/fs/file.h"
#include "sys/own_dir.h"
#include "workspace/workspace_hold.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PATTERNS_MAX = 1 << 20,
    DEPTH_MAX = 64,
    LINK = 0120000,
    PLAIN = 0100644,
    EXECUTABLE = 0100755,
};

struct stage {
    const struct stage_job *job;
    size_t id_len; /* in digits */
    int root;      /* the work tree, open */
    struct ignore ignore;
    size_t common;       /* number of patterns that do not come from a folder */
    char *folder;        /* the folder whose patterns we read last, with the slash, or NULL */
    bool folder_ignored; /* it is ignored, or in an ignored folder */
    size_t bytes;
    struct work_scan own; /* our own scan, if the caller had none */
    VEC(struct index_change) changes;
    struct arena arena; /* of their paths and ids */
};

static void stage_done(struct stage *s)
{
    vec_done(&s->changes);
    arena_done(&s->arena);
    work_scan_close(&s->own);
    ignore_done(&s->ignore);
    own_close(&s->root);
    free(s->folder);
}

/* Opens the folder of a path. Nobody can redirect us with a symlink. */
static int open_folder(const struct stage *s, const char *path, const char **ret_name)
{
    return beneath_parent(s->root, path, ret_name);
}

static bool stat_path(const struct stage *s, const char *path, struct stat *ret)
{
    const char *name;
    autoclose int folder = open_folder(s, path, &name);
    return folder >= 0 && fstatat(folder, name, ret, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Adds the patterns in a file; a missing file has none. */
static bool add_patterns_at(struct stage *s, int folder, const char *name, size_t base, int flags)
{
    autobuf struct buf text = BUF_INIT;
    autoclose int fd = openat(folder, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC | flags);
    struct stat st;
    if (fd < 0) /* like git, we do not follow symlinks here */
        return errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
           file_read_open(fd, name, PATTERNS_MAX, &text, NULL) == 0 &&
           ignore_add(&s->ignore, base, text.s, text.len);
}

static bool add_patterns(struct stage *s, const char *path)
{
    return add_patterns_at(s, AT_FDCWD, path, 0, 0);
}

/* Adds the patterns of a folder in the work tree. `path` has a slash at the end. */
static bool add_folder_patterns(struct stage *s, const char *path, size_t len)
{
    autofree char *file = mem_printf("%.*s.gitignore", (int)len, path);
    const char *name;
    autoclose int folder = open_folder(s, file, &name);
    if (folder < 0)
        return errno == ENOENT || errno == ENOTDIR;
    return add_patterns_at(s, folder, name, len, O_NOFOLLOW);
}

static bool read_common(struct stage *s)
{
    const struct stage_job *job = s->job;
    const char *own = job->excludes ? job->excludes : job->core->excludes;
    autofree char *info = mem_printf("%s/info/exclude", job->ws->common);
    bool good = own && add_patterns(s, own) && add_patterns(s, info);
    s->common = ignore_count(&s->ignore);
    return good;
}

/* Reads the patterns of a folder (`path` has a slash at the end) and of all its parents, and
 * records if the folder is ignored. Patterns inside an ignored folder do not count. */
static bool read_patterns_to(struct stage *s, const char *path, size_t len)
{
    if (s->folder && strlen(s->folder) == len && strncmp(s->folder, path, len) == 0)
        return true;
    free(s->folder);
    s->folder = mem_dup(path, len);
    s->folder_ignored = false;
    ignore_cut(&s->ignore, s->common);
    for (size_t at = 0;;) {
        if (!add_folder_patterns(s, path, at))
            return false;
        if (at == len)
            return true;
        at += strcspn(path + at, "/") + 1;
        autofree char *folder = mem_dup(path, at - 1);
        if (ignore_has(&s->ignore, folder, true)) {
            s->folder_ignored = true;
            return true;
        }
    }
}

/* False if we cannot tell. */
static bool is_ignored(struct stage *s, const char *path, bool is_folder, bool *ret)
{
    const char *slash = strrchr(path, '/');
    if (!read_patterns_to(s, path, slash ? (size_t)(slash + 1 - path) : 0))
        return false;
    *ret = s->folder_ignored || ignore_has(&s->ignore, path, is_folder);
    return true;
}

/* True for names that git may refuse or treat specially. */
static bool is_odd(const char *path)
{
    static const char *const fine[] = {".gitignore", ".gitkeep", ".github"};
    if (path[strcspn(path, "\\~:\n")])
        return true;
    for (const char *name = path; name; name = strchr(name, '/')) {
        name += *name == '/';
        size_t len = strcspn(name, "/");
        bool odd = strncasecmp(name, ".git", 4) == 0;
        for (size_t i = 0; i < ARRAY_LEN(fine); i++)
            odd = odd && !(strlen(fine[i]) == len && strncmp(name, fine[i], len) == 0);
        if (odd)
            return true;
    }
    return false;
}

static bool add_change(struct stage *s, const char *path, const char *id, const struct stat *st)
{
    struct index_change c = {.path = arena_str(&s->arena, path),
                             .id = id ? arena_str(&s->arena, id) : NULL};
    if (st) {
        c.mode = S_ISLNK(st->st_mode) ? LINK : st->st_mode & 0100 ? EXECUTABLE : PLAIN;
        c.st = *st;
    }
    vec_push(&s->changes, c);
    return s->changes.n <= STAGE_FILES_MAX;
}

static bool has_room(struct stage *s, const struct stat *st)
{
    if (st->st_size < 0 || (uintmax_t)st->st_size > STAGE_BYTES_MAX - s->bytes)
        return false;
    s->bytes += (size_t)st->st_size;
    return true;
}

/* Reads the content that the object would have. Only for files and symlinks, and only while the
 * total stays small. */
static bool read_content(struct stage *s, const char *path, struct buf *out, struct stat *ret_st)
{
    const char *name;
    autoclose int folder = open_folder(s, path, &name);
    if (folder < 0 || fstatat(folder, name, ret_st, AT_SYMLINK_NOFOLLOW) < 0)
        return false;
    if (S_ISLNK(ret_st->st_mode))
        return has_room(s, ret_st) && file_read_link(folder, name, out) == 0 &&
               out->len == (size_t)ret_st->st_size;
    autoclose int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    return fd >= 0 && fstat(fd, ret_st) == 0 && S_ISREG(ret_st->st_mode) && has_room(s, ret_st) &&
           file_read_exactly(fd, (size_t)ret_st->st_size, out);
}

/* True if the checked-out tree has the same object at the path: then the object exists and will
 * stay. */
static bool is_unchanged(const struct stage *s, const char *path, const char *id)
{
    autobuf struct buf was = BUF_INIT;
    bool found = false;
    return tree_find(s->job->ws->batch, s->job->tree, path, &was, &found, NULL) == 0 && found &&
           strcmp(was.s, id) == 0;
}

static bool add_file(struct stage *s, const char *path, bool tracked)
{
    autobuf struct buf content = BUF_INIT, id = BUF_INIT;
    struct stat st;
    if (!read_content(s, path, &content, &st))
        return false;
    loose_object_id(&id, "blob", &content, s->id_len);
    if (tracked && is_unchanged(s, path, id.s))
        return add_change(s, path, id.s, &st);
    buf_cut(&id, 0);
    /* If this fails, git meets the same error and reports it. */
    return loose_object_write(s->job->ws->common, "blob", &content, s->id_len, &id, NULL) == 0 &&
           add_change(s, path, id.s, &st);
}

static bool add_untracked(struct stage *s, const char *path, int depth);

static bool add_names(struct stage *s, DIR *dir, const char *path, int depth)
{
    for (struct dirent *e; errno = 0, (e = dir_next(dir));) {
        autofree char *below = mem_printf("%s%s", path, e->d_name);
        if (!add_untracked(s, below, depth + 1))
            return false;
    }
    return errno == 0;
}

static bool add_folder(struct stage *s, const char *path, int depth)
{
    autofree char *inside = mem_printf("%s/", path);
    int fd = depth < DEPTH_MAX ? beneath_open(s->root, path, O_RDONLY | O_DIRECTORY, 0) : -1;
    autodir DIR *dir = dir_take(fd);
    return dir && add_names(s, dir, inside, depth);
}

/* Adds an untracked file, or the files of a folder, except ignored ones. */
static bool add_untracked(struct stage *s, const char *path, int depth)
{
    struct stat st;
    bool ignored;
    if (is_odd(path) || !stat_path(s, path, &st) ||
        !is_ignored(s, path, S_ISDIR(st.st_mode), &ignored))
        return false;
    if (ignored && s->job->ignored)
        strv_pushf(s->job->ignored, "%s%s", path, S_ISDIR(st.st_mode) ? "/" : "");
    if (ignored)
        return true;
    return S_ISDIR(st.st_mode) ? add_folder(s, path, depth) : add_file(s, path, false);
}

static bool add_new(struct stage *s, const struct strv *untracked)
{
    for (size_t i = 0; i < untracked->n; i++) {
        autofree char *path = mem_str(untracked->v[i]);
        size_t len = strlen(path);
        if (path[len - 1] == '/')
            path[len - 1] = '\0';
        if (!add_untracked(s, path, 0))
            return false;
    }
    return true;
}

/* A path with a slash at the end is a deleted folder. A folder in the place of a file is new. */
static bool add_changed_path(struct stage *s, const char *path)
{
    bool folder = path[strlen(path) - 1] == '/';
    struct stat st;
    if (folder || !stat_path(s, path, &st))
        return (folder || errno == ENOENT) && add_change(s, path, NULL, NULL);
    if (S_ISDIR(st.st_mode))
        return add_change(s, path, NULL, NULL) && add_untracked(s, path, 0);
    return add_file(s, path, true);
}

static bool add_changed(struct stage *s, const struct strv *changed)
{
    bool good = true;
    for (size_t i = 0; good && i < changed->n; i++)
        good = add_changed_path(s, changed->v[i]);
    return good;
}

static bool scan_tree(struct stage *s, const char *index)
{
    const struct stage_job *job = s->job;
    autofree char *filled = mem_printf("%s/" STAGE_FILLED, job->ws->admin);
    if (access(filled, F_OK) < 0)
        return work_scan_open(&s->own, workspace_at(job->ws), index, job->tree);
    return (file_is_same(index, filled) || work_scan_is_plain(index, job->tree)) &&
           work_scan_open(&s->own, workspace_at(job->ws), filled, job->tree);
}

static bool find_changes(struct stage *s, const char *index)
{
    const struct stage_job *job = s->job;
    const struct work_scan *found = job->scan ? job->scan : &s->own;
    autofree char *attributes = mem_printf("%s/info/attributes", job->ws->common);
    if (!job->core->plain || access(attributes, F_OK) == 0 || (!job->scan && !scan_tree(s, index)))
        return false;
    return found->no_attributes && read_common(s) && add_changed(s, &found->changed) &&
           add_new(s, &found->untracked);
}

static int write_index(const struct stage *s, const char *from, bool *ret_done, struct err *err)
{
    autogitindex struct git_index index;
    if (git_index_open(&index, from, s->id_len, NULL) || !index.good)
        return 0;
    return index_edit(&index, s->changes.v, s->changes.n, NULL, s->job->index, ret_done, err);
}

static int write_staged(const struct stage *s, const char *index, struct buf *ret_tree,
                        bool *ret_done, struct err *err)
{
    const struct stage_job *job = s->job;
    if (job->index)
        return write_index(s, index, ret_done, err);
    return tree_edit(job->ws->batch, job->tree, s->changes.v, s->changes.n, ret_tree, ret_done,
                     err);
}

int stage_plainly(const struct stage_job *job, struct buf *ret_tree, bool *ret_done,
                  struct err *err)
{
    own_cleanup(stage_done) struct stage s = {.job = job, .id_len = strlen(job->tree), .root = -1};
    autofree char *index = mem_printf("%s/index", job->ws->admin);
    *ret_done = false;
    s.root = open(workspace_at(job->ws), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s.root < 0 || !find_changes(&s, index))
        return 0;
    if (s.changes.n)
        qsort(s.changes.v, s.changes.n, sizeof(*s.changes.v), index_change_compare);
    if (write_staged(&s, index, ret_tree, ret_done, err))
        return -1;
    if (*ret_done && job->found && !job->scan) {
        *job->found = s.own;
        s.own = (struct work_scan){0};
    }
    return 0;
}
