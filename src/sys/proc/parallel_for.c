#include "sys/proc/parallel_for.h"

#include "base/mem.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

struct work {
    size_t n;
    atomic_size_t next;
    parallel_for_fn *fn;
    void *ctx;
};

static void *work_on(void *arg)
{
    struct work *w = arg;
    for (size_t i; (i = atomic_fetch_add(&w->next, 1)) < w->n;)
        w->fn(w->ctx, i);
    return NULL;
}

#ifdef __linux__
/* A helper thread gets its own descriptor table. With a shared table the kernel counts the users of
 * a descriptor at each system call, which slows down a thread that does little else. If unshare()
 * fails, the thread works all the same. */
static void *run_helper(void *arg)
{
    (void)unshare(CLONE_FILES);
    return work_on(arg);
}
#else
static void *run_helper(void *arg)
{
    return work_on(arg);
}
#endif

/* Number of threads besides the caller's. */
static size_t count_helpers(size_t threads, size_t n)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t wanted = processors > 1 ? (size_t)processors : 1;
    wanted = threads < wanted ? threads : wanted;
    return (n < wanted ? n : wanted) - (n > 0);
}

/* A new thread inherits the blocked signals. We block all of them, so that only the caller's thread
 * gets signals. */
void parallel_for_by(size_t threads_max, size_t n, parallel_for_fn *fn, void *ctx)
{
    struct work w = {.n = n, .fn = fn, .ctx = ctx};
    size_t wanted = count_helpers(threads_max, n), helpers = 0;
    pthread_t *threads = mem_array(wanted, sizeof(*threads));
    sigset_t all, before;
    (void)sigfillset(&all);
    bool blocked = pthread_sigmask(SIG_SETMASK, &all, &before) == 0;
    while (blocked && helpers < wanted &&
           pthread_create(&threads[helpers], NULL, run_helper, &w) == 0)
        helpers++;
    if (blocked)
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)work_on(&w);
    while (helpers)
        (void)pthread_join(threads[--helpers], NULL);
    free(threads);
}

void parallel_for(size_t n, parallel_for_fn *fn, void *ctx)
{
    parallel_for_by(SIZE_MAX, n, fn, ctx);
}
