#include "sys/fs/path_target.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text/str.h"
#include "sys/fs/file.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINKS_MAX = 40 }; /* the same as the kernel's limit */

static void drop_last(struct buf *path)
{
    while (path->len && path->s[path->len - 1] != '/')
        buf_cut(path, path->len - 1);
    if (path->len)
        buf_cut(path, path->len - 1);
}

/* Replaces the link at the end of `path` by its target, in front of the rest. False if we cannot
 * read it. */
static bool follow_link(struct buf *path, char **rest)
{
    autobuf struct buf target = BUF_INIT;
    if (file_read_link(AT_FDCWD, path->s, &target))
        return false;
    autofree char *old = *rest;
    *rest = mem_printf("%s/%s", target.s, old);
    if (*target.s == '/')
        buf_cut(path, 0);
    else
        drop_last(path);
    return true;
}

char *path_target(const char *path)
{
    autobuf struct buf done = BUF_INIT;
    autofree char *rest = mem_str(path);
    int links = 0;
    while (*rest) {
        size_t len = strcspn(rest, "/"), used = len + (rest[len] == '/');
        autofree char *name = mem_dup(rest, len);
        memmove(rest, rest + used, strlen(rest + used) + 1);
        if (strcmp(name, "..") == 0)
            drop_last(&done);
        if (!*name || str_is_dots(name))
            continue;
        buf_addf(&done, "/%s", name);
        if (file_is_link(done.s) && (++links > LINKS_MAX || !follow_link(&done, &rest)))
            return NULL;
    }
    return done.len ? buf_steal(&done) : mem_str("/");
}
