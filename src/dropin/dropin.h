/*
 * Drop-ins: the program under another program's name, with that program's command line, output and
 * exit codes. A file each; main() looks at the name that it was called by.
 */
#ifndef DROPIN_DROPIN_H
#define DROPIN_DROPIN_H

#include "base/buf.h"
#include "base/err.h"
#include "base/node/problem.h"

/* These tools set no bound for a plan's file. */
enum { DROPIN_PLAN_MAX = 256 << 20 };

int dropin_cast(int argc, char **argv);      /* cast-parallel */
int dropin_orchestra(int argc, char **argv); /* parallel-orchestra */
int dropin_sessions(int argc, char **argv);  /* parallel-sessions */

/* Prints the errors of a plan on standard error, each behind `before`, without the warnings: these
 * tools have none. */
void dropin_print_errors(const struct problems *ps, const char *before);

/* Cuts off the part of a message that names an option: it is none of that command line. */
void dropin_cut_option(struct err *err);

/* Appends a problem. A hint that names an option is left out: it is none of that command line. */
void dropin_format(const struct problems *ps, const struct problem *p, struct buf *out);

#endif
