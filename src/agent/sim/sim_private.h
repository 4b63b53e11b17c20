/*
 * The parts of sim: the state of the agent, its events, and its steps.
 */
#ifndef AGENT_SIM_SIM_PRIVATE_H
#define AGENT_SIM_SIM_PRIVATE_H

#include "agent/sim/sim.h"
#include "base/buf.h"
#include "base/strv.h"

#include <stdbool.h>

struct sim {
    const struct sim_job *job;
    struct buf said;  /* the last text, which becomes the text of the result */
    size_t line;      /* number of the prompt's line that is running */
    const char *rest; /* the prompt after that line */
    bool ended;       /* the result is written: no step follows */
    int code;         /* the exit code, if ended */
};

int sim_tell_start(const struct sim *sim, struct err *err);
int sim_tell(const struct sim *sim, const char *type, const char *text, struct err *err);
/* A tool begins, described by `text`, or has ended (NULL). */
int sim_tell_tool(const struct sim *sim, const char *text, struct err *err);
int sim_tell_usage(const struct sim *sim, int64_t in, int64_t out, const double *usd,
                   struct err *err); /* usd may be NULL */
/* Saves the rest of the prompt for an agent that resumes the session. */
void sim_remember(const struct sim *sim);
int sim_tell_limit(const struct sim *sim, int64_t resets_at, struct err *err);
int sim_tell_error(const struct sim *sim, const char *failure, const char *text, struct err *err);

/* Writes the result and ends the agent. If text is NULL, uses the last text, or else describes the
 * code. */
int sim_finish(struct sim *sim, int code, const char *text, struct err *err);

/* Writes all bytes unchanged. */
int sim_write(int fd, const char *s, size_t len, struct err *err);

/* `args` has at most as many arguments as the table allows, then NULL. A step that ends the agent
 * calls sim_finish(). -1: the step could not be done. */
typedef int sim_step_fn(struct sim *sim, char *const *args, struct err *err);

struct sim_step {
    const char *name;
    size_t min, max;   /* number of arguments; the last one extends to the end of the line */
    const char *usage; /* names of the arguments */
    sim_step_fn *run;
};

/* Finds a step by its name; else NULL with a message, which suggests a similar name. */
const struct sim_step *sim_step_find(const char *name, struct err *err);

/* Steps on files (step_files.c). */
sim_step_fn sim_do_write, sim_do_append, sim_do_delete, sim_do_rename, sim_do_chmod, sim_do_symlink;

/* Steps on processes (step_processes.c). */
sim_step_fn sim_do_commit, sim_do_sh, sim_do_tool, sim_do_spawn, sim_do_daemon, sim_do_signal,
    sim_do_ignore;
sim_step_fn sim_do_sleep, sim_do_hang;
int sim_sleep(int64_t ms, struct err *err);

struct sim_script {
    const char *at, *end; /* the rest of the script */
    size_t line;          /* number of the last line that we read */
};

struct sim_call {
    const struct sim_step *step;
    struct strv args;
    bool due; /* false: the step is for another attempt */
};

/* Finds the next line with a step and removes its mark; false at the end. */
bool sim_script_next(struct sim_script *script, const char **ret_s, size_t *ret_len);

/* Parses such a line. Call sim_call_done() in every case. */
int sim_call_parse(struct sim_call *call, const char *s, size_t len, int64_t attempt,
                   struct err *err);
void sim_call_done(struct sim_call *call);

/* True if such a line is a step for one attempt only. */
bool sim_step_is_for_one(const char *s, size_t len);

int sim_rehearse(struct sim *sim, struct err *err);

#endif
