/*
 * Agent programs: how we call each one, and how we read its output. Each has one definition and
 * one reader; the rest of the program does not know the differences between engines.
 */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include "agent/output/tool_calls.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/strv.h"
#include "plan/plan.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct dialect;
struct agent_report;

struct agent_call {
    struct strv argv, env;
    int interrupt_signal; /* the signal that asks it to end */
    char *dir;
    bool is_ours;      /* it is this program itself: it sees our whole folder in the repository */
    const char *shown; /* what it may read there besides its task's folder, or NULL */
};
void agent_call_done(struct agent_call *call);

struct agent_context {
    const char *self;        /* path of this program */
    const char *exe;         /* program to run instead of the engine's own, or NULL */
    const char *prompt_file; /* file with the prompt, for command templates */
    const char *session;     /* session to resume, or NULL */
    double usd;              /* budget; below 0: none */
    const char *dir;
    /* The administrative folder and the common folder of its linked worktree; NULL: it works in
     * none. */
    const char *admin, *common;
};

/* Fills in argv and the environment variables that the engine itself needs. */
int agent_build(enum agent_engine engine, const struct task *task, const struct agent_context *ctx,
                struct agent_call *call, struct err *err);

/* Checks that the program exists; else ERR_ENV with what to do. */
int agent_check(enum agent_engine engine, const struct task *task, const char *exe,
                struct err *err);

/* Checks that an engine can do a task that the plan gives to another one. ERR_INPUT if it does not
 * support an option that the plan sets. */
int agent_check_instead(enum agent_engine engine, const struct task *task, struct err *err);

/* The abilities of an engine. */
struct agent_facts {
    const char *program; /* NULL: it has none of its own */
    bool speaks;         /* we understand its output while it works */
    bool continues;      /* it can resume a session */
};
struct agent_facts agent_facts(enum agent_engine engine);

/* True if it has personas, which a task selects by `agent`. */
bool agent_has_personas(enum agent_engine engine);

/* Adds errors about options that the task's engine, or its fallback, does not support. */
void agent_check_options(const struct task *task, struct problems *ps);

/* Removes options from a task that an engine other than its own does not understand. */
void agent_leave_out(enum agent_engine engine, struct task *task);

/* True if an agent stopped in the middle of its work without a failure, after we have read all of
 * its output. Then the commits in its workspace tell how far it came. */
bool agent_ended_early(enum agent_engine engine, const struct agent_report *report, int exit_code,
                       int signal);

/* True if we have never run this engine and know it only from its documentation. */
bool agent_is_untested(enum agent_engine engine);

/* Finds the session in an agent's output (a file), if the engine can resume it. */
bool agent_find_session(enum agent_engine engine, const char *path, struct buf *out);

/* The same for a session whose agent has ended: see agent_continues_ended(). */
bool agent_read_session(enum agent_engine engine, const char *path, struct buf *out);

/* Tokens that a session has used. */
struct agent_use {
    int64_t in, out, cache_read, cache_made;
};

/* Milliseconds that an agent may be silent while no tool runs, if the plan does not say; 0: no
 * limit. */
int64_t agent_idle(enum agent_engine engine);

/* For an engine that reports the usage of a whole session: if an earlier agent had this session,
 * adds the usage in its outputs (two files). Returns true if the outputs before it count as well.
 */
bool agent_add_use(enum agent_engine engine, const char *path, const char *errors,
                   const char *session, struct agent_use *use);

/* Reads a line of its standard error while it works. Some engines report only there that they wait
 * for their model, and what they have used. */
void agent_hear(enum agent_engine engine, struct agent_report *report, const char *line);
/* True if we read this engine's standard error. */
bool agent_is_heard(enum agent_engine engine);

/* Removes the lines from a text of its standard error that only agent_hear() needs. */
void agent_drop_chatter(enum agent_engine engine, struct buf *text);

