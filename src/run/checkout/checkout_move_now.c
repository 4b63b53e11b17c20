#include "run/checkout/checkout_move_now.h"

#include "base/mem.h"
#include "git/checkout/branch_use.h"
#include "run/checkout/checkout_lock.h"
#include "run/checkout/checkout_move.h"
#include "run/checkout/repair/checkout_take_back.h"
#include "sys/clock.h"
#include "sys/interrupt.h"
#include "sys/proc/capture.h"
#include "sys/time_limits.h"

#include <string.h>
#include <time.h>

enum { LOCK_MS = 10000, PAUSE_MS = 20, OUTPUT_MAX = 1 << 20 };

static int take_lock_or_time_out(struct checkout_lock *l, const char *git_dir, const char *path,
                                 const char *aside, struct err *err)
{
    const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000 * 1000};
    int64_t deadline = clock_mono() + time_limit(LOCK_MS);
    bool taken;
    int rc = checkout_lock_take(l, git_dir, path, aside, &taken, err);
    while (rc == 0 && !taken && !interrupt_signal() && clock_mono() < deadline) {
        (void)nanosleep(&pause, NULL);
        rc = checkout_lock_take(l, git_dir, path, aside, &taken, err);
    }
    return rc;
}

int checkout_move_now_lock(struct checkout_lock *l, const struct git_repo *repo, const char *path,
                           const char *ref, bool has_ref, bool *ret_ready, struct buf *words,
                           struct err *err)
{
    autofree char *git_dir = checkout_move_git_dir(repo, path, err);
    autofree char *aside = checkout_move_aside(repo);
    *ret_ready = false;
    if (!git_dir || take_lock_or_time_out(l, git_dir, path, aside, err))
        return -1;
    if (!l->lock) {
        buf_addf(words, "fatal: Unable to create '%s/index.lock': File exists.\n", git_dir);
        return 0;
    }
    if (branch_is_checked_out(git_dir, ref) == has_ref)
        (void)checkout_lock_await_quiet(l);
    *ret_ready = branch_is_checked_out(git_dir, ref) == has_ref; /* a switch may just have ended */
    return 0;
}

/* Installs the index that git wrote, and moves the branch. */
static int install_move(const struct checkout_lock *l, const struct git_place *at,
                        const struct forward_move *move, bool *ret_moved, struct err *err)
{
    autobuf struct buf now = BUF_INIT;
    if (git_resolve(at, move->ref, &now, err))
        return -1;
    if (strcmp(now.s, move->from) !=
        0) /* the user may have committed, and their index may have that */
        return 0;
    if (checkout_lock_install(l, err) ||
        git_move_ref(at, move->ref, move->from, move->to, move->why, ret_moved, err))
        return -1;
    (void)checkout_lock_await_quiet(l);
    return 0;
}

int checkout_move_now(const struct checkout_lock *l, const struct git_place *at,
                      const struct forward_move *move, const struct strv *env, struct buf *words,
                      int *ret_status, bool *ret_moved, struct err *err)
{
    struct git_place place = {.batch = at->batch, .git_dir = l->git_dir, .common = at->common};
    autostrv struct strv argv = {0};
    *ret_moved = false;
    checkout_move_command(l->root, l->git_dir, move->to, &argv);
    if (proc_capture(argv.v, env->v, OUTPUT_MAX, NULL, words, ret_status, err))
        return -1;
    if (*ret_status)
        return 0;
    if (branch_is_checked_out(l->git_dir, move->ref) &&
        install_move(l, &place, move, ret_moved, err))
        return -1;
    return branch_is_checked_out(l->git_dir, move->ref)
               ? 0
               : checkout_take_back(l, at->common, move->from, move->to, err);
}
