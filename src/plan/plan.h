/*
 * struct plan: what is to be done, as the program sees it, whatever syntax and vocabulary it was
 * written in. Built once by plan_decode() and never changed afterwards.
 *
 * Strings and lists live in the plan's arena or in the tree that it was decoded from, so the tree
 * must outlive the plan. `node` members lead back to where something was written.
 */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include "base/arena.h"
#include "base/map.h"
#include "base/node/node.h"
#include "base/node/problem.h"
#include "plan/failure.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whose vocabulary the file uses. */
enum plan_kind { PLAN_TASKS, PLAN_ORCHESTRA, PLAN_THREADS, PLAN_BATCHES };

/* In every enum 0 is "the plan does not say". The words for them are in words.h. */
enum overlap { OVERLAP_UNSET, OVERLAP_REFUSE, OVERLAP_SERIALISE, OVERLAP_ALLOW };
enum enforce { ENFORCE_UNSET, ENFORCE_WARN, ENFORCE_ASK, ENFORCE_BLOCK };
enum permissions { PERMISSIONS_UNSET, PERMISSIONS_READ, PERMISSIONS_EDIT, PERMISSIONS_FULL };
enum effort {
    EFFORT_UNSET,
    EFFORT_LOW,
    EFFORT_MEDIUM,
    EFFORT_HIGH,
    EFFORT_XHIGH,
    EFFORT_MAX,
};
enum provider {
    PROVIDER_UNSET,
    PROVIDER_AUTO,
    PROVIDER_OVERLAY,
    PROVIDER_SNAPSHOT,
    PROVIDER_POOL,
    PROVIDER_CHECKOUT,
};
enum land_at { LAND_AT_UNSET, LAND_AT_EACH, LAND_AT_END };
enum land_budget { LAND_BUDGET_UNSET, LAND_BUDGET_FAIL, LAND_BUDGET_WARN };
enum land_style { LAND_STYLE_UNSET, LAND_STYLE_MERGE, LAND_STYLE_SQUASH, LAND_STYLE_REBASE };
/* Whom the commits that an agent made itself name as their author. */
enum land_author { LAND_AUTHOR_UNSET, LAND_AUTHOR_USER, LAND_AUTHOR_AGENT };
enum engine {
    ENGINE_UNSET,
    ENGINE_CLAUDE,
    ENGINE_CODEX,
    ENGINE_GEMINI,
    ENGINE_OPENCODE,
    ENGINE_QWEN,
    ENGINE_COPILOT,
    ENGINE_AIDER,
    ENGINE_COMMAND,
    ENGINE_SIM,
};

enum notify_on { NOTIFY_FAILED, NOTIFY_CONFLICTED, NOTIFY_PARKED, NOTIFY_DONE, NOTIFY_WAITING };

enum { PLAN_UNSET = -1 }; /* of numbers and durations: the plan does not say */

/* How often a failure is tried again, or one of the words below. */
enum { RETRY_PARK = -2, RETRY_STOP = -3, RETRY_FAIL = -4, RETRY_REPAIR = -5 };

struct retry {
    int times[FAILURE_COUNT_]; /* PLAN_UNSET, a word, or 0..100 */
};

struct strings {
    const char **v;
    size_t n;
};

/* A command to run: a shell line or an argv, never both; neither: there is none. */
struct plan_command {
    const char *shell;
    struct strings argv;
    bool clean; /* of a verification: in a tree that holds the commit and nothing else */
};

struct budget {
    double usd;     /* PLAN_UNSET: no limit */
    int64_t tokens; /* PLAN_UNSET: no limit */
};

/* What does a task while its own engine's account has met a limit; neither: nothing, it waits. */
struct fallback {
    enum engine engine; /* ENGINE_UNSET: the same */
    const char *model;  /* NULL: the engine's own */
};

/* What one attempt may change. */
struct change_limits {
    int64_t files, bytes;
};

/* What one task may use of the machine; 0: no limit. PLAN_UNSET is that as well for the first
 * three, and a default for the others (run/limits/output_limits.h). */
struct task_limits {
    int64_t memory; /* bytes */
    int64_t processes, cpu;
    int64_t output; /* bytes that one attempt may print */
    struct change_limits change;
};

#define TASK_LIMITS_INIT                                                                           \
    {                                                                                              \
        PLAN_UNSET, PLAN_UNSET, PLAN_UNSET, PLAN_UNSET,                                            \
        {                                                                                          \
            PLAN_UNSET, PLAN_UNSET                                                                 \
        }                                                                                          \
    }

struct env_var {
    const char *name;
    const char *value; /* NULL: taken from our own variable `from` when the task starts */
    const char *from;
    bool secret; /* never shown, masked in logs */
};

struct env_vars {
    struct env_var *v;
    size_t n;
};

struct notify {
    unsigned on; /* bits 1 << enum notify_on */
    const char *webhook;
    struct plan_command command;
    bool desktop, bell;
};

struct notify_list {
    struct notify *v;
    size_t n;
    bool said; /* also where it is empty: then nobody is told */
};

