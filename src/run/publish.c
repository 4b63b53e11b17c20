/*
 * The base branch: it follows the tip, and the tip takes in what others put on it. Where the branch
 * is checked out, only a fast-forward by git itself moves it, which refuses rather than touch a
 * file that the user has changed.
 */
#include "run/run_private.h"

#include "base/mem.h"
#include "data/merge.h"
#include "sys/dirs.h"
#include "sys/file.h"
#include "sys/proc.h"

#include <string.h>

enum { TRIES = 5 };

static int set_tip(struct run *run, const char *commit, struct err *err)
{
    struct git_place at = run_place(run);
    bool moved;
    if (git_move_ref(&at, run->tip_ref, run->tip, commit, "anabranch: follow the base", &moved,
                     err))
        return -1;
    if (!moved)
        return err_set(err, ERR_ENV, "'%s' was moved by someone else", run->tip_ref);
    free(run->tip);
    run->tip = mem_str(commit);
    return 0;
}

static void set_published(struct run *run, const char *commit)
{
    free(run->published);
    run->published = mem_str(commit);
}

/* Both sides went on: their merge is the new tip. A conflict stays for the person at the end. */
static int join(struct run *run, const char *theirs, struct err *err)
{
    struct git_place at = run_place(run);
    automerge struct merge_result m = MERGE_RESULT_INIT;
    autobuf struct buf commit = BUF_INIT;
    at.work_tree = run->pf->repo.root;
    if (merge_trees(&at, theirs, run->tip, &m, err))
        return -1;
    if (!m.clean)
        return 0;
    const char *const parents[] = {theirs, run->tip, NULL};
    autofree char *message =
        mem_printf("Merge anabranch run %s\n\nAnabranch-Run: %s\n", run->id, run->id);
    if (git_commit_tree(&at, m.tree.s, parents, message, &commit, err))
        return -1;
    set_published(run, theirs);
    return set_tip(run, commit.s, err);
}

int publish_follow(struct run *run, struct err *err)
{
    struct git_place at = run_place(run);
    autobuf struct buf now = BUF_INIT;
    bool ours, theirs;
    if (git_resolve(&at, run->base_ref, &now, err))
        return err->code == ERR_INPUT ? 0 : -1; /* someone removed it: nothing to follow */
    if (strcmp(now.s, run->published) == 0)
        return 0;
    if (git_is_ancestor(&at, now.s, run->tip, &theirs, err) ||
        git_is_ancestor(&at, run->tip, now.s, &ours, err))
        return -1;
    if (!theirs && !ours)
        return join(run, now.s, err);
    set_published(run, now.s);
    return ours ? set_tip(run, now.s, err) : 0;
}

/* --- the user's checkout ------------------------------------------------------------------ */

/* Whether the work tree that the run was started in has the base checked out, by its own HEAD: the
 * usual case, and no process is needed to see it. */
static bool is_checked_out_here(const struct run *run)
{
    autofree char *path = mem_printf("%s/HEAD", run->pf->repo.git_dir);
    autofree char *expected = mem_printf("ref: %s\n", run->base_ref);
    autobuf struct buf head = BUF_INIT;
    return file_read(path, 4096, &head, NULL) == 0 && strcmp(head.s, expected) == 0;
}

/* The work tree in which the base branch is checked out, if any: "worktree PATH", "branch REF"
 * lines, each entry with an empty one behind it. The first is the main one, of which git only
 * guesses where it is. */
static int find_checkout(struct run *run, struct buf *ret_path, struct err *err)
{
    struct git_place at = run_place(run);
    const struct git_repo *repo = &run->pf->repo;
    bool in_main = strcmp(repo->git_dir, repo->common) == 0;
    autobuf struct buf out = BUF_INIT;
    if (is_checked_out_here(run)) {
        buf_addstr(ret_path, repo->root);
        return 0;
    }
    if (git_call(&at, &out, err, "worktree", "list", "--porcelain", "-z", NULL))
        return -1;
    const char *path = NULL, *first = out.s + 9;
    for (const char *s = out.s; s < out.s + out.len; s += strlen(s) + 1) {
        if (strncmp(s, "worktree ", 9) == 0)
            path = s + 9;
        else if (path && strncmp(s, "branch ", 7) == 0 && strcmp(s + 7, run->base_ref) == 0)
            buf_addstr(ret_path, path == first && in_main ? repo->root : path);
    }
    return 0;
}

