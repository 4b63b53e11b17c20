/*
 * Resumes a run, for `resume`, `run --resume`, `say` and `retry`.
 */
#ifndef CLI_RUN_RESUME_CALL_H
#define CLI_RUN_RESUME_CALL_H

#include "cli/common/lookup.h"
#include "cli/run/run_call.h"
#include "doc/doc.h"

struct resume_call {
    const struct command *cmd;
    const struct run_call *run_call;
    struct doc_options doc; /* how to read the plan's file */
    const char *plan;       /* the plan's new file, or NULL */

    /* These replace the options that the run began with, unless NULL, 0 or false. */
    const char *engine_exe;
    size_t workers;
    bool keep;

    bool saved; /* use the saved plan, and ignore its file */
    bool keep_failed, dry_run;
    const char *task; /* resume this task alone, whatever its state; NULL: all that is not done */
    const char *say;  /* the message to its agent, or NULL */
    bool fresh;       /* restart the task from scratch, in a new session */
};

/* Resumes the run that `word` names (NULL: the newest one that is not alive and did not succeed).
 * Returns the exit code. */
int resume_call(struct lookup *look, const char *word, const struct resume_call *rc);

/* Finds the newest run of the plan's file. NULL if there is none. The caller frees the id. */
char *resume_run_of(struct lookup *look, const char *plan);

#endif