/* A path that a task owns or must not touch. */
struct claim {
    const char *text; /* as written */
    const struct node *node;
    const char *pattern; /* what it stands for, relative to the root; NULL: by its text */
};

struct claim_list {
    struct claim *v;
    size_t n;
};

struct task {
    const struct node *node;
    uint32_t index; /* place in plan->tasks */
    const char *id;
    const char *title;
    const char *prompt, *prompt_file; /* one of the two */
    const struct node *prompt_file_node;
    const char *agent;
    enum engine engine;
    const char *model;
    enum effort effort;
    int64_t max_turns;
    struct strings engine_args;
    const struct node *engine_args_node; /* or NULL */
    struct fallback fallback;
    enum permissions permissions;
    bool read_only;
    bool hand_on;   /* what its agent says last goes into the prompts of its dependants */
    uint32_t *deps; /* places in plan->tasks, in file order, each once */
    size_t dep_count;
    struct claim_list owns, forbids;
    int64_t order; /* INT64_MIN: not said */
    const char *branch;
    const char *group;
    const struct node *group_node;
    int64_t estimate, timeout, idle_timeout; /* ms */
    struct retry retry;
    struct plan_command verify;
    struct env_vars env;
    struct budget budget;
    struct task_limits limits; /* where the plan's are not its own */
    const char *executor;
    struct plan_command command;
    enum enforce enforce;
};

/* A batch of an Agent Dispatch Manifest: its agents are tasks that follow one another in the plan.
 */
struct plan_batch {
    const struct node *node;
    const char *id;
    const char *title; /* or NULL */
    uint32_t first;    /* place of its first task */
    size_t n;
    bool parallel;   /* its agents do not wait for each other */
    bool fan_out;    /* that, and what they say is for those that follow */
    bool says_order; /* it, or one of its agents, has a `depends_on` */
};

struct plan_batches {
    struct plan_batch *v;
    size_t n;
};

struct group {
    const char *name;
    int64_t limit;
    const struct node *node;
    size_t tasks; /* how many name it */
};

struct plan {
    struct arena arena;
    enum plan_kind kind;
    const char *name, *base, *cwd;
    const struct node *cwd_node;
    bool claims_from_file; /* `owns` is relative to the plan's folder, not to the project */
    enum overlap overlap;
    enum enforce enforce;

    int64_t workers;
    struct group *groups;
    size_t group_count;
    struct budget budget;
    struct task_limits task_limits;

    enum provider provider;
    const char *workspace_dir;
    struct strings include, share;
    struct strings salvage; /* patterns of ignored files that are worth saving */
    struct plan_command setup, teardown;
    int64_t ports;

    enum land_at land_at;
    enum land_style land_style;
    enum land_budget land_budget; /* of work that had gone beyond a budget by its end */
    enum land_author land_author;
    struct plan_command land_verify;

    bool commit_hooks;
    const char *commit_message;

    struct notify_list notify;

    struct plan_command log; /* told what becomes of streams */

    struct task *tasks;
    size_t task_count;
    struct map by_id; /* to struct task */

    struct plan_batches batches; /* that the tasks were written as; none in other vocabularies */
};

/* Decodes a tree, translating foreign vocabulary first (which changes the tree's `name`s). Adds
 * every problem that the tree alone can show: types, values, references, cycles are the graph's.
 * Returns -1 where there were errors; the plan is then to be released all the same, with
 * plan_done(). */
int plan_decode(struct plan *plan, struct node *root, struct arena *tree_arena,
                struct problems *ps);

/* The same for a tree that plan_encode() has made of a plan that was written in that vocabulary. */
int plan_decode_encoded(struct plan *plan, const struct node *root, enum plan_kind kind,
                        struct problems *ps);
void plan_done(struct plan *plan);

/* How a task is called in messages: its id, also where that is missing or wrong. */
const char *task_name(const struct task *t);

struct task *plan_find(const struct plan *plan, const char *id);

/* The plan as a tree again, in the canonical vocabulary, defaults applied: what `check --json`
 * shows. Only what the plan says is in it. */
struct node *plan_encode(const struct plan *plan, struct arena *a);

/* One of its tasks, likewise. */
struct node *plan_encode_task(const struct plan *plan, const struct task *t, struct arena *a);

/* Puts the values of variables that are secret, which the two above hide from those who look, into
 * an encoded task: for the program itself. */
void plan_reveal(const struct task *t, struct node *encoded);

/* Gives tasks of a plan that was encoded with its secrets hidden their values back, from the plan
 * that it was made of, by task and name. NULL, or the first variable that is not there; the task is
 * then in *ret_task. */
const struct env_var *plan_recall(struct plan *plan, const struct plan *from,
                                  const struct task **ret_task);

/* Gives the values of a tree that is to be written in another syntax the kind that a plan reads
 * them as, where that would be lost: `read_only: yes` becomes true, and a variable 1.10 or an id
 * 007 the text "1.10" or "007", while the id 7 stays a number. */
void plan_apply_defaults(struct node *root);

const char *plan_kind_name(enum plan_kind kind);

#endif
