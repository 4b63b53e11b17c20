/*
 * A rehearsal: the whole plan, with `sim` in place of its agents, in a clone that is thrown away.
 * Nothing of the user's repository is touched, and nobody is notified.
 */
#ifndef RUN_REHEARSE_REHEARSE_H
#define RUN_REHEARSE_REHEARSE_H

#include "project/plan_file.h"

#include <stdbool.h>

struct rehearsal {
    char *dir;  /* the folder that all of it happens in; the clone, where there is one, is in it */
    char *base; /* branch to land on; NULL without a repository */
    bool commands_left_out; /* the plan has commands, and they are not run */
};

/* Makes the clone and points the plan to it: what it was is only to be released after this. base:
 * as in struct run_options. with_commands: the plan's own commands (setup, teardown, verify, hooks)
 * are kept in it. To be released in every case. */
int rehearsal_open(struct rehearsal *r, struct plan_file *pf, const char *base, bool with_commands,
                   struct err *err);

/* Removes the folder, unless it is to be kept. */
int rehearsal_close(struct rehearsal *r, bool keep, struct err *err);

#endif
