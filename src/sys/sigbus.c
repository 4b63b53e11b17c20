#include "sys/sigbus.h"

#include <setjmp.h>
#include <signal.h>
#include <stddef.h>

/* The point to which the thread jumps after a fault; NULL if we do not expect faults. */
static _Thread_local sigjmp_buf *escape_point;

static struct sigaction old_action;

/* If we do not expect a fault, we restore the old handler, and the same fault happens again. */
static void on_fault(int signal)
{
    if (escape_point)
        siglongjmp(*escape_point, 1);
    (void)sigaction(signal, &old_action, NULL);
}

/* SA_NODEFER, because we leave the handler by a jump: otherwise the signal would stay blocked. */
bool sigbus_try(void (*fn)(void *ctx), void *ctx)
{
    struct sigaction leave = {.sa_handler = on_fault, .sa_flags = SA_NODEFER};
    sigjmp_buf here;
    bool whole = false;
    if (sigaction(SIGBUS, &leave, &old_action) < 0) {
        fn(ctx);
        return true;
    }
    if (sigsetjmp(here, 0) == 0) {
        escape_point = &here;
        fn(ctx);
        whole = true;
    }
    escape_point = NULL;
    (void)sigaction(SIGBUS, &old_action, NULL);
    return whole;
}
