#include "workspace/fill/memory_fill.h"

#include "base/mem.h"
#include "git/format/hash.h"
#include "git/format/index.h"
#include "sys/fs/file.h"
#include "sys/own_fd.h"
#include "workspace/workspace_hold.h"
#include "workspace/write_file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES_MAX = 128, BYTES_MAX = 1 << 20, VERSION = 2 };

void memory_fill_done(struct memory_fill *m)
{
    buf_done(&m->index);
    buf_done(&m->contents);
    buf_done(&m->paths);
    vec_done(&m->files);
}

static bool read_content(struct memory_fill *m, int folder, const char *name, const struct stat *st)
{
    size_t start = m->contents.len, room = BYTES_MAX - start;
    if (st->st_size < 0 || (uintmax_t)st->st_size > room)
        return false;
    if (S_ISLNK(st->st_mode))
        return file_read_link(folder, name, &m->contents) == 0 &&
               m->contents.len - start == (size_t)st->st_size;
    autoclose int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    return fd >= 0 && file_read_open(fd, name, room, &m->contents, NULL) == 0;
}

static bool add_file(struct memory_fill *m, struct work_folder *root,
                     const struct git_index_entry *e)
{
    const char *name;
    int folder = work_folder_enter(root, e->path, false, &name);
    struct memory_fill_file file = {.start = m->contents.len,
                                    .entry =
                                        (size_t)((const char *)e->id - m->index.s) - GIT_INDEX_ID};
    struct stat st;
    if (e->unmerged || e->intended || e->unseen || m->files.n == FILES_MAX || folder < 0 ||
        fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !git_index_fits(e, &st) ||
        !(S_ISREG(st.st_mode) || S_ISLNK(st.st_mode)) || !read_content(m, folder, name, &st))
        return false;
    file.mode = st.st_mode;
    file.len = m->contents.len - file.start;
    vec_push(&m->files, file);
    buf_add(&m->paths, e->path, strlen(e->path) + 1);
    return true;
}

/* True if only the cached trees and the checksum follow the entries: other extensions would
 * describe one particular work tree. */
static bool has_only_trees(const struct git_index *index)
{
    const char *start;
    size_t len;
    if (!git_index_extension(index, "TREE", &start, &len))
        return index->at == index->end;
    return start + len == (const char *)index->end &&
           start - 8 == (const char *)index->at; /* its name and size are before it */
}

/* Moves the bytes of the index into `m`, so that the entries point into them. */
static bool add_files(struct memory_fill *m, const char *path, struct git_index *index)
{
    autoclose int root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    autoworkfolder struct work_folder folder = WORK_FOLDER_INIT(root);
    bool good = root >= 0 && index->good && index->version == VERSION;
    buf_done(&m->index);
    m->index = index->bytes;
    index->bytes = (struct buf)BUF_INIT;
    for (struct git_index_entry e; good && git_index_next(index, &e);)
        good = add_file(m, &folder, &e);
    return good && index->good && m->files.n && has_only_trees(index);
}

static void set_paths(struct memory_fill *m)
{
    const char *path = m->paths.s;
    for (size_t i = 0; i < m->files.n; i++, path += strlen(path) + 1)
        m->files.v[i].path = path;
}

bool memory_fill_take(struct memory_fill *m, const struct workspace *ws, size_t id_len)
{
    autofree char *path = mem_printf("%s/index", ws->admin);
    autogitindex struct git_index index;
    struct stat st;
    *m = (struct memory_fill)MOULD_INIT;
    m->id_len = id_len;
    index = (struct git_index){.bytes = BUF_INIT, .name = BUF_INIT};
    if (stat(path, &st) == 0 && st.st_size <= BYTES_MAX &&
        git_index_open(&index, path, id_len, NULL) == 0 && add_files(m, workspace_at(ws), &index)) {
        set_paths(m);
        return true;
    }
    memory_fill_done(m);
    return false;
}

/* Writes the files, and their stat data into the index. */
static int write_files(const struct memory_fill *m, const char *path, struct buf *index,
                       struct err *err)
{
    autoclose int root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return err_sys(err, "open '%s'", path);
    autoworkfolder struct work_folder folder = WORK_FOLDER_INIT(root);
    for (size_t i = 0; i < m->files.n; i++) {
        const struct memory_fill_file *f = &m->files.v[i];
        const char *content = m->contents.s + f->start, *name;
        struct stat st;
        int fd = work_folder_enter(&folder, f->path, true, &name);
        if (fd < 0)
            return err_sys(err, "make the folder of '%s'", f->path);
        if (work_file_write(fd, name, f->mode, content, f->len, &st, err))
            return -1;
        git_index_set_stat((unsigned char *)index->s + f->entry, &st);
    }
    return 0;
}

int memory_fill_fill(const struct memory_fill *m, const struct workspace *ws, struct err *err)
{
    autobuf struct buf index = BUF_INIT;
    autofree char *path = mem_printf("%s/index", ws->admin);
    buf_add(&index, m->index.s, m->index.len - m->id_len / 2); /* less its checksum */
    if (write_files(m, workspace_at(ws), &index, err))
        return -1;
    git_hash_add(&index, index.s, index.len, m->id_len);
    return file_create(path, index.s, index.len, err);
}
