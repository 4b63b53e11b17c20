#include "run/checkout/base_lock.h"

#include "base/mem.h"
#include "git/dead_lock.h"
#include "run/checkout/checkout_lock.h"
#include "run/checkout/checkout_move.h"
#include "sys/fs/dirs.h"
#include "sys/own_fd.h"
#include "sys/time_limits.h"

#include <sys/stat.h>
#include <unistd.h>

int base_lock_take(struct base_lock *turn, const char *state_dir, struct err *err)
{
    autofree char *path = mem_printf("%s/turn", state_dir);
    return dirs_try_lock(path, &turn->fd, err);
}

int base_lock_await(struct base_lock *turn, const char *state_dir,
                    void (*waiting)(const char *whom), struct err *err)
{
    autofree char *path = mem_printf("%s/turn", state_dir);
    return dirs_await_lock(path, "another run or converge that is landing", waiting, &turn->fd,
                           err);
}

void base_lock_done(struct base_lock *turn)
{
    own_close(&turn->fd);
}

/* Reads the time of the mark. Returns false if there is none. The mark is a byte that we do not
 * write: that needs no disk space. */
static bool read_mark_time(const struct base_lock *turn, struct timespec *ret_since)
{
    struct stat st;
    bool marked = turn->fd >= 0 && fstat(turn->fd, &st) == 0 && st.st_size > 0;
    if (marked)
        *ret_since = st.st_mtim;
    return marked;
}

static bool is_older_than(const char *path, const struct timespec *since)
{
    struct stat st;
    return lstat(path, &st) < 0 || st.st_mtim.tv_sec < since->tv_sec ||
           (st.st_mtim.tv_sec == since->tv_sec && st.st_mtim.tv_nsec < since->tv_nsec);
}

void base_lock_clear(const struct base_lock *turn, const struct git_repo *repo, const char *ref)
{
    struct timespec since;
    if (!read_mark_time(turn, &since))
        return;
    bool here = checkout_move_is_here(repo, ref);
    autofree char *base = mem_printf("%s/%s.lock", repo->common, ref);
    bool ours = checkout_lock_is_left(repo->git_dir); /* checkout_note_mend() handles it */
    autofree char *index = here && !ours ? mem_printf("%s/index.lock", repo->git_dir) : NULL;
    autofree char *head = here ? mem_printf("%s/HEAD.lock", repo->git_dir) : NULL;
    autofree char *last = here ? mem_printf("%s/ORIG_HEAD.lock", repo->git_dir) : NULL;
    const char *const locks[] = {base, index, head, last};
    for (size_t i = 0; i < ARRAY_LEN(locks); i++) {
        if (locks[i] && !is_older_than(locks[i], &since))
            /* a lock that stays is reported as another git's */
            (void)dead_lock_remove(repo->common, locks[i], 0, time_limit(DEAD_LOCK_WAIT_MS));
    }
}

int base_lock_mark(struct base_lock *turn, struct err *err)
{
    struct timespec since;
    turn->marked = turn->fd >= 0 && !read_mark_time(turn, &since);
    return turn->marked && ftruncate(turn->fd, 1) < 0 ? err_sys(err, "mark the base lock") : 0;
}

/* The mark of an earlier holder stays until the base has moved: its locks may still be in the
 * way. If we cannot remove a mark, the next holder looks for locks in vain. */
void base_lock_unmark(struct base_lock *turn, bool moved)
{
    if (turn->fd >= 0 && (moved || turn->marked) && ftruncate(turn->fd, 0) < 0)
        return;
    turn->marked = false;
}

void base_lock_leave(struct base_lock *turn)
{
    base_lock_unmark(turn, false);
    own_close(&turn->fd);
}
