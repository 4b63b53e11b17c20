/*
 * Drop-ins: anabranch under the name of another tool, with the command line, output and exit codes
 * of that tool. One file each; main() chooses by the name that it was called by.
 */
#ifndef DROPIN_DROPIN_H
#define DROPIN_DROPIN_H

#include "base/buf.h"
#include "base/err.h"
#include "base/node/problem.h"
#include "plan/plan.h"

#include <stdbool.h>

/* These tools do not limit the size of a plan. */
enum { DROPIN_PLAN_MAX = 256 << 20 };

int dropin_cast(int argc, char **argv);      /* cast-parallel */
int dropin_orchestra(int argc, char **argv); /* parallel-orchestra */
int dropin_sessions(int argc, char **argv);  /* parallel-sessions */

/* Prints the problems of a plan on standard error, errors after `before`. Omits hints that name an
 * option. Not every one of these tools has warnings. */
void dropin_print_problems(const struct problems *ps, const char *before, bool warnings);

/* False if a task needs claude, and that program (NULL: the one on PATH) cannot run. */
bool dropin_finds_claude(const struct plan *plan, const char *program);

/* Cuts off the part of a message that names an option, because this command line does not have
 * it. */
void dropin_cut_option(struct err *err);

#endif
