#include "sys/interrupt_child.h"

#include "sys/clock.h"
#include "sys/time_limits.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>

enum { YOUNG_MS = 1000, FIRST_MS = 20000, HURRY_MS = 3000, SIGNALS = 32 };

/* The handler reads and writes these. */
static atomic_int signals_seen, group;
static atomic_uint wait_began;    /* monotonic ms, cut to unsigned */
static atomic_uint first, second; /* likewise: when the first and second signal came */

static void (*old_handlers[SIGNALS])(int signal);

static unsigned get_time_ms(void)
{
    return (unsigned)clock_mono();
}

static void on_signal(int signal)
{
    int saved = errno, times = atomic_fetch_add(&signals_seen, 1) + 1,
        waited_for = atomic_load(&group);
    if (times <= 2)
        atomic_store(times == 1 ? &first : &second, get_time_ms());
    if (times > 1 && waited_for > 0 && get_time_ms() - atomic_load(&wait_began) >= YOUNG_MS)
        (void)kill(-waited_for, times == 2 ? SIGTERM : SIGKILL);
    old_handlers[signal](signal);
    errno = saved;
}

void interrupt_by(int signal)
{
    struct sigaction sa;
    if (signal >= SIGNALS || sigaction(signal, NULL, &sa) < 0 || sa.sa_handler == SIG_DFL ||
        sa.sa_handler == SIG_IGN || sa.sa_handler == on_signal)
        return;
    old_handlers[signal] = sa.sa_handler;
    sa.sa_handler = on_signal;
    (void)sigaction(signal, &sa, NULL); /* if that fails, stopping only takes longer */
}

int64_t interrupt_until(int64_t began, int64_t end)
{
    int times = atomic_load(&signals_seen);
    if (!times)
        return end;
    unsigned came = times > 1 ? atomic_load(&second) : atomic_load(&first);
    int64_t ago = (int64_t)(get_time_ms() - came), at = clock_mono() - ago;
    int64_t patient = time_limit(FIRST_MS), first_ms = patient < FIRST_MS ? patient : FIRST_MS;
    int64_t until = (at > began ? at : began) + (times > 1 ? HURRY_MS : first_ms);
    return until < end ? until : end;
}

void interrupt_begin(pid_t leader)
{
    atomic_store(&wait_began, get_time_ms());
    atomic_store(&group, leader);
}

void interrupt_end(void)
{
    atomic_store(&group, 0);
}
