#include "workspace/fill/submodules.h"

#include "base/mem.h"
#include "git/format/gitlinks.h"
#include "sys/fs/file.h"
#include "sys/own_dir.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* The clone may be configured with a work tree that no longer exists; any folder will do. */
static struct git_place place_of(const char *git_dir)
{
    return (struct git_place){.git_dir = git_dir, .work_tree = git_dir};
}

/* The commit at HEAD if it is on no remote; else empty. */
static int find_new(const char *git_dir, struct buf *ret, struct err *err)
{
    struct git_place at = place_of(git_dir);
    at.foreign = true;
    autobuf struct buf head = BUF_INIT, out = BUF_INIT;
    if (git_resolve(&at, "HEAD", &head, NULL)) /* nothing was ever checked out */
        return 0;
    if (git_call(&at, &out, err, "rev-list", "-n", "1", head.s, "--not", "--remotes", "--tags",
                 NULL))
        return -1;
    if (out.len)
        buf_add(ret, head.s, head.len);
    return 0;
}

/* `name` is the clone's path below the worktree's administrative folder and, if the user has that
 * clone, below the repository's. git enters the work tree of a clone even to read its objects, and
 * the agent may have deleted it. So we name another work tree, which git does not read. */
static int save_clone(const struct workspace *ws, const char *name, struct err *err)
{
    autofree char *from = mem_printf("%s/%s", ws->admin, name);
    autofree char *own = mem_printf("%s/%s", ws->common, name);
    struct git_place to = place_of(file_resolves_in(own, "HEAD") ? own : ws->common);
    autobuf struct buf head = BUF_INIT;
    if (find_new(from, &head, err))
        return -1;
    autofree char *ref =
        mem_printf("HEAD:refs/anabranch/modules/%s/%s", strrchr(ws->admin, '/') + 1, head.s);
    return head.len
               ? git_call(&to, NULL, err, "fetch", "--quiet", "--force", "--no-tags",
                          "--no-write-fetch-head", "--no-recurse-submodules",
                          "--upload-pack=GIT_ALLOW_PROTOCOL=none GIT_WORK_TREE=/ git-upload-pack",
                          "--update-shallow", from, ref, NULL)
               : 0;
}

/* Adds the subfolders of `name`: a submodule's name may contain slashes. */
static int add_subfolders(const struct workspace *ws, const char *name, struct strv *left,
                          struct err *err)
{
    autofree char *path = mem_printf("%s/%s", ws->admin, name);
    autodir DIR *dir = opendir(path);
    if (!dir)
        return errno == ENOENT ? 0 : err_sys(err, "read '%s'", path);
    for (struct dirent *e; (e = dir_next(dir));) {
        if (e->d_type == DT_DIR)
            strv_pushf(left, "%s/%s", name, e->d_name);
    }
    return 0;
}

/* Everything is staged, so only changes inside submodules can still differ. */
static int check_committed(const struct workspace *ws, const char *index, struct err *err)
{
    struct git_place at = {
        .git_dir = ws->admin, .common = ws->common, .work_tree = ws->path, .index = index};
    autostrv struct strv changed = {0};
    if (gitlinks_changed(&at, 0, false, &changed, err))
        return -1;
    return changed.n
               ? err_set(err, ERR_INPUT, "the submodule '%s' has uncommitted changes", changed.v[0])
               : 0;
}

int submodules_save(const struct workspace *ws, const char *index, struct err *err)
{
    autostrv struct strv names = {0};
    if (!file_resolves_in(ws->admin, "modules"))
        return 0;
    if (check_committed(ws, index, err))
        return -1;
    strv_push(&names, "modules");
    for (size_t i = 0; i < names.n; i++) { /* the list grows in the loop */
        autofree char *name = mem_str(names.v[i]), *path = mem_printf("%s/%s", ws->admin, name);
        autofree char *below = mem_printf("%s/modules", name);
        bool is_clone = file_resolves_in(path, "HEAD");
        if (is_clone && save_clone(ws, name, err))
            return err_wrap(err, "save '%s'", name);
        if (add_subfolders(ws, is_clone ? below : name, &names, err))
            return -1;
    }
    return 0;
}
