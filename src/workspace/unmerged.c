#include "workspace/unmerged.h"

#include "base/mem.h"
#include "base/own.h"
#include "git/format/index.h"
#include "sys/fs/file.h"
#include "sys/own_fd.h"
#include "workspace/workspace_hold.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum { FILE_MAX = 64 << 20 };

static bool has_line(const struct buf *text, const char *prefix)
{
    size_t len = strlen(prefix);
    for (const char *s = text->s; s; s = strchr(s, '\n')) {
        s += *s == '\n';
        if (strncmp(s, prefix, len) == 0)
            return true;
    }
    return false;
}

static bool has_markers(const struct workspace *ws, const char *name)
{
    autobuf struct buf text = BUF_INIT;
    autoclose int root = open(workspace_at(ws), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    autoclose int fd = root >= 0 ? beneath_open(root, name, O_RDONLY | O_NONBLOCK, 0) : -1;
    struct stat st;
    return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
           file_read_open(fd, name, FILE_MAX, &text, NULL) == 0 && has_line(&text, "<<<<<<< ") &&
           has_line(&text, ">>>>>>> ");
}

void unmerged_find(const struct workspace *ws, size_t id_len, struct strv *ret)
{
    autofree char *path = mem_printf("%s/index", ws->admin);
    autogitindex struct git_index index;
    bool opened = git_index_open(&index, path, id_len, NULL) == 0;
    for (struct git_index_entry e; opened && git_index_next(&index, &e);) {
        bool listed =
            ret->n && strcmp(ret->v[ret->n - 1], e.path) == 0; /* up to three entries per path */
        if (e.unmerged && !listed && has_markers(ws, e.path))
            strv_push(ret, e.path);
    }
}
