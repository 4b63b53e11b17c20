/*
 * A run in the background, in a session of its own: it goes on when the terminal is closed. This
 * program is started again with the same words; what it says before the run has begun is said here,
 * what follows is in the file `run.log` in the run's folder.
 */
#ifndef CLI_RUN_DETACH_H
#define CLI_RUN_DETACH_H

#include "cli/run/run_call.h"

/* Whether the run is to be another process's: it was asked for, and we are not that process. */
bool detach_is_wanted(const struct run_call *call);

/* Starts it and says how to come back; with --dashboard shows it, until the user leaves. Returns
 * the exit code. */
int detach_go(const struct run_call *call);

/* In that process: whether we are it. */
bool detach_is_there(void);

/* Likewise, before the run begins: from its first event on all is written to its log, and who
 * started us is told its id. */
void detach_arrive(struct run *run);

#endif
