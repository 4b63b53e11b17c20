/*
 * The options that `run` and `resume` share, and how both carry out and show a run.
 */
#ifndef CLI_RUN_RUN_CALL_H
#define CLI_RUN_RUN_CALL_H

#include "cli/frame/cli.h"
#include "plan/plan.h"
#include "run/run.h"

#include <stdint.h>

struct run_call {
    const char *engine, *timeout;
    struct opt_list reports;
    bool quiet, json, dashboard, no_dashboard, no_wait, detach;
};

/* The shared options, for a struct that has a struct run_call as its member `call`. */
#define RUN_CALL_OPT(type, name, letter, kind, member, arg, help)                                  \
    {                                                                                              \
        name, letter, kind, offsetof(type, member), arg, NULL, help                                \
    }
#define RUN_CALL_OPTS(type)                                                                        \
    RUN_CALL_OPT(type, "engine", 0, OPT_STRING, call.engine, "NAME",                               \
                 "Use this engine for every task"),                                                \
        RUN_CALL_OPT(type, "timeout", 0, OPT_STRING, call.timeout, "D",                            \
                     "Time limit for tasks that have none: 90s, 15m, 2h"),                         \
        RUN_CALL_OPT(type, "no-wait", 0, OPT_FLAG, call.no_wait, NULL,                             \
                     "Do not wait for a usage limit to reset: fail the task that meets it"),       \
        RUN_CALL_OPT(type, "report", 0, OPT_LIST, call.reports, "FILE",                            \
                     "Write a report when the run has ended; the ending of its name gives the "    \
                     "format: .json, .md, .markdown, .html, .xml (JUnit) or .sarif"),              \
        RUN_CALL_OPT(type, "dashboard", 0, OPT_FLAG, call.dashboard, NULL,                         \
                     "Show the run on the whole terminal, as 'anabranch top' does, while it runs " \
                     "in the background. If the output is not a terminal, draw the live view "     \
                     "anyway"),                                                                    \
        RUN_CALL_OPT(type, "detach", 0, OPT_FLAG, call.detach, NULL,                               \
                     "Run in the background, even if the terminal is closed; 'anabranch top' "     \
                     "shows it"),                                                                  \
        RUN_CALL_OPT(type, "no-dashboard", 0, OPT_FLAG, call.no_dashboard, NULL,                   \
                     "Print plain lines, even on a terminal"),                                     \
        RUN_CALL_OPT(type, "quiet", 'q', OPT_FLAG, call.quiet, NULL, "Show only what went wrong")

/* Checks the options and sets those of the run. Returns EXIT_OK, or prints why and returns
 * EXIT_USAGE. */
int run_call_check(const struct run_call *call, const struct command *cmd, struct run_options *ro);

/* Carries out and shows a run, then prints the summary and, if the run was cut off, how to resume
 * it. */
int run_call_go(const struct run_call *call, struct run *run, const struct plan_file *pf,
                const bool *wanted);

/* Opens a run of the plan, then does the same or, for a dry run, only prints what would run. */
int run_call_open(const struct run_call *call, struct plan_file *pf, const char *path,
                  const struct run_options *ro, bool dry_run);

#endif
