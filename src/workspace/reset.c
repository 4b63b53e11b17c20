#include "workspace/reset.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/text/str.h"
#include "base/vec.h"
#include "git/batch.h"
#include "git/format/index.h"
#include "git/format/tree.h"
#include "git/tree/index_edit.h"
#include "sys/fs/beneath.h"
#include "sys/own_dir.h"
#include "workspace/write_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum {
    BYTES_MAX = 4 << 20, /* we write these while the whole run waits */
    NAMES_MAX = 256,     /* we delete these while the whole run waits */
    DEPTH_MAX = 16,
};

struct reset {
    const struct workspace_reset_job *job;
    struct git_index index;
    size_t bytes, names;
    VEC(struct index_change) changes;
    struct arena arena; /* of their paths and ids */
};

static void reset_done(struct reset *r)
{
    vec_done(&r->changes);
    arena_done(&r->arena);
    git_index_done(&r->index);
}

static bool remove_path(struct reset *r, int folder, const char *name, int depth);

static bool remove_names(struct reset *r, DIR *dir, int depth)
{
    for (struct dirent *e; errno = 0, (e = dir_next(dir));) {
        if (!remove_path(r, dirfd(dir), e->d_name, depth + 1))
            return false;
    }
    return errno == 0;
}

static bool remove_folder(struct reset *r, int folder, const char *name, int depth)
{
    autodir DIR *dir = dir_take(depth < DEPTH_MAX ? beneath_enter(folder, name) : -1);
    return dir && remove_names(r, dir, depth) && unlinkat(folder, name, AT_REMOVEDIR) == 0;
}

/* Removes a file, or a folder and its contents. */
static bool remove_path(struct reset *r, int folder, const char *name, int depth)
{
    if (++r->names > NAMES_MAX)
        return false;
    if (unlinkat(folder, name, 0) == 0 || errno == ENOENT)
        return true;
    return (errno == EISDIR || errno == EPERM) && remove_folder(r, folder, name, depth);
}

static bool remove_untracked(struct reset *r, struct work_folder *root,
                             const struct strv *untracked)
{
    bool good = true;
    for (size_t i = 0; good && i < untracked->n; i++) {
        size_t len = strlen(untracked->v[i]);
        autofree char *path =
            mem_dup(untracked->v[i], untracked->v[i][len - 1] == '/' ? len - 1 : len);
        const char *name;
        int folder = work_folder_enter(root, path, false, &name);
        good = folder >= 0 && remove_path(r, folder, name, 0);
    }
    return good;
}

static bool restore_file(struct reset *r, struct work_folder *root, const struct git_index_entry *e)
{
    const char *name;
    int folder = work_folder_enter(root, e->path, false, &name);
    autobuf struct buf id = BUF_INIT, content = BUF_INIT;
    struct index_change c = {.mode = e->mode};
    r->bytes += e->size;
    tree_id(&id, e->id, r->index.id_len);
    if (r->bytes > BYTES_MAX || git_batch_read(r->job->batch, id.s, &content, NULL) || folder < 0 ||
        !remove_path(r, folder, name, 0) ||
        work_file_write(folder, name, work_file_mode(e->mode), content.s, content.len, &c.st, NULL))
        return false;
    c.path = arena_str(&r->arena, e->path);
    c.id = arena_str(&r->arena, id.s);
    vec_push(&r->changes, c);
    return true;
}

/* Each changed path must be an entry of the index; we cannot restore a folder. */
static bool restore_all(struct reset *r, struct work_folder *root, const char *const *changed,
                        size_t n)
{
    struct git_index index = r->index;
    size_t next = 0;
    bool good = true;
    index.name = (struct buf)BUF_INIT;
    for (struct git_index_entry e; good && next < n && git_index_next(&index, &e);) {
        if (strcmp(changed[next], e.path) != 0)
            continue;
        good = restore_file(r, root, &e);
        next++;
    }
    buf_done(&index.name);
    return good && next == n;
}

static bool restore_changed(struct reset *r, struct work_folder *root, const struct strv *changed)
{
    autofree const char **sorted = mem_array(changed->n + 1, sizeof(*sorted));
    for (size_t i = 0; i < changed->n; i++)
        sorted[i] = changed->v[i];
    qsort(sorted, changed->n, sizeof(*sorted), str_compare);
    return restore_all(r, root, sorted, changed->n);
}

bool workspace_reset(const struct workspace_reset_job *job, const struct work_scan *scan)
{
    own_cleanup(reset_done) struct reset r = {.job = job};
    bool done = false;
    if (git_index_open(&r.index, job->index, job->id_len, NULL) || !r.index.good)
        return false;
    autoclose int root = open(job->work_tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    autoworkfolder struct work_folder folder = WORK_FOLDER_INIT(root);
    return root >= 0 && remove_untracked(&r, &folder, &scan->untracked) &&
           restore_changed(&r, &folder, &scan->changed) &&
           index_edit(&r.index, r.changes.v, r.changes.n, NULL, job->to, &done, NULL) == 0 && done;
}
