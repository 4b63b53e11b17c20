#include "run/checkout/repair/checkout_follow.h"

#include "base/map.h"
#include "git/checkout/branch_use.h"
#include "run/checkout/checkout_lock.h"
#include "run/checkout/checkout_move.h"
#include "sys/proc/capture.h"
#include "workspace/commit/commit.h"

#include <string.h>

enum { OUTPUT_MAX = 1 << 20 };

static void add_names(struct map *names, const struct buf *list, void *value)
{
    for (const char *s = list->s; s < list->s + list->len; s += strlen(s) + 1)
        (void)map_put(names, s, strlen(s), value);
}

int checkout_index_shows_move(const struct git_repo *there, const char *from, const char *to,
                              bool *ret_yes, struct err *err)
{
    struct git_place at = {
        .git_dir = there->git_dir, .common = there->common, .work_tree = there->root};
    autobuf struct buf moved = BUF_INIT, other = BUF_INIT;
    automap struct map differs = {0};
    *ret_yes = false;
    if (commit_paths(&at, from, to, &moved, err) ||
        git_call(&at, &other, err, "diff-index", "--cached", "-z", "--name-only", "--no-renames",
                 "--no-ext-diff", to, "--", NULL))
        return -1;
    add_names(&differs, &other, &differs);
    for (const char *s = moved.s; !*ret_yes && s < moved.s + moved.len; s += strlen(s) + 1)
        *ret_yes = !map_get(&differs, s, strlen(s));
    return 0;
}

int checkout_follow(const struct checkout_lock *l, const struct git_repo *there,
                    const struct forward_move *move, struct err *err)
{
    autostrv struct strv argv = {0}, env = {0};
    autobuf struct buf output = BUF_INIT;
    bool shown = false;
    int status;
    if (!branch_is_checked_out(l->git_dir, move->ref))
        return 0;
    if (checkout_index_shows_move(there, move->from, move->to, &shown, err))
        return -1;
    if (shown)
        return 0;
    git_environment(&env);
    checkout_move_command(l->root, l->git_dir, move->to, &argv);
    if (checkout_lock_prepare(l, there->common, move->from, &env, err) ||
        proc_capture(argv.v, env.v, OUTPUT_MAX, NULL, &output, &status, err))
        return -1;
    return status ? err_set(err, ERR_ENV,
                            "'%s' shows what has landed as deleted: git restore --staged "
                            "--worktree brings it back: %s",
                            l->root, output.s)
                  : checkout_lock_install(l, err);
}
