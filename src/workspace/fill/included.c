#include "workspace/fill/included.h"

#include "base/mem.h"
#include "sys/fs/file.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

int included_open(struct included *b, const char *file, const char *root, struct err *err)
{
    *b = (struct included){.root = root, .text = BUF_INIT};
    struct err why = {0};
    if (file && file_read(file, FILE_LARGE, &b->text, &why))
        return why.errnum == ENOENT ? 0 : err_set(err, why.code, "%s", why.msg);
    for (const char *p = b->text.s; p < b->text.s + b->text.len; p += strlen(p) + 1) {
        size_t len = strlen(p);
        (void)map_put(&b->paths, p, p[len - 1] == '/' ? len - 1 : len, b);
    }
    return 0;
}

void included_close(struct included *b)
{
    map_done(&b->paths);
    buf_done(&b->text);
}

static bool is_in_checkout(const struct included *b, const char *path)
{
    autofree char *full = mem_printf("%s/%s", b->root, path);
    return file_exists(full);
}

bool included_has(const struct included *b, const char *path)
{
    if (map_get(&b->paths, path, strlen(path)))
        return true;
    for (const char *s = strchr(path, '/'); s; s = strchr(s + 1, '/')) {
        if (map_get(&b->paths, path, (size_t)(s - path)))
            return is_in_checkout(b, path);
    }
    return false;
}
