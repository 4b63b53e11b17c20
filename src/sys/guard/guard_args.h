/*
 * The command line of a guard, with which the engine starts it.
 */
#ifndef SYS_GUARD_GUARD_ARGS_H
#define SYS_GUARD_GUARD_ARGS_H

#include "base/strv.h"
#include "sys/guard/guard.h"

/* Appends the options, "--" and the command. */
void guard_args_format(const struct guard_options *opts, struct strv *argv);

/* Parses them from a list that ends with NULL; *ret borrows the strings. */
int guard_args_parse(char **argv, struct guard_options *ret, struct err *err);

/* Parses them and runs the guard: a whole program. */
int guard_main(char **argv, struct err *err);

#endif
