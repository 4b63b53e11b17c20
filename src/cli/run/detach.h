/*
 * A run in the background, in a session of its own: it continues when the terminal is closed. We
 * start this program again with the same arguments. The background process prints to our terminal
 * until the run has begun, then to the file `run.log` in the run's folder.
 */
#ifndef CLI_RUN_DETACH_H
#define CLI_RUN_DETACH_H

#include "cli/run/run_call.h"

/* True if the user wants a background run and we are not the background process. */
bool detach_is_wanted(const struct run_call *call);

/* Starts the background process and prints how to return to the run; with --dashboard shows the run
 * until the user leaves. Returns the exit code. */
int detach_go(const struct run_call *call);

/* True if we are the background process. */
bool detach_is_there(void);

/* In the background process, before the run begins: at the first event we switch the output to the
 * run's log and send the run's id to the process that started us. */
void detach_arrive(struct run *run);

#endif
