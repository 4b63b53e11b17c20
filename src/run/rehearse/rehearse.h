/*
 * A rehearsal runs the whole plan in a temporary clone, with `sim` instead of its agents. It
 * changes nothing in the user's repository and notifies nobody.
 */
#ifndef RUN_REHEARSE_REHEARSE_H
#define RUN_REHEARSE_REHEARSE_H

#include "base/err.h"
#include "project/plan_file.h"

#include <stdbool.h>

struct rehearsal {
    char *dir;              /* temporary folder; has the clone if there is a repository */
    char *base;             /* branch to land on; NULL without a repository */
    bool commands_left_out; /* the plan has commands that we do not run */
};

/* Creates the clone and points the plan to it: do not use the plan for anything else afterwards.
 * base: as in struct run_options. with_commands: keep the plan's own commands (setup, teardown,
 * verify, hooks). Release it in every case. */
int rehearsal_open(struct rehearsal *r, struct plan_file *pf, const char *base, bool with_commands,
                   struct err *err);

/* Removes the folder, unless `keep`. */
int rehearsal_close(struct rehearsal *r, bool keep, struct err *err);

#endif
