#include "workspace/reset.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text/str.h"
#include "base/vec.h"
#include "git/batch.h"
#include "git/format/index.h"
#include "git/format/tree.h"
#include "git/tree/index_edit.h"
#include "sys/fs/beneath.h"
#include "sys/own_fd.h"
#include "workspace/write_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum {
    BYTES_MAX = 4 << 20, /* written here while everybody waits */
    NAMES_MAX = 256,     /* deleted likewise */
    DEPTH_MAX = 16,
};

struct mend {
    const struct workspace_reset_job *job;
    struct git_index index;
    size_t bytes, names;
    VEC(struct index_change) changes;
};

static void mend_done(struct mend *m)
{
    for (size_t i = 0; i < m->changes.n; i++) {
        free((char *)m->changes.v[i].path);
        free((char *)m->changes.v[i].id);
    }
    vec_done(&m->changes);
    git_index_done(&m->index);
}

/* --- deleting ----------------------------------------------------------------------------- */

static bool remove_path(struct mend *m, int folder, const char *name, int depth);

static bool remove_names(struct mend *m, DIR *dir, int depth)
{
    for (struct dirent *e; errno = 0, (e = readdir(dir));) {
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
            !remove_path(m, dirfd(dir), e->d_name, depth + 1))
            return false;
    }
    return errno == 0;
}

static bool remove_folder(struct mend *m, int folder, const char *name, int depth)
{
    int fd = depth < DEPTH_MAX ? beneath_enter(folder, name) : -1;
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (fd >= 0 && !dir)
        (void)close(fd);
    bool good = dir && remove_names(m, dir, depth);
    if (dir)
        (void)closedir(dir);
    return good && unlinkat(folder, name, AT_REMOVEDIR) == 0;
}

/* A file, or a folder with what is in it, which is not much. */
static bool remove_path(struct mend *m, int folder, const char *name, int depth)
{
    if (++m->names > NAMES_MAX)
        return false;
    if (unlinkat(folder, name, 0) == 0 || errno == ENOENT)
        return true;
    return (errno == EISDIR || errno == EPERM) && remove_folder(m, folder, name, depth);
}

static bool remove_untracked(struct mend *m, struct work_folder *root, const struct strv *untracked)
{
    bool good = true;
    for (size_t i = 0; good && i < untracked->n; i++) {
        size_t len = strlen(untracked->v[i]);
        autofree char *path =
            mem_dup(untracked->v[i], untracked->v[i][len - 1] == '/' ? len - 1 : len);
        const char *name;
        int folder = work_folder_enter(root, path, false, &name);
        good = folder >= 0 && remove_path(m, folder, name, 0);
    }
    return good;
}

/* --- writing ------------------------------------------------------------------------------ */

static bool restore(struct mend *m, struct work_folder *root, const struct git_index_entry *e)
{
    const char *name;
    int folder = work_folder_enter(root, e->path, false, &name);
    autobuf struct buf id = BUF_INIT, content = BUF_INIT;
    struct index_change c = {.mode = e->mode};
    struct err none = {0};
    m->bytes += e->size;
    tree_id(&id, e->id, m->index.id_len);
    if (m->bytes > BYTES_MAX || git_batch_read(m->job->batch, id.s, &content, &none) ||
        folder < 0 || !remove_path(m, folder, name, 0) ||
        work_file_write(folder, name, work_file_mode(e->mode), content.s, content.len, &c.st,
                        &none))
        return false;
    c.path = mem_str(e->path);
    c.id = buf_steal(&id);
    vec_push(&m->changes, c);
    return true;
}

/* Each of those that changed is an entry, or a folder, which is none. */
static bool restore_all(struct mend *m, struct work_folder *root, const char *const *changed,
                        size_t n)
{
    struct git_index index = m->index;
    size_t next = 0;
    bool good = true;
    index.name = (struct buf)BUF_INIT;
    for (struct git_index_entry e; good && next < n && git_index_next(&index, &e);) {
        if (strcmp(changed[next], e.path) != 0)
            continue;
        good = restore(m, root, &e);
        next++;
    }
    buf_done(&index.name);
    return good && next == n;
}

static bool restore_changed(struct mend *m, struct work_folder *root, const struct strv *changed)
{
    autofree const char **sorted = mem_array(changed->n + 1, sizeof(*sorted));
    for (size_t i = 0; i < changed->n; i++)
        sorted[i] = changed->v[i];
    qsort(sorted, changed->n, sizeof(*sorted), str_compare);
    return restore_all(m, root, sorted, changed->n);
}

bool workspace_reset(const struct workspace_reset_job *job, const struct work_scan *scan)
{
    own_cleanup(mend_done) struct mend m = {.job = job};
    struct err none = {0};
    bool done = false;
    if (git_index_open(&m.index, job->index, job->id_len, &none) || !m.index.good)
        return false;
    autoclose int root = open(job->work_tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    autoworkfolder struct work_folder folder = WORK_FOLDER_INIT(root);
    return root >= 0 && remove_untracked(&m, &folder, &scan->untracked) &&
           restore_changed(&m, &folder, &scan->changed) &&
           index_edit(&m.index, m.changes.v, m.changes.n, NULL, job->to, &done, &none) == 0 && done;
}
