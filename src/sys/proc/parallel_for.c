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
/* With descriptors of its own, since the kernel need not count then who uses one at the moment,
 * which is felt where little else is done. Without it is fine as well. */
static void *help(void *arg)
{
    (void)unshare(CLONE_FILES);
    return work_on(arg);
}
#else
static void *help(void *arg)
{
    return work_on(arg);
}
#endif

/* Besides the caller's thread. */
static size_t helpers_for(size_t threads, size_t n)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t wanted = processors > 1 ? (size_t)processors : 1;
    wanted = threads < wanted ? threads : wanted;
    return (n < wanted ? n : wanted) - (n > 0);
}

/* A thread begins with the signals blocked that its maker has blocked. */
void parallel_for_by(size_t threads_max, size_t n, parallel_for_fn *fn, void *ctx)
{
    struct work w = {.n = n, .fn = fn, .ctx = ctx};
    size_t wanted = helpers_for(threads_max, n), helpers = 0;
    pthread_t *threads = mem_array(wanted, sizeof(*threads));
    sigset_t all, before;
    (void)sigfillset(&all);
    bool blocked = pthread_sigmask(SIG_SETMASK, &all, &before) == 0;
    while (blocked && helpers < wanted && pthread_create(&threads[helpers], NULL, help, &w) == 0)
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
