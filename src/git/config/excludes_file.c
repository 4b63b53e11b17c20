#include "git/config/excludes_file.h"

#include "base/mem.h"
#include "git/git.h"
#include "sys/fs/file.h"

#include <errno.h>
#include <string.h>

enum { EXCLUDES_MAX = 16 << 20 };

/* Appends the path of the file, or nothing. */
static int find_file(const char *root, struct buf *path, struct err *err)
{
    autofree char *git_dir = mem_printf("%s/.git", root);
    struct git_place at = {.git_dir = git_dir, .work_tree = root};
    autostrv struct strv args = {0};
    const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    int status;
    strv_pushl(&args, "config", "--null", "--type=path", "--get", "core.excludesFile", NULL);
    if (git_try(&at, &args, path, NULL, &status, err))
        return -1;
    if (status == 0 && *path->s && *path->s != '/') { /* relative to the top of the work tree */
        autofree char *name = mem_str(path->s);
        buf_cut(path, 0);
        buf_addf(path, "%s/%s", root, name);
    } else if (status != 0 && xdg && *xdg) {
        buf_addf(path, "%s/git/ignore", xdg);
    } else if (status != 0 && home) {
        buf_addf(path, "%s/.config/git/ignore", home);
    }
    return 0;
}

int excludes_add_own(const char *root, struct buf *out, struct err *err)
{
    autobuf struct buf path = BUF_INIT;
    struct err why = {0};
    if (find_file(root, &path, err))
        return -1;
    if (*path.s && file_read(path.s, EXCLUDES_MAX, out, &why) && why.errnum != ENOENT)
        return err_set(err, why.code, "core.excludesFile: %s", why.msg);
    if (out->len && out->s[out->len - 1] != '\n')
        buf_addch(out, '\n');
    return 0;
}
