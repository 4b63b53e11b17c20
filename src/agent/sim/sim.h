/*
 * sim, the built-in scripted agent: its prompt is its script. It needs no account, does the same
 * every time, and misbehaves on request. anabranch-events(7) describes the steps and the events
 * that it writes.
 */
#ifndef AGENT_SIM_SIM_H
#define AGENT_SIM_SIM_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct sim_job {
    const char *prompt; /* any bytes */
    size_t len;
    const char *session; /* session to resume: the prompt is the rest of its script; or NULL */
    const char *memory;  /* file for the rest of the script when it meets a limit, or NULL */
    const char *task;    /* id, or NULL */
    int64_t attempt;     /* from 1 */
    const char *owns;    /* owned paths, relative to the current folder, one per line; or NULL */
    int64_t estimate;    /* ms */
    int out_fd, errs_fd; /* for events and raw lines */
};

/* Runs the script in the current folder. *ret_code is the exit code for the process; if a step
 * fails, sim writes an event and the code is 1. Fails only if an event cannot be written. Does not
 * return if the script waits for ever or ends by a signal. */
int sim_run(const struct sim_job *job, int *ret_code, struct err *err);

#endif
