/*
 * Drop-ins: anabranch under the name of another tool, with the command line, output and exit codes
 * of that tool. One file each; main() chooses by the name that it was called by.
 */
#ifndef DROPIN_DROPIN_H
#define DROPIN_DROPIN_H

#include "base/buf.h"
#include "base/err.h"
#include "base/node/problem.h"

/* These tools do not limit the size of a plan. */
enum { DROPIN_PLAN_MAX = 256 << 20 };

int dropin_cast(int argc, char **argv);      /* cast-parallel */
int dropin_orchestra(int argc, char **argv); /* parallel-orchestra */
int dropin_sessions(int argc, char **argv);  /* parallel-sessions */

/* Prints the errors of a plan on standard error, each after `before`. Omits warnings: these
 * tools have none. */
void dropin_print_errors(const struct problems *ps, const char *before);

/* Cuts off the part of a message that names an option, because this command line does not have
 * it. */
void dropin_cut_option(struct err *err);

/* Appends a problem; omits a hint that names an option. */
void dropin_format(const struct problems *ps, const struct problem *p, struct buf *out);

#endif
