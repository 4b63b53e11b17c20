#include "git/checkout/work_trees.h"

#include "base/mem.h"
#include "base/text/str.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct search {
    struct work_trees *found;
    const char *ours;
};

void work_trees_done(struct work_trees *w)
{
    strv_done(&w->folders);
    strv_done(&w->git_dirs);
}

static void add_work_tree(struct work_trees *w, const char *dot_git, const char *git_dir)
{
    static const char end[] = "/.git";
    size_t len = strlen(dot_git) - (str_ends(dot_git, end) ? strlen(end) : 0);
    autofree char *folder = mem_dup(dot_git, len ? len : 1);
    autofree char *real = realpath(folder, NULL);
    strv_push(&w->folders, real ? real : folder);
    strv_push(&w->git_dirs, git_dir);
}

/* The file gitdir of a worktree holds the path of its ".git". */
static int add_linked(void *ctx, const char *dir, const char *name, struct err *err)
{
    const struct search *s = ctx;
    autofree char *git_dir = mem_printf("%s/%s", dir, name);
    autofree char *path = mem_printf("%s/gitdir", git_dir);
    autobuf struct buf text = BUF_INIT;
    (void)err;
    if (s->ours && str_begins(name, s->ours))
        return 0;
    if (file_read_own(path, PATH_MAX, &text, NULL) == 0 && text.len && text.s[0] == '/') {
        text.s[strcspn(text.s, "\n")] = '\0';
        add_work_tree(s->found, text.s, git_dir);
    }
    return 0;
}

int work_trees_find(struct work_trees *w, const char *common, const char *ours, struct err *err)
{
    autofree char *worktrees = mem_printf("%s/worktrees", common);
    add_work_tree(w, common, common);
    return dirs_each(worktrees, add_linked, &(struct search){w, ours}, err);
}
