#include "data/snapshot.h"

#include "base/mem.h"
#include "sys/dirs.h"
#include "sys/file.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* As long as it is on its way it is called what is to be deleted is. */
static char *unplaced(const struct workspace *ws)
{
    return mem_printf("%s.gone", ws->path);
}

/* A file cannot be moved into a snapshot: the link to the other half is written again. */
static int write_link(const struct workspace *ws, const char *tree, struct err *err)
{
    autofree char *path = mem_printf("%s/.git", tree);
    autofree char *text = mem_printf("gitdir: %s\n", ws->admin);
    return file_create(path, text, strlen(text), err);
}

/* The folder is only ever without its `.git` where the snapshot is about to take its place. */
static int put_in_place(const struct workspace *ws, const char *tree, struct err *err)
{
    autofree char *link = mem_printf("%s/.git", ws->path);
    return unlink(link) < 0 || rmdir(ws->path) < 0 || rename(tree, ws->path) < 0
               ? err_sys(err, "make '%s'", ws->path)
               : 0;
}

int snapshot_begin(const struct workspace *ws, const struct pristine *p, struct strv *ret_paths,
                   struct err *err)
{
    autofree char *from = pristine_tree(p), *tree = unplaced(ws);
    if (dirs_remove(tree, err))
        return -1;
    strv_pushl(ret_paths, from, tree, NULL);
    return 0;
}

int snapshot_finish(const struct workspace *ws, const struct pristine *p, struct err *err)
{
    autofree char *tree = unplaced(ws), *index = mem_printf("%s/index", ws->admin);
    return write_link(ws, tree, err) || pristine_copy_index(p, index, err) ||
                   put_in_place(ws, tree, err)
               ? -1
               : 0;
}

void snapshot_undo(const struct workspace *ws)
{
    autofree char *tree = unplaced(ws), *index = mem_printf("%s/index", ws->admin);
    autofree char *link = mem_printf("%s/.git", ws->path);
    struct err none = {0};
    (void)unlink(index);
    (void)dirs_remove(tree, &none);
    if (dirs_make(ws->path, &none) == 0 && access(link, F_OK) < 0)
        (void)write_link(ws, ws->path, &none);
}
