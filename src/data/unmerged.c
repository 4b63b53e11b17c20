#include "data/unmerged.h"

#include "base/mem.h"
#include "data/git_index.h"
#include "sys/file.h"

#include <string.h>

enum { FILE_MAX = 64 << 20 };

static bool has_line(const struct buf *text, const char *beginning)
{
    size_t len = strlen(beginning);
    for (const char *s = text->s; s; s = strchr(s, '\n')) {
        s += *s == '\n';
        if (strncmp(s, beginning, len) == 0)
            return true;
    }
    return false;
}

static bool has_markers(const struct workspace *ws, const char *name)
{
    autofree char *path = mem_printf("%s/%s", ws->path, name);
    autobuf struct buf text = BUF_INIT;
    return file_read_own(path, FILE_MAX, &text, NULL) == 0 && has_line(&text, "<<<<<<< ") &&
           has_line(&text, ">>>>>>> ");
}

void unmerged_find(const struct workspace *ws, size_t id_len, struct strv *ret)
{
    autofree char *path = mem_printf("%s/index", ws->admin);
    autogitindex struct git_index index;
    bool opened = git_index_open(&index, path, id_len, NULL) == 0;
    for (struct git_index_entry e; opened && git_index_next(&index, &e);) {
        bool known = ret->n && strcmp(ret->v[ret->n - 1], e.path) == 0; /* it has up to three */
        if (e.unmerged && !known && has_markers(ws, e.path))
            strv_push(ret, e.path);
    }
}
