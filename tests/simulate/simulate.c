/*
 * Searches for histories in which the engine of a run breaks a promise.
 *
 *     simulate [-s SECONDS] [-f SEED]      histories from this seed on
 *     simulate -r SEED                     only this one
 *
 * Prints the number of histories and events. If a promise is broken, prints the end of the journal,
 * and exits with 1.
 */
#include "base/mem.h"
#include "world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS_MAX = 4000, LINES_SHOWN = 60, ENOUGH_HISTORIES = 20000 };

static double get_seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* The last lines of the journal. */
static const char *find_shown(const struct buf *journal)
{
    const char *at = journal->s + journal->len;
    for (size_t lines = 0; at > journal->s && lines <= LINES_SHOWN; lines += at[-1] == '\n')
        at--;
    return at;
}

static void print_history(const struct world *w, uint64_t seed)
{
    autobuf struct buf journal = BUF_INIT;
    write_journal(w, &journal);
    printf("seed %" PRIu64 ": %s\n%s", seed, w->what, find_shown(&journal));
    for (uint32_t t = 0; t < w->plan.task_count; t++)
        printf("    t%u is %s, in stage %d of the shell\n", (unsigned)t,
               task_state_name(w->engine->tasks[t].state), (int)w->jobs[t].stage);
    printf("    again: simulate -r %" PRIu64 "\n", seed);
}

/* Lives through one history. Returns the number of its events; 0: a promise was broken. */
static uint64_t simulate(uint64_t seed)
{
    struct world *w = mem_alloc(sizeof(*w));
    uint64_t events = 0;
    if (setjmp(w->broken)) {
        print_history(w, seed);
    } else {
        world_init(w, seed);
        shell_live(w, EVENTS_MAX);
        events = w->events;
    }
    world_done(w);
    free(w);
    return events;
}

int main(int argc, char **argv)
{
    double begin = get_seconds(), seconds = 1;
    uint64_t seed = 0, histories = 0, events = 0;
    bool one = false;
    for (int c; (c = getopt(argc, argv, "s:f:r:")) != -1;) {
        if (c == '?')
            return 2;
        if (c == 's')
            seconds = strtod(optarg, NULL);
        else
            seed = strtoull(optarg, NULL, 10);
        one = one || c == 'r';
    }
    do {
        uint64_t n = simulate(seed++);
        if (!n)
            return 1;
        events += n;
        histories++;
    } while (!one && get_seconds() - begin < seconds);
    printf("%" PRIu64 " histories, %" PRIu64 " events, %.0f events/s\n", histories, events,
           (double)events / (get_seconds() - begin));
    if (histories < ENOUGH_HISTORIES || !world_find_unseen())
        return 0;
    printf("no history has the event '%s'\n", world_find_unseen());
    return 1;
}
