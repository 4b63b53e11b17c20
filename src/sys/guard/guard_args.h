/*
 * The command line of a guard: what the engine says to the process that it starts.
 */
#ifndef SYS_GUARD_GUARD_ARGS_H
#define SYS_GUARD_GUARD_ARGS_H

#include "base/strv.h"
#include "sys/guard/guard.h"

/* Appends the options and, behind "--", the command. */
void guard_args_format(const struct guard_options *opts, struct strv *argv);

/* Reads them back, from a list that ends with NULL; strings are borrowed. */
int guard_args_parse(char **argv, struct guard_options *ret, struct err *err);

/* Reads them and runs the guard: the whole of a program. */
int guard_main(char **argv, struct err *err);

#endif