/* Removes files that the engine itself, not its agent, has left in its TMPDIR. */
void agent_tidy(enum agent_engine engine, const char *tmp);

/* True if the engine can resume a session that met a limit, once the limit is over. */
bool agent_continues_limited(enum agent_engine engine);

/* True if it can resume a session whose agent has ended, with a new message. */
bool agent_continues_ended(enum agent_engine engine);

/* Names of the variables that decide which account's limits apply to an engine, NULL at the end;
 * or NULL. */
const char *const *agent_account(enum agent_engine engine);

/* Names of the variables that contain its keys, likewise. */
const char *const *agent_keys(enum agent_engine engine);

/* Kinds of messages about an agent, for those who display them at once. */
enum agent_saying {
    AGENT_WORDS,   /* its own text */
    AGENT_ACTION,  /* a tool, and its target */
    AGENT_REFUSAL, /* the output of a tool that failed */
    AGENT_ASK,     /* a question to the user, for whose answer it waits */
    AGENT_WAIT,    /* a reason why it waits by itself, such as an overloaded model */
    AGENT_TROUBLE, /* an error of the agent or its model */
};
typedef void agent_saying_fn(void *ctx, enum agent_saying kind, const char *text);

enum { AGENT_COUNTED = 16 };

/* Everything that we know from an agent's output so far. */
struct agent_report {
    agent_saying_fn *saying; /* or NULL */
    void *saying_ctx;
    struct buf said; /* the last message */
    struct buf session, model, action;
    struct buf text;                 /* its last text */
    uint64_t counted[AGENT_COUNTED]; /* hashes of the last messages whose tokens we have added */
    size_t counts;
    struct agent_use
        before;         /* usage of the session before this agent, if the engine reports totals */
    struct buf partial; /* text that arrives in pieces, so far */
    int64_t tokens_in, tokens_out;  /* without cached tokens: */
    int64_t cache_read, cache_made; /* tokens */
    double usd;                     /* below 0: not known */
    struct tool_calls tools;        /* tools that are running */
    struct buf question;            /* question for whose answer it waits; "": none */
    int64_t again;                  /* when it will retry: monotonic ms; or 0 */
    int64_t waits; /* since when it waits for its model: monotonic ms; 0: it does not ... */
    bool waits_on; /* ... and it waits until it reports otherwise, which can be hours later */
    int helpers;   /* number of agents that it has started itself ... */
    struct buf helper_names; /* ... and their names, if they have any */
    int denials;             /* number of tool calls that were denied ... */
    struct buf denied;       /* ... and the last of these tools */
    bool finished;           /* it reported that it is done ... */
    bool ok;                 /* ... and successfully */
    bool recovered;          /* it reported a failure but continued; its exit code may still be 1 */
    bool failed;             /* it reported a failure: */
    enum failure failure;
    struct buf reason;
    int64_t reset; /* end of a limit: ms since 1970; 0: not reported */
    bool changed;  /* something changed since a front end last looked */
    bool speaks;   /* it has said or done something, so its model answers */
};
#define AGENT_REPORT_INIT                                                                          \
    {                                                                                              \
        .said = BUF_INIT, .session = BUF_INIT, .model = BUF_INIT, .action = BUF_INIT,              \
        .text = BUF_INIT, .partial = BUF_INIT, .usd = -1, .denied = BUF_INIT, .reason = BUF_INIT,  \
        .question = BUF_INIT, .helper_names = BUF_INIT                                             \
    }
void agent_report_done(struct agent_report *report);

/* The reader of an engine's output; NULL: we do not understand its output. */
const struct dialect *agent_dialect(enum agent_engine engine);

/* Classifies the end of an agent by its report, exit code, signal, and standard error. False if it
 * did not fail. */
bool agent_failed(enum agent_engine engine, const struct agent_report *report, int exit_code,
                  int signal, const char *err_text, enum failure *ret_failure,
                  struct buf *ret_reason);

#endif
