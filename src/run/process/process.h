/*
 * The process that an attempt waits for. An attempt runs one process at a time: a git, a command of
 * the plan, or the agent.
 */
#ifndef RUN_PROCESS_PROCESS_H
#define RUN_PROCESS_PROCESS_H

#include "agent/agent.h"
#include "base/err.h"
#include "plan/engine/attempt/verdict.h"
#include "sys/proc/loop.h"
#include "sys/proc/stuck_watch.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct attempt;
struct flood;

/* A guarded process has pipes to its guard. */
struct process {
    struct watch *watch;
    struct watch
        *last_resort; /* kills a guard that does not end when ordered to; NULL: no order was sent */
    struct stuck_watch *stuck; /* if unguarded */
    struct flood *flood;       /* if guarded */
    pid_t pid;
    bool guarded;
    int lifeline, status;
    char mark[32]; /* in the environment of the guard and of everything it starts */
};

/* The command of that process, and how the last one ended. */
struct command {
    void (*next)(struct attempt *attempt, int exit_code); /* called when the process has ended */
    int exit_code, exit_signal;
    bool guard_lost;
    bool overdue;            /* a command of the plan took too long */
    int64_t deadline;        /* of that command; monotonic ms */
    char *unkillable;        /* a process that nobody could kill, or NULL */
    char exceeded_limit[16]; /* limit that the command exceeded: "memory"; "": none */
    int64_t printed_bytes;   /* bytes, by all commands of the attempt that have ended */
    bool printed_too_much;   /* they exceeded the output limit */
};

/* Starts a process that the attempt waits for; calls `next` when it has ended. If `dir` is NULL, it
 * starts in the workspace. */
int process_start(struct attempt *attempt, char *const *argv, char *const *env, const char *dir,
                  const char *log, void (*next)(struct attempt *, int), struct err *err);
int process_start_guarded(struct attempt *attempt, const struct agent_call *call,
                          const char *in_path, const char *out_path, const char *err_path,
                          void (*next)(struct attempt *, int), struct err *err);
void process_order(struct attempt *attempt, char order);
void process_done(struct process *p);

/* True if a git that wrote to prepare.log lost a race (git_is_race()) and should be retried; false
 * after too many retries. */
bool process_lost_race(struct attempt *attempt, int exit_code);

/* Collects how the attempt's last command under a guard ended. Strings in the result belong to the
 * attempt and to `words`. */
struct process_end process_describe_end(const struct attempt *attempt, struct buf *words);

#endif