static int fast_forward(struct run *run, const char *path, bool *ret_moved, struct err *err)
{
    const struct git_repo *repo = &run->pf->repo;
    autostrv struct strv argv = {0}, env = {0};
    autobuf struct buf out = BUF_INIT, errout = BUF_INIT;
    int status;
    strv_pushl(&argv, "git", "-C", path, "-c", "core.fsmonitor=false", "-c",
               "core.hooksPath=/dev/null", "-c", "gc.auto=0", "-c", "maintenance.auto=false",
               "merge", "--quiet", "--ff-only", "--no-overwrite-ignore", "--no-stat",
               "--no-verify-signatures", "--no-autostash", run->tip, NULL);
    git_environment(&env);
    if (strcmp(path, repo->root) == 0) { /* with core.worktree nothing in it says so */
        strv_pushf(&env, "GIT_DIR=%s", repo->git_dir);
        strv_pushf(&env, "GIT_WORK_TREE=%s", repo->root);
    }
    if (proc_capture(argv.v, env.v, 1 << 20, &out, &errout, &status, err))
        return -1;
    *ret_moved = status == 0;
    free(run->refusal);
    run->refusal = status == 0 ? NULL : buf_steal(&errout);
    return 0;
}

/* Moves the base to the tip, if it may; *ret_again where someone else moved it meanwhile. */
static int move_base(struct run *run, bool *ret_again, struct err *err)
{
    struct git_place at = run_place(run);
    autobuf struct buf path = BUF_INIT, before = BUF_INIT, after = BUF_INIT;
    struct err none = {0};
    bool moved;
    *ret_again = false;
    if (publish_follow(run, err))
        return -1;
    if (strcmp(run->tip, run->published) == 0)
        return 0;
    (void)git_resolve(&at, run->base_ref, &before, &none);
    if (find_checkout(run, &path, err))
        return -1;
    if (path.len ? fast_forward(run, path.s, &moved, err)
                 : git_move_ref(&at, run->base_ref, run->published, run->tip, "anabranch: land",
                                &moved, err))
        return -1;
    (void)git_resolve(&at, run->base_ref, &after, &none);
    *ret_again = !moved && strcmp(before.s, after.s) != 0;
    if (moved)
        set_published(run, run->tip);
    return 0;
}

/* Runs that land on one base take turns; who else moves it is followed. */
int publish(struct run *run, struct err *err)
{
    autofree char *turn = mem_printf("%s/turn", run->state_dir);
    autoclose int fd = -1;
    bool again = true;
    if (dirs_lock(turn, &fd, err))
        return -1;
    for (int tries = 0; again && tries < TRIES; tries++) {
        if (move_base(run, &again, err))
            return -1;
    }
    return 0;
}

int publish_finish(struct run *run, struct err *err)
{
    struct git_place at = run_place(run);
    autobuf struct buf base = BUF_INIT;
    struct err none = {0};
    bool moved;
    if (publish(run, err))
        return -1;
    if (strcmp(run->tip, run->published) == 0)
        return git_move_ref(&at, run->tip_ref, run->tip, "", "anabranch: done", &moved, err);
    autofree char *ref = mem_printf("refs/heads/anabranch/%s/result", run->id);
    if (git_move_ref(&at, ref, "", run->tip, "anabranch: result", &moved, err) ||
        git_move_ref(&at, run->tip_ref, run->tip, "", "anabranch: done", &moved, err))
        return -1;
    run->result = mem_printf("anabranch/%s/result", run->id);
    run->advice = git_resolve(&at, run->base_ref, &base, &none)
                      ? mem_printf("git branch %s %s", run->base, run->result)
                      : mem_printf("git switch %s && git merge %s", run->base, run->result);
    return 0;
}
