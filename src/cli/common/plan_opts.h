/*
 * The options of every command that reads a plan, and how we print problems of plans.
 */
#ifndef CLI_COMMON_PLAN_OPTS_H
#define CLI_COMMON_PLAN_OPTS_H

#include "base/node/problem.h"
#include "cli/frame/cli.h"
#include "doc/doc.h"
#include "plan/plan.h"
#include "project/plan_file.h"

#include <stdint.h>

struct plan_opts {
    int syntax; /* index into plan_syntaxes */
    int64_t max_size;
};

extern const char *const plan_syntaxes[];

/* Both options, for a struct whose first member is a struct plan_opts. */
#define PLAN_OPT(name, kind, member, arg, choices, help)                                           \
    {                                                                                              \
        name, 0, kind, offsetof(struct plan_opts, member), arg, choices, help                      \
    }
#define PLAN_OPTS                                                                                  \
    PLAN_OPT("syntax", OPT_CHOICE, syntax, "SYNTAX", plan_syntaxes,                                \
             "Read the plan in this syntax, whatever the ending of its name"),                     \
        PLAN_OPT("max-size", OPT_COUNT, max_size, "SIZE", NULL,                                    \
                 "Read plans up to this size (4MiB)")

extern const struct arg plan_args[]; /* only PLAN */

struct doc_options plan_doc_options(const struct plan_opts *opts);

/* Marks the tasks of a comma-separated list (--only). Prints why and returns -1 if a task does not
 * exist. */
int plan_choose_tasks(const struct plan *plan, const char *only, bool *wanted);

/* Finds the engine of --engine. Prints why and returns -1 if it does not exist. */
int plan_find_engine(const char *name, enum agent_engine *ret);

/* Prints all problems on standard error, and their number. */
void plan_print_problems(const struct problems *ps);

/* Reads and checks the plan that a command names, and prints its problems. Returns EXIT_OK or
 * EXIT_USAGE. Call plan_file_close() in both cases. */
int plan_open(struct plan_file *pf, const char *path, const struct plan_opts *opts);

#endif
