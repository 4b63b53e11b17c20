#include "run/checkout/checkout_warning.h"

#include "run/checkout/base_use.h"
#include "run/checkout/checkout_move.h"
#include "run/state/record.h"
#include "run/state/run_state.h"
#include "run/watch/watch_private.h"

#include <string.h>

enum { SHOWN = 5 };

static bool may_change(const struct run *run, const char *path)
{
    for (uint32_t t = 0; t < run->pf->plan.task_count; t++) {
        bool wanted = !run->opts.wanted || run->opts.wanted[t];
        if (wanted && !run->pf->plan.tasks[t].read_only && claims_allow(&run->pf->claims, t, path))
            return true;
    }
    return false;
}

static bool is_here(const struct run *run, const char *path)
{
    return strcmp(path, run->pf->repo.root) == 0;
}

/* Lists the files in the checkout at `path` whose content differs from HEAD, each ending with a
 * NUL. If all stat data is as in the index, git need not read the files. */
static int list_dirty(const struct run *run, const char *path, struct buf *out, struct err *err)
{
    autofree char *git_dir = checkout_move_git_dir(&run->pf->repo, path, err);
    struct git_place at = {.git_dir = git_dir, .work_tree = path};
    autobuf struct buf status = BUF_INIT;
    if (!git_dir)
        return -1;
    if (is_here(run, path) && !run->repo_watch->checkout.changed.n)
        return git_call(&at, out, err, "diff-index", "--cached", "--name-only", "-z",
                        "--no-renames", "--ignore-submodules=all", "HEAD", NULL);
    if (git_call(&at, &status, err, "-C", at.work_tree, "status", "--porcelain", "-z",
                 "--no-renames", "--untracked-files=no", "--ignore-submodules=all", NULL))
        return -1;
    for (const char *s = status.s; s < status.s + status.len; s += strlen(s) + 1) {
        if (strlen(s) > 3) /* "XY PATH" */
            buf_add(out, s + 3, strlen(s + 3) + 1);
    }
    return 0;
}

static void warn_dirty(struct run *run, const char *path, const struct buf *paths)
{
    autobuf struct buf names = BUF_INIT;
    autofree char *elsewhere = is_here(run, path) ? NULL : mem_printf("in '%s'", path);
    struct err why = {0};
    size_t n = 0;
    for (const char *s = paths->s; s < paths->s + paths->len; s += strlen(s) + 1) {
        if (!may_change(run, s))
            continue;
        if (n < SHOWN)
            buf_addf(&names, "%s%s", n ? ", " : "", s);
        n++;
    }
    if (n > SHOWN)
        buf_addf(&names, " and %zu more", n - SHOWN);
    if (n && err_set(&why, ERR_ENV,
                     "%s is checked out %s with uncommitted changes: %s. Work on these files "
                     "cannot land there and stays on a branch: commit or stash the changes "
                     "first",
                     run->base.name, elsewhere ? elsewhere : "here", names.s))
        record_error(run, -1, &why);
}

static void look_for_changes(struct run *run)
{
    autobuf struct buf path = BUF_INIT, paths = BUF_INIT;
    struct err err = {0};
    if (checkout_move_find(run, run->base.ref, &path, &err) ||
        (path.len && list_dirty(run, path.s, &paths, &err)))
        record_error(run, -1, &err);
    else if (path.len)
        warn_dirty(run, path.s, &paths);
}

void checkout_warning(struct run *run)
{
    struct err err = {0}, why = {0};
    bool used;
    if (!run->base.name || run->work.only_reads)
        return;
    if (base_use_look(run, &used, &err)) {
        record_error(run, -1, &err);
    } else if (used) {
        (void)err_set(&why, ERR_ENV, "nothing can land on %s yet: %.*s", run->base.name,
                      (int)strcspn(run->base.refusal, "\n"), run->base.refusal);
        record_error(run, -1, &why);
    } else if (run->repo_watch->has_checkout) {
        look_for_changes(run);
    }
}
