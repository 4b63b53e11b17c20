#include "run/checkout/base_use.h"

#include "base/mem.h"
#include "git/checkout/branch_use.h"
#include "git/checkout/switching_git.h"
#include "run/checkout/checkout_move.h"
#include "run/state/run_state.h"
#include "sys/clock.h"

#include <string.h>

/* The work tree of a git folder, as far as the folder's name tells. */
static char *describe_work_tree(const struct git_repo *repo, const char *git_dir)
{
    static const char end[] = "/.git";
    size_t len = strlen(git_dir);
    if (strcmp(git_dir, repo->git_dir) == 0)
        return mem_str(repo->root);
    return len > strlen(end) && strcmp(git_dir + len - strlen(end), end) == 0
               ? mem_dup(git_dir, len - strlen(end))
               : mem_str(git_dir);
}

int base_use_words(const struct git_repo *repo, const char *ref, const char *ours, char **ret_words,
                   struct err *err)
{
    const char *operation;
    autofree char *git_dir = NULL;
    if (branch_use_find(repo->common, ref, ours, &operation, &git_dir, err))
        return -1;
    *ret_words = NULL;
    if (!operation)
        return 0;
    autofree char *place = describe_work_tree(repo, git_dir);
    *ret_words = mem_printf("%s of '%s' is in progress in '%s': finish or abort it first\n",
                            operation, ref + strlen("refs/heads/"), place);
    return 0;
}

int base_use_git_words(const struct git_repo *repo, const char *ref, const char *ours,
                       const char *path, char **ret_words, struct err *err)
{
    const char *command;
    if (switching_git_find(repo, ref, path, ours, &command, err))
        return -1;
    *ret_words = command ? mem_printf("a 'git %s' that uses '%s' has not ended\n", command,
                                      ref + strlen("refs/heads/"))
                         : NULL;
    return 0;
}

int base_use_may_undo(struct run *run, bool *ret_yes, struct err *err)
{
    struct git_place at = run_place(run);
    autofree char *origin = NULL;
    struct err none = {0};
    bool has = false;
    *ret_yes = false;
    if (branch_use_origin(run->pf->repo.common, run->base.ref, run->id, &origin, err))
        return -1;
    *ret_yes = origin && (git_is_ancestor(&at, run->base.tip, origin, &has, &none) || !has);
    return 0;
}

static void refuse_if_used(struct run *run, char *message, bool *ret_used)
{
    free(run->base.refusal);
    run->base.refusal = message;
    *ret_used = message != NULL;
}

int base_use_look(struct run *run, bool *ret_used, struct err *err)
{
    char *message;
    if (base_use_words(&run->pf->repo, run->base.ref, run->id, &message, err))
        return -1;
    refuse_if_used(run, message, ret_used);
    return 0;
}

static int find_git(struct run *run, const char *path, bool *ret_used, struct err *err)
{
    char *message;
    if (base_use_git_words(&run->pf->repo, run->base.ref, run->id, path, &message, err))
        return -1;
    refuse_if_used(run, message, ret_used);
    return 0;
}

static bool has_waited_for_gits(const struct run *run)
{
    return clock_mono() >= run->publisher.publication.git_wait_until;
}

static bool has_nothing_to_move(const struct run *run)
{
    return strcmp(run->base.tip, run->base.published) == 0;
}

int base_use_look_first(struct run *run, struct buf *path, bool *ret_used, struct err *err)
{
    if (base_use_look(run, ret_used, err))
        return -1;
    if (*ret_used)
        return 0;
    if (checkout_move_find(run, run->base.ref, path, err))
        return -1;
    return has_nothing_to_move(run) || !has_waited_for_gits(run)
               ? 0
               : find_git(run, path->len ? path->s : NULL, ret_used, err);
}

int base_use_look_again(struct run *run, const char *path, bool *ret_used, struct err *err)
{
    bool quiet = path ? !has_waited_for_gits(run) : has_nothing_to_move(run);
    if (base_use_look(run, ret_used, err))
        return -1;
    return *ret_used || quiet ? 0 : find_git(run, path, ret_used, err);
}
