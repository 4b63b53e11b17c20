#include "plan/engine/attempt/repair.h"

#include <stddef.h>

const char *const repair_words[REPAIR_COUNT_] = {
    [REPAIR_NONE] = NULL,
    [REPAIR_OWN] = "own",
    [REPAIR_MERGED] = "merged",
    [REPAIR_CONFLICT] = "conflict",
};
