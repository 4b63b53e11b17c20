#include "run/base_turn.h"

#include "base/mem.h"
#include "run/forward.h"
#include "sys/dirs.h"
#include "sys/procs.h"

#include <sys/stat.h>
#include <unistd.h>

int base_turn_take(struct run *run, struct err *err)
{
    autofree char *path = mem_printf("%s/turn", run->state_dir);
    return dirs_try_lock(path, &run->publication.turn, err);
}

/* Since when it is marked; false where it is not. A byte that is not written needs no room. */
static bool is_marked(const struct run *run, struct timespec *ret_since)
{
    struct stat st;
    int turn = run->publication.turn;
    bool marked = turn >= 0 && fstat(turn, &st) == 0 && st.st_size > 0;
    if (marked)
        *ret_since = st.st_mtim;
    return marked;
}

static bool is_older(const char *path, const struct timespec *since)
{
    struct stat st;
    return lstat(path, &st) < 0 || st.st_mtim.tv_sec < since->tv_sec ||
           (st.st_mtim.tv_sec == since->tv_sec && st.st_mtim.tv_nsec < since->tv_nsec);
}

void base_turn_clear(const struct run *run)
{
    const struct git_repo *repo = &run->pf->repo;
    struct timespec since;
    if (!is_marked(run, &since))
        return;
    bool here = forward_is_here(run, run->base_ref);
    autofree char *base = mem_printf("%s/%s.lock", repo->common, run->base_ref);
    autofree char *index = here ? mem_printf("%s/index.lock", repo->git_dir) : NULL;
    autofree char *head = here ? mem_printf("%s/HEAD.lock", repo->git_dir) : NULL;
    const char *const locks[] = {base, index, head};
    for (size_t i = 0; i < sizeof(locks) / sizeof(locks[0]); i++) {
        if (locks[i] && !is_older(locks[i], &since) &&
            !procs_program_in("git", repo->root, "ANABRANCH_RUN"))
            (void)unlink(locks[i]); /* else it is told as another's */
    }
}

int base_turn_mark(struct run *run, struct err *err)
{
    struct publication *p = &run->publication;
    struct timespec since;
    p->marked_turn = p->turn >= 0 && !is_marked(run, &since);
    return p->marked_turn && ftruncate(p->turn, 1) < 0 ? err_sys(err, "mark the turn") : 0;
}

/* A mark of the one before stays until the base has moved: its locks may still be in the way. Where
 * it cannot be taken away, who comes next looks for locks in vain. */
void base_turn_unmark(struct run *run, bool moved)
{
    struct publication *p = &run->publication;
    if (p->turn >= 0 && (moved || p->marked_turn) && ftruncate(p->turn, 0) < 0)
        return;
    p->marked_turn = false;
}

void base_turn_leave(struct run *run)
{
    base_turn_unmark(run, false);
    own_close(&run->publication.turn);
}
