/*
 * Going on with a run, for `resume` and for `run --resume`.
 */
#ifndef CLI_RUN_RESUME_CALL_H
#define CLI_RUN_RESUME_CALL_H

#include "cli/common/lookup.h"
#include "cli/run/run_call.h"
#include "doc/doc.h"

struct resume_call {
    const struct command *cmd;
    const struct run_call *call;
    struct doc_options doc; /* how the plan's file is read */
    const char *plan;       /* its file, where that is another one now; or NULL */
    const char
        *engine_exe; /* these take the place of what the run began with; NULL, 0, false: none */
    size_t workers;
    bool keep;
    bool saved; /* the plan as it was run, whatever its file says now */
    bool keep_failed, dry_run;
    const char *task; /* that alone, whatever became of it; NULL: all that is not done */
    const char *say;  /* what its agent is told; or NULL */
    bool fresh;       /* it begins again, in another session */
};

/* Goes on with the run that a word stands for (NULL: the newest one that is neither finished well
 * nor alive). Returns the exit code. */
int resume_call(struct lookup *look, const char *word, const struct resume_call *rc);

/* The newest run of a plan's file; NULL where there is none. To be freed. */
char *resume_run_of(struct lookup *look, const char *plan);

#endif
