/*
 * anabranch-guard: one guard (sys/guard/guard.h). A program of its own, because it is started for
 * every command of every task, and the libraries of the whole take longer to load than it takes to
 * run. Where it is missing, `anabranch __guard` does the same.
 */
#include "sys/guard/guard_args.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    struct err err = {0};
    if (argc && guard_main(argv + 1, &err) == 0)
        return 0;
    (void)fprintf(stderr, "anabranch-guard: %s\n", err.msg);
    return GUARD_NOT_STARTED;
}
