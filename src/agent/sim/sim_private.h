/*
 * The parts of sim: one agent at work, what it tells, and the steps that it can do.
 */
#ifndef AGENT_SIM_SIM_PRIVATE_H
#define AGENT_SIM_SIM_PRIVATE_H

#include "agent/sim/sim.h"
#include "base/buf.h"
#include "base/strv.h"

#include <stdbool.h>

struct sim {
    const struct sim_job *job;
    struct buf said;  /* the last text, which becomes that of the result */
    size_t line;      /* of the prompt, that is being done */
    const char *rest; /* what follows behind that line */
    bool ended;       /* the result is told: no step follows */
    int code;         /* then: the exit code */
};

int sim_tell_start(const struct sim *sim, struct err *err);
int sim_tell(const struct sim *sim, const char *type, const char *text, struct err *err);
/* A tool begins, with a text, or has ended: NULL. */
int sim_tell_tool(const struct sim *sim, const char *text, struct err *err);
int sim_tell_usage(const struct sim *sim, int64_t in, int64_t out, const double *usd,
                   struct err *err); /* usd may be NULL */
/* Keeps what is left of the prompt, for whoever goes on with the session. */
void sim_remember(const struct sim *sim);
int sim_tell_limit(const struct sim *sim, int64_t resets_at, struct err *err);
int sim_tell_error(const struct sim *sim, const char *failure, const char *text, struct err *err);

/* Tells the result and ends the agent; text NULL: what was said last, or else what the code says.
 */
int sim_finish(struct sim *sim, int code, const char *text, struct err *err);

/* All bytes, as they are. */
int sim_write(int fd, const char *s, size_t len, struct err *err);

/* args holds as many arguments as the table allows, NULL behind the last. A step that ends the
 * agent calls sim_finish(); -1 says that the step could not be done. */
typedef int sim_step_fn(struct sim *sim, char *const *args, struct err *err);

struct sim_step {
    const char *name;
    size_t min, max;   /* number of arguments; the last one may be the rest of the line */
    const char *usage; /* what they are called */
    sim_step_fn *run;
};

/* The step of that name; NULL, with a message that has the name that was meant, if there is none.
 */
const struct sim_step *sim_step_find(const char *name, struct err *err);

/* On files (step_files.c). */
sim_step_fn sim_do_write, sim_do_append, sim_do_delete, sim_do_rename, sim_do_chmod, sim_do_symlink;

/* On processes (step_processes.c). */
sim_step_fn sim_do_commit, sim_do_sh, sim_do_tool, sim_do_spawn, sim_do_daemon, sim_do_signal,
    sim_do_ignore;
sim_step_fn sim_do_sleep, sim_do_hang;
int sim_sleep(int64_t ms, struct err *err);

struct sim_script {
    const char *at, *end; /* what is still to be read */
    size_t line;          /* number of the line that was read last */
};

struct sim_call {
    const struct sim_step *step;
    struct strv args;
    bool due; /* false: on another attempt */
};

/* The next line that is a step, less its mark; false behind the last. */
bool sim_script_next(struct sim_script *script, const char **ret_s, size_t *ret_len);

/* Reads such a line. Released with sim_call_done() in every case. */
int sim_call_parse(struct sim_call *call, const char *s, size_t len, int64_t attempt,
                   struct err *err);
void sim_call_done(struct sim_call *call);

/* Whether such a line is a step of one attempt alone. */
bool sim_step_is_for_one(const char *s, size_t len);

int sim_rehearse(struct sim *sim, struct err *err);

#endif
