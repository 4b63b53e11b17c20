#include "git/dead_lock.h"

#include "base/mem.h"
#include "base/strv.h"
#include "git/checkout/work_trees.h"
#include "sys/clock.h"
#include "sys/guard/proc_table.h"
#include "sys/time_limits.h"

#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MIN_AGE_MS = 1000, PAUSE_MS = 20 };

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static bool is_since(const struct stat *st, int64_t since)
{
    return (int64_t)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000 >= since;
}

static bool has_live_process(const struct proc_table *gits)
{
    for (size_t i = 0; i < gits->all.n; i++) {
        if (proc_table_lives(&gits->all.v[i]))
            return true;
    }
    return false;
}

/* Waits until the lock is dead. Returns false if it is not, or has been replaced. */
static bool wait_until_dead(const char *path, const struct stat *lock,
                            const struct proc_table *gits, int64_t wait)
{
    const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000 * 1000};
    int64_t begin = clock_mono();
    struct stat now;
    while (lstat(path, &now) == 0 && is_same_file(&now, lock)) {
        int64_t age = clock_mono() - begin;
        bool dead = age >= MIN_AGE_MS && !has_live_process(gits);
        if (dead || (age >= MIN_AGE_MS && age >= wait))
            return dead;
        (void)nanosleep(&pause, NULL);
    }
    return false;
}

bool dead_lock_remove(const char *common, const char *path, int64_t since, int64_t wait)
{
    autoworktrees struct work_trees trees = {0};
    autoprocs struct proc_table gits = {0};
    struct stat lock, now;
    if (lstat(path, &lock) < 0)
        return true;
    if (!S_ISREG(lock.st_mode) || !is_since(&lock, since))
        return false;
    strv_push(&trees.folders, common);
    (void)work_trees_find(&trees, common, NULL, NULL);
    if (!proc_table_programs_in(&gits, "git", &trees.folders, "ANABRANCH_RUN"))
        return false;
    if (wait_until_dead(path, &lock, &gits, wait))
        return unlink(path) == 0;
    return lstat(path, &now) < 0 || !is_same_file(&now, &lock);
}

void dead_lock_remove_shared(const char *common, int64_t since, struct strv *ret_removed)
{
    static const char *const names[] = {"packed-refs", "config", "shallow"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        autofree char *path = mem_printf("%s/%s.lock", common, names[i]);
        struct stat st;
        bool there = lstat(path, &st) == 0;
        if (there && dead_lock_remove(common, path, since, time_limit(DEAD_LOCK_WAIT_MS)) &&
            ret_removed)
            strv_push(ret_removed, path);
    }
}
