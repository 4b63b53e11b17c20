/*
 * struct plan: a decoded plan, independent of its syntax and vocabulary. plan_decode() builds it
 * once; it never changes afterwards.
 *
 * Strings and lists live in the plan's arena or in the tree that the plan was decoded from, so the
 * tree must outlive the plan. `node` members point to the place in the file.
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

/* The vocabulary of the file. */
enum plan_kind { PLAN_TASKS, PLAN_ORCHESTRA, PLAN_THREADS, PLAN_BATCHES };

/* In every enum 0 means that the plan does not set the value. words.h has the words. */
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
/* The author of commits that an agent made itself. */
enum land_author { LAND_AUTHOR_UNSET, LAND_AUTHOR_USER, LAND_AUTHOR_AGENT };
enum agent_engine {
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

enum { PLAN_UNSET = -1 }; /* for numbers and durations: not set in the plan */

/* How often a failure is retried, or one of these words. */
enum { RETRY_PARK = -2, RETRY_STOP = -3, RETRY_FAIL = -4, RETRY_REPAIR = -5 };

struct retry {
    int times[FAILURE_COUNT_]; /* PLAN_UNSET, a word, or 0..100 */
};

struct strings {
    const char **v;
    size_t n;
};

/* A command: a shell line or an argv, never both; empty: no command. */
struct plan_command {
    const char *shell;
    struct strings argv;
    bool clean; /* for a verification: run it in a tree that contains only the commit */
};

struct budget {
    double usd;     /* PLAN_UNSET: no limit */
    int64_t tokens; /* PLAN_UNSET: no limit */
};

/* Replaces a task's engine while its account has met a limit; empty: the task waits. */
struct fallback {
    enum agent_engine engine; /* ENGINE_UNSET: the same */
    const char *model;        /* NULL: the engine's default */
};

/* Limits for the changes of one attempt. */
struct change_limits {
    int64_t files, bytes;
};

/* Limits for a task's use of the machine; 0: no limit. PLAN_UNSET also means no limit for the first
 * three, and a default for the others (plan/engine/limits/task_limits.h). */
struct task_limits {
    int64_t memory; /* bytes */
    int64_t processes, cpu;
    int64_t output; /* maximum bytes of output of one attempt */
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
    const char *value; /* NULL: copied from our own variable `from` when the task starts */
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
    bool said; /* the plan has `notify`, even if it is empty: then we notify nobody */
};

/* A path that a task owns or must not change. */
struct claim {
    const char *text; /* as written */
    const struct node *node;
    const char *pattern; /* the pattern, relative to the root; NULL: derived from `text` */
};

struct claim_list {
    struct claim *v;
    size_t n;
};

struct task {
    const struct node *node;
    uint32_t index; /* index in plan->tasks */
    const char *id;
    const char *title;
    const char *prompt, *prompt_file; /* one of the two is set */
    const struct node *prompt_file_node;
    const char *agent;
    enum agent_engine engine;
    const char *model;
    enum effort effort;
    int64_t max_turns;
    struct strings engine_args;
    const struct node *engine_args_node; /* or NULL */
    struct fallback fallback;
    enum permissions permissions;
    bool read_only;
    bool hand_on;   /* add the last message of its agent to the prompts of its dependants */
    uint32_t *deps; /* indexes in plan->tasks, in file order, without duplicates */
    size_t dep_count;
    struct claim_list owns, forbids;
    int64_t order; /* INT64_MIN: not set */
    const char *branch;
    const char *group;
    const struct node *group_node;
    int64_t estimate, timeout, idle_timeout; /* ms */
    struct retry retry;
    struct plan_command verify;
    struct env_vars env;
    struct budget budget;
    struct task_limits limits; /* PLAN_UNSET: the plan's limits apply */
    const char *executor;
    struct plan_command command;
    enum enforce enforce;
};

/* A batch of an Agent Dispatch Manifest: its agents are consecutive tasks of the plan. */
struct plan_batch {
    const struct node *node;
    const char *id;
    const char *title; /* or NULL */
    uint32_t first;    /* index of its first task */
    size_t n;
    bool parallel;   /* its agents run at the same time */
    bool fan_out;    /* parallel, and the next batch gets a summary of its agents' results */
    bool says_order; /* the batch or one of its agents has a `depends_on` */
};

struct plan_batches {
    struct plan_batch *v;
    size_t n;
};

struct group {
    const char *name;
    int64_t limit;
    const struct node *node;
    size_t tasks; /* number of tasks in it */
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
    struct strings salvage; /* patterns of ignored files to save */
    struct plan_command setup, teardown;
    int64_t ports;

    enum land_at land_at;
    enum land_style land_style;
    enum land_budget land_budget; /* for work that exceeded a budget */
    enum land_author land_author;
    struct plan_command land_verify;

    bool commit_hooks;
    const char *commit_message;

    struct notify_list notify;

    struct plan_command log; /* receives the events of streams */

    struct task *tasks;
    size_t task_count;
    struct map by_id; /* values: struct task */

    struct plan_batches batches; /* the original batches; none in other vocabularies */
};

/* Forgets the tree that the plan was decoded from, so that the caller can free its nodes; the plan
 * still needs the strings of the tree. After that, nothing can report a place in the file. */
void plan_forget_tree(struct plan *plan);

/* Decodes a tree. First translates a foreign vocabulary, which changes the `name`s in the tree.
 * Adds a problem for everything that is wrong in the tree itself: types, values, references; the
 * graph finds cycles. Returns -1 if there were errors. Call plan_done() in every case. */
int plan_decode(struct plan *plan, struct node *root, struct arena *tree_arena,
                struct problems *ps);

/* The same for a tree that plan_encode() made from a plan in that vocabulary. */
int plan_decode_encoded(struct plan *plan, const struct node *root, enum plan_kind kind,
                        struct problems *ps);
void plan_done(struct plan *plan);

/* The name of a task in messages: its id, even if that is missing or wrong. */
const char *task_name(const struct task *t);

struct task *plan_find(const struct plan *plan, const char *id);

/* Encodes the plan as a tree in the canonical vocabulary, with the defaults applied: the output of
 * `check --json`. Leaves out values that the plan does not set. */
struct node *plan_encode(const struct plan *plan, struct arena *a);

/* The same without the tasks: a caller that writes a long plan encodes one task at a time. */
struct node *plan_encode_frame(const struct plan *plan, struct arena *a);

/* Encodes one of its tasks in the same way. */
struct node *plan_encode_task(const struct plan *plan, const struct task *t, struct arena *a);

/* Inserts the values of secret variables into an encoded task, for use inside the program. The two
 * functions above hide them. */
void plan_reveal(const struct task *t, struct node *encoded);

/* Restores the secret values in a plan that was encoded without them, from the plan that it was
 * made from, by task and name. Returns NULL, or the first variable that `from` lacks, with its task
 * in *ret_task. */
const struct env_var *plan_recall(struct plan *plan, const struct plan *from,
                                  const struct task **ret_task);

/* Converts values of a tree to the kinds that a plan has. Call it before you write the tree in a
 * syntax that would lose the kind: `read_only: yes` becomes true, a variable 1.10 or an id 007
 * becomes the text "1.10" or "007", and the id 7 stays a number. */
void plan_apply_defaults(struct node *root);

const char *plan_kind_name(enum plan_kind kind);

#endif
