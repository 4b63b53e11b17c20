#include "workspace/overlay/snapshot_fill.h"

#include "base/mem.h"
#include "base/own.h"
#include "sys/own_fd.h"
#include "workspace/folder_record.h"
#include "workspace/workspace_hold.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Until the snapshot is in place it is in a folder of its own, which the record knows before there
 * is a snapshot. */
static char *get_pending_folder(const struct workspace *ws)
{
    const char *name = strrchr(ws->path, '/') + 1;
    return mem_printf("%.*s.%s.snapshot", (int)(name - ws->path), ws->path, name);
}

static char *get_pending_path(const struct workspace *ws)
{
    autofree char *folder = get_pending_folder(ws);
    return mem_printf("%s/tree", folder);
}

/* rename() cannot move a file into a snapshot, so we write the `.git` link again. */
static int write_link(const struct workspace *ws, int tree, struct err *err)
{
    autofree char *text = mem_printf("gitdir: %s\n", ws->admin);
    autoclose int fd =
        openat(tree, ".git", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    return fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text)
               ? err_sys(err, "create '%s/.git'", ws->path)
               : 0;
}

/* The folder loses its `.git` only here, right before the snapshot takes its place. */
static int put_in_place(struct workspace *ws, const char *tree, const struct file_id *id,
                        struct err *err)
{
    autofree char *folder = get_pending_folder(ws);
    if (unlinkat(ws->hold->tree, ".git", 0) < 0)
        return err_sys(err, "make '%s'", ws->path);
    return workspace_replace(ws, tree, id, err) || folder_record_drop(ws->common, folder, true, err)
               ? -1
               : 0;
}

int snapshot_begin(const struct workspace *ws, const struct base_tree *p, struct strv *ret_paths,
                   struct err *err)
{
    autofree char *from = base_tree_tree(p), *tree = get_pending_path(ws);
    autofree char *folder = get_pending_folder(ws);
    if (folder_record_make(ws->common, folder, RECORD_COPY, 0700, err))
        return -1;
    strv_pushl(ret_paths, from, tree, NULL);
    return 0;
}

int snapshot_finish(struct workspace *ws, const struct base_tree *p, struct err *err)
{
    autofree char *tree = get_pending_path(ws), *index = mem_printf("%s/index", ws->admin);
    autoclose int fd = -1, admin = -1;
    struct file_id id;
    if (beneath_folder(tree, &fd, err) || workspace_open_admin(ws, &admin, err))
        return -1;
    if (file_id_of(fd, &id) < 0)
        return err_sys(err, "look at '%s'", tree);
    return write_link(ws, fd, err) || base_tree_copy_index(p, index, err) ||
                   put_in_place(ws, tree, &id, err)
               ? -1
               : 0;
}

void snapshot_undo(struct workspace *ws)
{
    autofree char *folder = get_pending_folder(ws);
    (void)workspace_drop(ws, "index", NULL);
    (void)folder_record_drop(ws->common, folder, true, NULL);
    if (workspace_make_tree(ws, NULL) == 0 && workspace_hold_admin(ws, ws->admin, NULL) == 0 &&
        faccessat(ws->hold->tree, ".git", F_OK, AT_SYMLINK_NOFOLLOW) < 0 &&
        write_link(ws, ws->hold->tree, NULL) == 0)
        (void)workspace_note(ws, NULL);
}
