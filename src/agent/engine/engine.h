/*
 * The engines, one definition each, in a file of its own: how the program is called, and in which
 * dialect it speaks. agent/agent.c has the table.
 */
#ifndef AGENT_ENGINE_ENGINE_H
#define AGENT_ENGINE_ENGINE_H

#include "agent/agent.h"
#include "agent/engine/engine_args.h"
#include "agent/output/dialect.h"

struct engine_def {
    const char *program; /* that must be there; NULL: none, or the task's own */
    /* Its argv, and what it itself needs in the environment. The prompt is its standard input. */
    int (*build)(const struct task *task, const struct agent_context *ctx, struct agent_call *call,
                 struct err *err);
    const struct dialect *dialect; /* NULL: it speaks plain text */
    int interrupt_signal;          /* by which it is asked to end */
    int64_t idle; /* ms that it may be silent while no tool works, if the plan does not say; 0: any
                   * time */
    bool counts_session;        /* what it says was used is since the session's beginning */
    bool continues;             /* it can take up a session again */
    bool continues_limited;     /* only one that met a limit; not needed where it continues */
    bool continues_ended;       /* only one whose agent came to its end; likewise */
    const char *const *account; /* variables that say whose limits count, NULL at the end */
    const char *const *keys;    /* variables whose values are secret, NULL at the end */
    const char *litter;         /* how files end that it leaves in TMPDIR, which nobody wants */
    bool no_persona;            /* it takes no task's `agent` */
    bool ends_early; /* it may end with exit code 0 before it is done, and does not say so */
    bool untested;   /* it is called as its documentation says */
    bool takes_effort, takes_turns;         /* a task's `effort`, its `max_turns` */
    const struct denied_option *denied;     /* of a task's `engine_args`; NULL: it takes none */
    const struct denied_option *denied_too; /* what others have as well; NULL: nothing */
    bool abbreviates;                       /* it takes the beginning of an option for the whole */
    /* What its exit code or its standard error say that its output does not: true where that is a
     * failure, also with exit code 0. NULL: nothing. The reason may be left out. */
    bool (*judge)(int exit_code, const char *err_text, enum failure *ret_failure,
                  struct buf *ret_reason);
    /* A line of its standard error that says what it waits for, or what it has used; or NULL. */
    void (*hear)(struct agent_report *report, const char *line);
    const char *const *chatter; /* words of lines that are there for this alone, NULL at the end */
};

/* A model may think, or write a long file, for a quarter of an hour, and nothing is told of it
 * before the end; claude's own watch over its model takes five minutes. Those that tell of a tool
 * only when it has answered are silent as long as that works. */
enum { ENGINE_IDLE_MS = 20 * 60 * 1000, ENGINE_IDLE_TOOLS_MS = 60 * 60 * 1000 };

extern const struct engine_def engine_claude, engine_command, engine_sim;
extern const struct engine_def engine_codex, engine_copilot, engine_aider;
extern const struct engine_def engine_gemini, engine_opencode, engine_qwen;

/* The exit codes of gemini's own errors, and the options that it may not be given, both of which
 * qwen has from it. */
bool engine_gemini_fatal(int exit_code, enum failure *ret_failure);
extern const struct denied_option engine_gemini_denied[];

#endif
