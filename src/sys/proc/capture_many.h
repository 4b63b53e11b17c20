/*
 * Several child processes at once whose output is wanted whole (capture.h is for one).
 */
#ifndef SYS_PROC_CAPTURE_MANY_H
#define SYS_PROC_CAPTURE_MANY_H

#include "base/buf.h"
#include "base/err.h"
#include "base/strv.h"

#include <stddef.h>

struct proc_job {
    struct strv argv; /* argv[0] is looked up on PATH */
    struct strv env;  /* empty: our own */
    const char *dir;  /* NULL: our own */

    struct buf out, errout; /* what it wrote */
    int status;             /* its exit code, or 128 + the signal that ended it */
};

#define PROC_JOB_INIT                                                                              \
    {                                                                                              \
        .out = BUF_INIT, .errout = BUF_INIT                                                        \
    }
void proc_job_done(struct proc_job *job);

/* Runs all jobs, as many at once as there are processors, with standard input from /dev/null. -1
 * where one could not be started, wrote more than 1 GiB, or did not end within ten minutes, or
 * where a signal wants us to stop (sys/interrupt.h); those that run then are ended. */
int capture_many(struct proc_job *jobs, size_t n, struct err *err);

#endif
