/*
 * The engines: one definition each, in a file of its own. It says how we call the program and
 * which dialect its output has. agent/agent.c has the table.
 */
#ifndef AGENT_ENGINE_ENGINE_H
#define AGENT_ENGINE_ENGINE_H

#include "agent/agent.h"
#include "agent/engine/engine_args.h"
#include "agent/output/dialect.h"

struct engine_def {
    const char *program; /* program that must exist; NULL: none, or the task's own */
    /* Fills in its argv and the environment variables that it needs. Its standard input is the
     * prompt. */
    int (*build)(const struct task *task, const struct agent_context *ctx, struct agent_call *call,
                 struct err *err);
    const struct dialect *dialect; /* NULL: its output is plain text */
    int interrupt_signal;          /* the signal that asks it to end */
    int64_t idle_ms; /* ms that it may be silent while no tool runs, if the plan does not say; 0: no
                        limit */
    bool usage_is_cumulative; /* it reports the usage of the whole session */
    bool resumes;             /* it can resume any session */
    bool resumes_limited;     /* it can resume only a session that met a limit; not needed with
                                 `resumes` */
    bool resumes_ended;       /* it can resume only a session whose agent has ended; likewise */
    const char *const
        *account; /* variables that decide which account's limits apply, NULL at the end */
    const char *const *keys; /* variables whose values are secret, NULL at the end */
    const char *temp_suffix; /* suffix of useless files that it leaves in TMPDIR */
    bool no_persona;         /* it does not support `agent` */
    bool ends_early;         /* it may exit with code 0 before it is done, without saying so */
    bool untested;           /* we have never run it; the call follows its documentation */
    bool takes_effort, takes_turns; /* it supports `effort`, `max_turns` */
    const struct denied_option
        *denied; /* denied options of `engine_args`; NULL: it supports no `engine_args` */
    const struct denied_option
        *shared_denied; /* denied options that it shares with other engines, or NULL */
    bool abbreviates;   /* it accepts abbreviated options */
    /* Classifies failures that its exit code or standard error report but its output does not;
     * true if there is one, even with exit code 0. May leave ret_reason empty. NULL: no such
     * failures. */
    bool (*judge_exit)(int exit_code, const char *err_text, enum failure *ret_failure,
                       struct buf *ret_reason);
    /* Reads a line of its standard error, which may tell why it waits or what it has used; or
     * NULL. */
    void (*read_stderr)(struct agent_report *report, const char *line);
    const char *const
        *log_marks; /* words that mark lines which only read_stderr() needs, NULL at the end */
};

/* A model may think or write a long file for a quarter of an hour, and the program reports it only
 * at the end; claude's own watchdog for its model waits five minutes. Engines that report a tool
 * only after it has ended are also silent while the tool runs. */
enum { ENGINE_IDLE_MS = 20 * 60 * 1000, ENGINE_IDLE_TOOLS_MS = 60 * 60 * 1000 };

extern const struct engine_def engine_claude, engine_command, engine_sim;
extern const struct engine_def engine_codex, engine_copilot, engine_aider;
extern const struct engine_def engine_gemini, engine_opencode, engine_qwen;

/* The approval mode of gemini, with its word for `permissions: edit`, the exit codes of its own
 * errors, and its denied options; qwen is derived from gemini and shares them. */
const char *engine_gemini_approval(const struct task *task, const char *edit);
bool engine_gemini_fatal(int exit_code, enum failure *ret_failure);
extern const struct denied_option engine_gemini_denied[];

#endif
