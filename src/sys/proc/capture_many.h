/*
 * Runs several child processes at once and captures their output (capture.h runs one).
 */
#ifndef SYS_PROC_CAPTURE_MANY_H
#define SYS_PROC_CAPTURE_MANY_H

#include "base/buf.h"
#include "base/err.h"
#include "base/strv.h"

#include <stddef.h>

struct proc_job {
    struct strv argv; /* argv[0] is searched on PATH */
    struct strv env;  /* empty: ours */
    const char *dir;  /* NULL: ours */

    struct buf out, errout; /* its output */
    int status;             /* its exit code, or 128 + the signal that ended it */
};

#define PROC_JOB_INIT                                                                              \
    {                                                                                              \
        .out = BUF_INIT, .errout = BUF_INIT                                                        \
    }
void proc_job_done(struct proc_job *job);

/* Runs all jobs, at most one per processor at a time, with /dev/null as standard input. Returns -1
 * if one could not start, wrote more than 1 GiB, or did not end within ten minutes, or if a signal
 * asks us to stop (sys/interrupt.h). Then it ends all running jobs. */
int capture_many(struct proc_job *jobs, size_t n, struct err *err);

#endif
