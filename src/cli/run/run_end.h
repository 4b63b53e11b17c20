/*
 * What `run` leaves behind for the user: the summary and the reports.
 */
#ifndef CLI_RUN_RUN_END_H
#define CLI_RUN_RUN_END_H

#include "cli/frame/cli.h"
#include "run/run.h"

enum run_end_show { RUN_END_NOTHING, RUN_END_PROBLEMS, RUN_END_ALL };

/* Before anything is done: whether reports and copies of logs (NULL: none) can be written where
 * they are wanted. EXIT_OK, or EXIT_USAGE and told. */
int run_end_check(const struct opt_list *reports, const char *log_dir);

/* Prints the summary and writes the reports of a run that has ended. Returns code, or EXIT_ENV
 * where that was EXIT_OK and a report could not be written. */
int run_end(const struct run *run, enum run_end_show show, const struct opt_list *reports,
            int code);

#endif
