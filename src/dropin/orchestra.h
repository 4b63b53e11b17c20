/*
 * The run command of parallel-orchestra.
 */
#ifndef DROPIN_ORCHESTRA_H
#define DROPIN_ORCHESTRA_H

#include <stdbool.h>
#include <stddef.h>

struct orchestra_options {
    const char *manifest, *claude, *log_dir, *report; /* all except manifest may be NULL */
    size_t workers;
    bool quiet, no_log, dry_run, resume, dashboard, no_dashboard, help;
};

/* Runs the manifest and prints the output of that tool; returns its exit code. */
int orchestra_run(const struct orchestra_options *opts);

#endif
