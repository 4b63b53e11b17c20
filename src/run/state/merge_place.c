#include "run/state/merge_place.h"

#include "base/mem.h"
#include "base/text/shell_quote.h"
#include "run/checkout/checkout_move.h"

#include <string.h>

void merge_place_find(struct merge_place *p, const struct git_repo *repo)
{
    if (!p->base || !repo->common)
        return;
    struct git_place at = {.git_dir = repo->common};
    autofree char *ref = mem_printf("refs/heads/%s", p->base);
    autobuf struct buf commit = BUF_INIT, path = BUF_INIT;
    p->gone = git_resolve(&at, ref, &commit, NULL);
    if (checkout_move_place(repo, ref, &path, NULL) == 0 && path.len &&
        (!repo->root || strcmp(path.s, repo->root) != 0))
        p->elsewhere = buf_steal(&path);
}

void merge_place_done(struct merge_place *p)
{
    free(p->elsewhere);
    *p = (struct merge_place){0};
}

void merge_place_add(const struct merge_place *p, const char *branch, struct buf *out)
{
    if (p->elsewhere) {
        shell_quote(out, "git -C", p->elsewhere, "merge", branch, NULL);
        return;
    }
    if (p->base) {
        shell_quote(out, "git switch", p->base, NULL);
        buf_addstr(out, " && ");
    }
    shell_quote(out, "git merge", branch, NULL);
}

void merge_place_add_result(const struct merge_place *p, const char *branch, struct buf *out)
{
    if (p->base && p->gone)
        shell_quote(out, "git branch", p->base, branch, NULL);
    else
        merge_place_add(p, branch, out);
}
