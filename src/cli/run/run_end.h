/*
 * The summary and the reports at the end of a run.
 */
#ifndef CLI_RUN_RUN_END_H
#define CLI_RUN_RUN_END_H

#include "cli/frame/cli.h"
#include "run/run.h"

enum run_end_show { RUN_END_NOTHING, RUN_END_PROBLEMS, RUN_END_ALL };

/* Checks before the run if we can write the reports and the copies of logs (NULL: none). Returns
 * EXIT_OK, or prints why not and returns EXIT_USAGE. */
int run_end_check(const struct opt_list *reports, const char *log_dir);

/* Prints the summary and writes the reports of a run that has ended. Returns code, or EXIT_ENV
 * if that was EXIT_OK and a report could not be written. */
int run_end(const struct run *run, enum run_end_show show, const struct opt_list *reports,
            int code);

#endif
