/*
 * Resumes one task of a run, for `say` and `retry`.
 */
#ifndef CLI_RUN_ONE_CALL_H
#define CLI_RUN_ONE_CALL_H

#include "cli/run/resume_call.h"

struct one_opts {
    struct run_call call;
    const char *run, *engine_exe;
    bool keep, fresh;
};

/* Resumes the task in the run that the options name, or in the newest run. `say` is the message to
 * its agent, or NULL. Returns the exit code. */
int one_call(const struct command *cmd, const struct one_opts *opts, const char *task,
             const char *say);

/* The options of both commands, for a struct one_opts. */
#define ONE_CALL_OPT(name, kind, member, arg, help)                                                \
    RUN_CALL_OPT(struct one_opts, name, 0, kind, member, arg, help)
#define ONE_CALL_OPTS                                                                              \
    ONE_CALL_OPT("run", OPT_STRING, run, "RUN",                                                    \
                 "The run's id, or the beginning of it (default: the newest run)"),                \
        ONE_CALL_OPT("engine-exe", OPT_STRING, engine_exe, "PATH",                                 \
                     "The engine's program, if it is not on PATH"),                                \
        ONE_CALL_OPT("keep", OPT_FLAG, keep, NULL,                                                 \
                     "Keep the workspace and the branch of the task when it lands or fails"),      \
        RUN_CALL_OPTS(struct one_opts),                                                            \
        ONE_CALL_OPT("json", OPT_FLAG, call.json, NULL, "Print one event per line, as JSON")

#endif
