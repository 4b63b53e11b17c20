#include "sys/interrupt.h"

#include "base/mem.h"
#include "sys/interrupt_child.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int first_signal;

static void on_signal(int signal)
{
    int none = 0;
    (void)atomic_compare_exchange_strong(&first_signal, &none, signal);
}

/* Without SA_RESTART, so that a waiting system call returns with EINTR. */
void interrupt_watch(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction note = {.sa_handler = on_signal}, old;
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        if (numbers[i] == SIGHUP && sigaction(SIGHUP, NULL, &old) == 0 && old.sa_handler == SIG_IGN)
            continue;
        if (sigaction(numbers[i], &note, NULL) == 0)
            interrupt_by(numbers[i]);
    }
}

int interrupt_signal(void)
{
    return atomic_load(&first_signal);
}
