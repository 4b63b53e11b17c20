/*
 * anabranch-guard: guards one command (sys/guard/guard.h). It is a program of its own, because we
 * start it for every command of every task, and loading all libraries of anabranch would take
 * longer than the guard itself. If it is missing, `anabranch __guard` does the same.
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
