#include "sys/sigbus.h"

#include <setjmp.h>
#include <signal.h>
#include <stddef.h>

/* Where the thread goes on; NULL: a fault is not expected. */
static _Thread_local sigjmp_buf *way_out;

static struct sigaction before;

/* Where nobody expects it the same happens again, as if we were not here. */
static void on_fault(int signal)
{
    if (way_out)
        siglongjmp(*way_out, 1);
    (void)sigaction(signal, &before, NULL);
}

/* The handler is not left by returning: the signal must not be held back meanwhile. */
bool sigbus_try(void (*fn)(void *ctx), void *ctx)
{
    struct sigaction leave = {.sa_handler = on_fault, .sa_flags = SA_NODEFER};
    sigjmp_buf here;
    bool whole = false;
    if (sigaction(SIGBUS, &leave, &before) < 0) {
        fn(ctx);
        return true;
    }
    if (sigsetjmp(here, 0) == 0) {
        way_out = &here;
        fn(ctx);
        whole = true;
    }
    way_out = NULL;
    (void)sigaction(SIGBUS, &before, NULL);
    return whole;
}
