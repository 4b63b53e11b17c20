#include "run/run_private.h"

#include <sys/random.h>

uint32_t retry_random(void)
{
    uint32_t random = 0;
    return getentropy(&random, sizeof(random)) < 0 ? RETRY_MIDDLE : random;
}
