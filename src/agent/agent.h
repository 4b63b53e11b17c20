/*
 * Agent programs: how each is called, and what its output means. One table entry and one reader
 * each; nothing else in the program knows one engine from another.
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
    int interrupt_signal; /* how it is asked to end */
    char *dir;
    bool is_ours;      /* a part of this program: it sees all of our folder */
    const char *shown; /* what it may read there beside its task's folder, or NULL */
};
void agent_call_done(struct agent_call *call);

struct agent_context {
    const char *self;        /* path of this program */
    const char *exe;         /* program in place of the engine's own, or NULL */
    const char *prompt_file; /* where the prompt is, for command templates */
    const char *session;     /* to be taken up again, or NULL */
    double usd;              /* that it may cost; below 0: nothing is said */
    const char *dir;
    /* Of its linked worktree: the administrative folder, and the repository's; NULL: it has none.
     */
    const char *admin, *common;
};

/* argv and what the engine itself needs in the environment. */
int agent_build(enum engine engine, const struct task *task, const struct agent_context *ctx,
                struct agent_call *call, struct err *err);

/* Whether the program is there; ERR_ENV, with what to do, where it is not. */
int agent_check(enum engine engine, const struct task *task, const char *exe, struct err *err);

/* Whether an engine can do a task that the plan has another one for. ERR_INPUT where it cannot be
 * told what the plan says. */
int agent_check_instead(enum engine engine, const struct task *task, struct err *err);

/* What of an engine can be used. */
struct agent_facts {
    const char *program; /* NULL: none of its own */
    bool speaks;         /* what it does and uses is understood while it works */
    bool continues;      /* a session can be taken up again */
};
struct agent_facts agent_facts(enum engine engine);

/* Whether it can be one of several personas, which a task names by `agent`. */
bool agent_has_personas(enum engine engine);

/* Adds what is wrong with the options that the plan has for a task's engine, or its fallback. */
void agent_check_options(const struct task *task, struct problems *ps);

/* Leaves out of a task what an engine other than its own does not understand. */
void agent_leave_out(enum engine engine, struct task *task);

/* Whether an agent, all of whose output was read, has ended itself in the middle of its work,
 * without a word: then what it has committed says how far it came. */
bool agent_ended_early(enum engine engine, const struct agent_report *report, int exit_code,
                       int signal);

/* Whether it was never run by us: what is known of it is its documentation. */
bool agent_is_untested(enum engine engine);

/* The session that an agent's output (a file) names, where the engine can take one up again. */
bool agent_find_session(enum engine engine, const char *path, struct buf *out);

/* The same for a session that has come to its end: see agent_continues_ended(). */
bool agent_read_session(enum engine engine, const char *path, struct buf *out);

/* What a session has used, in tokens. */
struct agent_use {
    int64_t in, out, cache_read, cache_made;
};

/* ms that its agent may be silent while no tool works, where the plan does not say; 0: any time. */
int64_t agent_idle(enum engine engine);

/* Where an engine counts what a session has used since it began: adds what an earlier agent's
 * outputs (two files) said, if it was of that session. True: those before it count as well. */
bool agent_add_use(enum engine engine, const char *path, const char *errors, const char *session,
                   struct agent_use *use);

/* A line of its standard error, while it works: some tell only there that they wait for their
 * model, and what they have used. */
void agent_hear(enum engine engine, struct agent_report *report, const char *line);
/* Whether there is anything to be heard. */
bool agent_is_heard(enum engine engine);

/* Takes the lines out of its standard error that are for agent_hear() alone. */
void agent_drop_chatter(enum engine engine, struct buf *text);

/* Removes what the engine itself has left in its TMPDIR, not its agent. */
void agent_tidy(enum engine engine, const char *tmp);

/* Whether the engine can go on with a session that met a limit, when that is over. */
bool agent_continues_limited(enum engine engine);

/* Whether it can go on with a session whose agent has come to its end, told something more. */
bool agent_continues_ended(enum engine engine);

/* Names of the variables that say whose limits count for an engine, NULL at the end; or NULL. */
const char *const *agent_account(enum engine engine);

/* Names of the variables that hold its keys, likewise. */
const char *const *agent_keys(enum engine engine);

/* What an agent said or did, for those who want to show it as it happens. */
enum agent_saying {
    AGENT_WORDS,   /* its own */
    AGENT_ACTION,  /* a tool, and what it is used on */
    AGENT_REFUSAL, /* what a tool answered that failed */
    AGENT_ASK,     /* what it waits for a person to say */
    AGENT_WAIT,    /* what it waits for by itself, as a model that is overloaded */
    AGENT_TROUBLE, /* what is wrong, with it or with its model */
};
typedef void agent_saying_fn(void *ctx, enum agent_saying kind, const char *text);

enum { AGENT_COUNTED = 16 };

/* What an agent's output said so far. */
struct agent_report {
    agent_saying_fn *saying; /* or NULL */
    void *saying_ctx;
    struct buf said; /* last */
    struct buf session, model, action;
    struct buf text;                 /* its last words */
    uint64_t counted[AGENT_COUNTED]; /* the last messages whose tokens were added */
    size_t counts;
    struct agent_use before;        /* of a session that is counted from its beginning */
    struct buf partial;             /* words that come in pieces, so far */
    int64_t tokens_in, tokens_out;  /* without what is cached: */
    int64_t cache_read, cache_made; /* tokens */
    double usd;                     /* below 0: not known */
    struct tool_calls tools;        /* that it uses just now */
    struct buf question;            /* that it waits for a person to answer; "": it does not */
    int64_t again;                  /* when it tries again what it waits for: monotonic ms; or 0 */
    int64_t waits;                  /* since when it waits for its model: monotonic ms; or 0 ... */
    bool waits_on;                  /* ... until it says otherwise, which can be hours */
    int helpers;                    /* agents that it has begun itself ... */
    struct buf helper_names;        /* ... where they have names */
    int denials;                    /* of tools that it wanted to use ... */
    struct buf denied;              /* ... the last one */
    bool finished;                  /* it said that it is done ... */
    bool ok;                        /* ... and well */
    bool recovered;                 /* it named a failure, continued, and may still exit with 1 */
    bool failed;                    /* it named a failure: */
    enum failure failure;
    struct buf reason;
    int64_t reset; /* of a limit: ms since 1970; 0: not said */
    bool changed;  /* since someone looked: for the front ends */
    bool speaks;   /* it has said or done something: its model answers */
};
#define AGENT_REPORT_INIT                                                                          \
    {                                                                                              \
        .said = BUF_INIT, .session = BUF_INIT, .model = BUF_INIT, .action = BUF_INIT,              \
        .text = BUF_INIT, .partial = BUF_INIT, .usd = -1, .denied = BUF_INIT, .reason = BUF_INIT,  \
        .question = BUF_INIT, .helper_names = BUF_INIT                                             \
    }
void agent_report_done(struct agent_report *report);

/* What an engine's output means; NULL: nothing that it says is understood. */
const struct dialect *agent_dialect(enum engine engine);

/* Why an agent that ended did not do what it was asked: by its report, exit code, signal, and the
 * words on its standard error. False where there is no failure. */
bool agent_failed(enum engine engine, const struct agent_report *report, int exit_code, int signal,
                  const char *err_text, enum failure *ret_failure, struct buf *ret_reason);

#endif
