/*
 * sim, the built-in agent: its prompt is its script. It needs no account, does the same every time,
 * and misbehaves on request. The steps and the events that it writes are in anabranch-events(7).
 */
#ifndef AGENT_SIM_SIM_H
#define AGENT_SIM_SIM_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct sim_job {
    const char *prompt; /* any bytes */
    size_t len;
    const char *session; /* that is gone on with: the prompt is what was left of it; or NULL */
    const char *memory;  /* file for what is left where it meets a limit, or NULL */
    const char *task;    /* id, or NULL */
    int64_t attempt;     /* from 1 */
    const char *owns;    /* owned paths, relative to the current folder, one per line; or NULL */
    int64_t estimate;    /* ms */
    int out_fd, errs_fd; /* where events and raw lines go */
};

/* Does in the current folder what the prompt says. *ret_code is the exit code that the process is
 * to end with; a step that fails is an event and a code of 1. Fails only where an event cannot be
 * written. Does not return from a prompt that waits for ever or ends by a signal. */
int sim_run(const struct sim_job *job, int *ret_code, struct err *err);

#endif
