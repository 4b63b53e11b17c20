/*
 * Types and functions shared by the files of src/run.
 */
#ifndef RUN_RUN_PRIVATE_H
#define RUN_RUN_PRIVATE_H

#include "agent/agent.h"
#include "agent/output/dialect.h"
#include "agent/output_tail.h"
#include "git/batch.h"
#include "plan/engine/attempt/verdict.h"
#include "plan/engine/engine.h"
#include "plan/engine/publication.h"
#include "project/config_file.h"
#include "project/secrets.h"
#include "run/attempt/progress.h"
#include "run/attempt/stall.h"
#include "run/land/base_lock.h"
#include "run/land/checkout_lock.h"
#include "run/limits/output_limits.h"
#include "run/run.h"
#include "store/store.h"
#include "sys/contain/contain.h"
#include "sys/fs/beneath.h"
#include "sys/guard/warden.h"
#include "sys/ports.h"
#include "sys/proc/loop.h"
#include "sys/proc/stuck_watch.h"
#include "workspace/commit/commit.h"
#include "workspace/fill/memory_fill.h"
#include "workspace/overlay/base_tree.h"
#include "workspace/overlay/layers.h"
#include "workspace/workspace.h"

#include <sys/stat.h>

/* One task, over all its attempts. */
struct task_run {
    struct run *run;
    const struct engine_task *life; /* its state, and what the engine has decided about it */
    struct task_status status;      /* its strings are those below; run_task() adds the state */
    char *reason, *commit, *landed, *branch, *start, *action, *workspace;
    char *first_start;     /* the first start commit, if `start` has moved since; or NULL */
    struct strv own_heads; /* the agent's last own commit, of each attempt that we committed anew;
                              the log of a repaired workspace still has them */
    char *feedback;        /* tells the next attempt's agent why the last attempt failed, and what a
                              person said */
    struct attempt *attempt;   /* the running attempt, or NULL */
    struct watch *retry_timer; /* timer until the next attempt, or NULL */
    bool has_log_copies;       /* copies of its logs exist: append to them */
    bool steering_recorded;    /* its agent tried to steer the run: recorded once */
    char *pending_message; /* a message for a working agent: we deliver it when the agent is done;
                              or NULL */
    char *last_session;    /* session of the last attempt, if known; or NULL */

    char *landed_before, *committed_before; /* the earlier landing and the task's commit; or NULL */
    char *start_before; /* the commit that it then started from, or NULL: not known here */
    char *session;      /* the next attempt resumes this session; or NULL */
    char *remake_from;  /* ... in a new workspace with the content of this commit as uncommitted
                           files; or NULL */
};

struct lane_account;
struct clean_tree;

/* A process that the engine waits for. A guarded one has pipes to its guard. */
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

/* One attempt at a task. */
struct attempt {
    struct run *run;
    uint32_t task;
    int number;
    struct workspace ws;
    char *dir; /* its files: prompt, logs, index, tmp/ */
    char *cwd; /* the agent's working directory */
    struct process process;
    void (*next)(struct attempt *attempt, int exit_code); /* called when the process has ended */
    struct agent_report report;
    struct output_tail tail;
    struct agent_errors errors;
    struct progress progress;
    struct stall stall;
    struct watch *tick;
    struct logs_copies *copies;         /* copies of its logs for the user; or NULL */
    int64_t agent_started, last_output; /* monotonic ms */
    off_t output_size;
    int64_t printed_bytes; /* bytes, by commands that have ended */
    char *too_large;       /* why the change is too large to commit, or NULL */
    enum stop_reason stopped;
    int exit_code, exit_signal;
    bool guard_lost;
    bool staged_without_git; /* we staged its files without starting git */
    struct buf tree;         /* the staged tree, if there is no index of it */
    struct stat
        index_stat; /* the workspace's index when we copied it (run/prepare/overlay_fill.h) */
    struct work_scan scan;         /* how the work tree differs from its index ... */
    bool scan_is_valid;            /* ... still true: we started nothing in it since ... */
    int64_t scanned_at;            /* ... this time; monotonic ms */
    char *unkillable;              /* a process that nobody could kill, or NULL */
    char exceeded_limit[16];       /* limit that the last command exceeded: "memory"; "": none */
    struct buf candidate;          /* the commit that we verify */
    struct buf candidate_base;     /* the tip on which we made it */
    struct buf branch_before;      /* commit of its branch before we committed */
    size_t hook;                   /* index of the running commit hook */
    enum repair repair;            /* the kind of repair that this attempt is */
    struct clean_tree *clean_tree; /* a tree with the candidate alone, or NULL */
    const struct plan_command *verification; /* the running verification command */
    int verify_step;                         /* verification commands started so far */
    int races;                      /* checkouts that failed because another worktree vanished */
    int port;                       /* first port of its block, or 0 */
    bool prepared, tearing_down;    /* the state of its workspace */
    bool overdue;                   /* a command of the plan took too long */
    int64_t deadline;               /* of that command; monotonic ms */
    char *excludes, *included_list; /* files that list the included files; NULL: none were */
    char *session;                  /* session to resume, or NULL */
    char *brief;                    /* tells the agent this instead of `feedback`; or NULL */
    void (*after_prepare)(
        struct attempt *attempt); /* called when the workspace is ready; NULL: start the agent */
    void (*after_teardown)(struct attempt *attempt); /* called after the teardown */
    struct failure_outcome outcome;                  /* what its failure leads to */
    bool has_feedback;       /* the task's `feedback` says why this attempt failed */
    bool spoke_at_last_tick; /* the agent had spoken at the last tick */
    bool has_workspace;
    bool printed_too_much; /* its commands exceeded the output limit */
    bool is_whole;         /* git has stored its whole change: salvaging it needs no size limit */
    bool verification_broken; /* its verification could not start: another attempt would not help */
    bool ended_early;         /* the agent stopped without a result: only its own commits count */
    char *overrun;            /* by how much it exceeded a budget, or NULL */
    struct file_id dir_id;    /* identifies the folder `dir` (run/attempt/attempt_dir.h) */
    char *dir_error;          /* error text if an agent replaced that folder, or NULL */
    char *tamper_error; /* error text if it changed something outside its workspace, or NULL */
};

/* Work that an observer may still have open when the run has ended. The observer calls run_wake()
 * when it becomes idle. */
struct open_work {
    bool (*is_idle)(const void *ctx);
    void (*give_up)(void *ctx);
    int64_t patience_ms; /* then we call give_up() */
};

struct observer {
    run_observer_fn *fn;
    void *ctx;
    const struct open_work *work; /* or NULL */
    struct watch *deadline;       /* of that work, while we wait for it; or NULL */
};

/* Calls fn every ms milliseconds. */
struct ticker {
    struct watch *watch;
    int64_t ms;
    run_tick_fn *fn;
    void *ctx;
};

/* Moves the base branch to the run's tip; struct publication decides how. */
struct publisher {
    struct publication publication;
    struct base_lock lock;
    struct watch *child,
        *wait; /* the git that moves the base; a timer while we wait for the next try */
    struct stuck_watch *stuck; /* ends that git if it would wait forever */
    pid_t git;                 /* leader of its own process group while `child` is set */
    struct watch *limit;       /* ends the wait for that git */
    struct buf base_seen;      /* the base commit that we saw last */
    bool fast_forward_marked,
        fast_forward_noted; /* we wrote the marks of the current fast-forward */
    struct checkout_lock checkout;
    bool may_be_undone; /* the user may take the base back by aborting an operation */
    char *target;
    void (*after_move)(struct run *run, bool moved); /* called when that git has ended */
    void (*after)(struct run *run);
};

/* How we fill workspaces that start at the base commit (run/prepare/fill.h). */
struct fill {
    enum {
        FILL_UNKNOWN, /* we have filled none yet */
        FILL_FIRST,   /* git fills the first one; the others wait */
        FILL_MOULD,   /* from the copy in memory */
        FILL_GIT,     /* git fills each of them */
    } state;
    struct memory_fill mould;
    VEC(struct attempt *) waiting;
};

/* Work trees to reuse (run/prepare/pool.h). */
struct pool_tree {
    char *path;
    int fd; /* its open folder */
    struct file_id id;
    char *tree; /* id of the tree that we filled it with; NULL: its content is unknown */
    struct work_scan found; /* otherwise: the files that differ from that tree */
};

struct pool {
    VEC(struct pool_tree) trees;
};

/* Workspaces on an overlay file system (run/prepare/overlay_fill.h). */
struct overlay_fill {
    enum {
        LAYERED_UNKNOWN, /* we have not looked for a base tree yet */
        LAYERED_MAKING,  /* git writes a base tree; attempts wait */
        LAYERED_READY,
        LAYERED_NEVER, /* overlays are not possible here */
    } state;
    struct base_tree base_tree;
    struct tracked tracked; /* the entries of its index; read on demand */
    struct base_tree_draft draft;
    struct strv indexes;           /* unused copies of its index */
    size_t indexes_kept;           /* copies ever put there */
    bool has_included;             /* the included files are in a layer below all overlays */
    bool includes_alone;           /* that failed: each workspace has its own included files */
    VEC(struct layers_hold) holds; /* workspaces from before the run was resumed */
};

enum { RUN_SIGNALS = 4 };

struct run {
    struct plan_file *pf;
    struct run_options opts;
    struct loop *loop;
    const struct engine *engine; /* report.c changes it */
    struct secrets secrets;
    struct config_file config;
    struct ports ports;
    struct store *store;
    struct git_batch *batch;
    struct fill fill;
    enum provider provider; /* of the workspaces */
    struct pool pool;
    struct overlay_fill overlay;
    bool only_reads;               /* every task is read-only */
    struct repo_watch *repo_watch; /* NULL outside a repository */
    struct task_run *tasks;
    char *id, *dir, *state_dir, *work_dir; /* work: folder of the workspaces */
    char *guard;           /* path of the guard program; NULL: this program serves as the guard */
    size_t guards;         /* guards started so far */
    char *base, *base_ref; /* branch and full name; NULL outside a repository */
    char *base_commit;     /* the base commit when the run began */
    char *tip;             /* the commit that has all landed work */
    char *tip_ref;         /* ref that keeps the tip alive */
    char *published;       /* the last commit of the base branch that we saw or made */
    char *refusal;         /* git's message, if the checkout could not follow the base */
    char *result, *advice;
    size_t lost_objects, lost_refs; /* found broken after a power failure (run/land/durable.h) */
    const char *plan_path;
    const char *plan_file; /* path of the plan when the run began; NULL: use plan_path */
    struct resume *resume; /* NULL in a new run */
    int64_t started, finished;
    VEC(struct observer) observers;
    VEC(struct ticker *) tickers;
    VEC(struct lane_account *) lane_accounts; /* one per lane */
    struct publisher publisher;
    struct strv git_news;        /* git settings to report: git_frozen_news() */
    struct strv spent_branches;  /* branches of landed tasks to delete, each with its commit */
    struct watch *publish_timer; /* ends the wait for more landings before we publish */
    struct watch *signals[RUN_SIGNALS];
    struct notifier *notifier;      /* or NULL */
    struct parallel *stream_events; /* or NULL */
    struct listener *listener;      /* or NULL */
    bool foreign_steering_recorded; /* an agent of another run tried to steer this one: recorded
                                       once */
    struct warden warden;
    int lock;                 /* lock that marks the run as alive, or -1 */
    bool gc_waits;            /* a running `git gc` holds git's gc lock */
    struct watch *turn_timer; /* timer of on_turn() */
    enum contain contain;     /* how we contain agents */
    int signal;
    struct err err; /* why the program itself could not continue */
};

/* run.c */
struct run *run_new(struct plan_file *pf, const char *path, const struct run_options *opts,
                    char *id, int64_t started); /* the id becomes the run's */
void run_schedule(struct run *run);
struct git_place run_place(const struct run *run);

/* report.c */
struct task_lanes {
    int32_t own, fallback; /* -1: none */
};
void run_engine_new(struct run *run);
void run_engine_schedule(struct run *run, size_t workers);
void run_engine_set_lanes(struct run *run, const struct task_lanes *lanes, size_t count);
void run_engine_free(struct run *run);
/* Reports an event to the engine, and carries out the actions that follow. Returns their number.
 * The others report an event that needs no more than a task, or an answer. */
size_t run_report(struct run *run, const struct engine_event *ev);
void run_report_kind(struct run *run, enum engine_event_kind kind);
void task_report(struct run *run, uint32_t task, enum engine_event_kind kind);
void task_report_if(struct run *run, uint32_t task, enum engine_event_kind kind, bool yes);
/* The caller carries out the action; false if there is none. */
bool run_ask(struct run *run, const struct engine_event *ev, struct action *ret);
/* The same for several actions. */
void run_answer(struct run *run, const struct engine_event *ev, struct actions *ret);

/* turn.c */
void run_wake(struct run *run);
/* These carry out actions of the engine. */
void run_publish_last(struct run *run);
/* Asks all agents to end. If a person stopped the run, saves the work of parked tasks. */
void run_stop_agents(struct run *run, bool by_user);
void run_kill_agents(struct run *run);
void run_give_up_observer(const struct run *run);
void run_fail(struct run *run,
              const struct err *err); /* the program cannot continue: stop the run */
void run_drain(struct run *run);      /* start nothing new; let running attempts finish */
/* The first call asks agents to stop, the second kills them. While the run waits for observers, a
 * call ends a wait. */
void run_stop(struct run *run, int signal);
void run_watch_signals(struct run *run);
/* Waits until the observers have no open work, or gives it up. Call it when the result of the run
 * is recorded. */
void run_finish(struct run *run);

/* run/state/task.c */
void task_report_and_record(struct run *run, uint32_t task, enum engine_event_kind kind);
/* These carry out actions of the engine. */
void task_record_skipped(struct run *run, uint32_t task, uint32_t need);
void task_record_unskipped(struct run *run, uint32_t task);
/* The task has ended in its present state. task_end() also records the time. */
void task_end(struct run *run, uint32_t task);
void task_ended(struct run *run, uint32_t task);
void task_retry_later(struct run *run, uint32_t task, int64_t delay);
/* Skips a task that has no attempt and will have none. */
void task_skip(struct run *run, uint32_t task, const char *reason);
/* Prepares a failed task for another attempt. Tasks that were skipped because of it wait again; an
 * event says so. Returns their number. */
size_t task_take_back(struct run *run, uint32_t task);

/* run/state/status.c */
enum agent_engine run_engine(const struct run *run, uint32_t task);
const char *run_engine_name(const struct run *run, uint32_t task);

/* run/state/status.c: the program to start instead of the engine's usual one, or NULL. */
const char *run_program(const struct run *run, enum agent_engine engine);

/* preflight.c */
int preflight(struct run *run, struct err *err);
int preflight_git_version(const char *text, struct err *err); /* text: output of `git version` */
int preflight_disk(const char *path, struct err *err);

/* run/state/status.c: true if tasks are left that this run will not start. */
bool run_is_unfinished(const struct run *run);
/* Like run_result(), but counts all tasks, even those that this process was not asked to run. */
struct run_result run_whole_result(const struct run *run);

/* run/state/retry.c: a random number for plan/engine/attempt/retry.h. */
uint32_t retry_random(void);

/* run/state/record.c: we write events and rows to the store before we tell observers. If a write
 * fails, the run ends. */
void record(struct run *run, enum event_kind kind, int64_t task, const struct node *data);
void record_task(struct run *run, uint32_t task);
/* For steps that a resume depends on: writes row and event together. Both are on disk on return. */
void record_step(struct run *run, enum event_kind kind, uint32_t task, const struct node *data);
/* Writes row and event together, as one write; a power failure may lose both. */
void record_task_event(struct run *run, enum event_kind kind, uint32_t task);
/* The steps between these two calls become one transaction. */
void record_together(struct run *run);
void record_end_of_group(struct run *run);
/* Writes the row alone, before we do what it says. If this fails, do not do it. */
int record_intent(struct run *run, uint32_t task, struct err *err);
void record_error(struct run *run, int64_t task, const struct err *err); /* reported, not fatal */
/* Appends lines of STORE_LANDED: tasks whose landing is in the base or the tip. This copy helps if
 * the store is lost. */
void record_landed(struct run *run, const struct buf *lines);
/* The same for STORE_COMMITTED: the commit of a task whose agent is done. */
void record_committed(struct run *run, uint32_t task);
int record_begin(struct run *run, struct err *err); /* writes the run and its tasks */
int record_end(struct run *run, const char *state, int exit_code, struct err *err);

/* run/attempt/process.c: starts a process that the attempt waits for; calls `next` when it has
 * ended. If `dir` is NULL, it starts in the workspace. */
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

static inline struct task_run *task_run(struct attempt *attempt)
{
    return &attempt->run->tasks[attempt->task];
}

static inline const struct task *task_of(const struct attempt *attempt)
{
    return &attempt->run->pf->plan.tasks[attempt->task];
}

/* run/attempt/attempt.c */
void attempt_start(struct run *run, uint32_t task, enum task_start start);
struct attempt *attempt_new(struct run *run, uint32_t task, int number);
void attempt_free(struct attempt *attempt);
void attempt_run_agent(struct attempt *attempt); /* when the workspace is ready */
char *attempt_file(const struct attempt *attempt,
                   const char *name); /* path of a file of the attempt */
/* Appends the end of a file of the attempt, without secrets, for reasons and feedback. */
void attempt_read_tail(const struct attempt *attempt, const char *name, struct buf *out);
/* Reads the new output of its agent. True if there may be more: an agent can write faster than we
 * read. */
bool attempt_read_output(struct attempt *attempt);
/* Like attempt_fail(), with the class and the reason of a verdict. */
void attempt_fail_for(struct attempt *attempt, const struct fail_reason *why);
void attempt_stop(struct attempt *attempt, enum stop_reason why, char order);
void attempt_pause(struct attempt *attempt); /* stops all its processes (SIGSTOP) */
void attempt_continue(struct attempt *attempt,
                      int64_t lost); /* continues them; its timeouts ignore the `lost` ms */

/* run/attempt/commit.c */
struct commit_job attempt_commit(const struct attempt *attempt, const char *index,
                                 const char *message);
void attempt_stage(struct attempt *attempt); /* the agent is done: commit its work */
/* True if the task may change these paths (each followed by a NUL), or if the plan only warns.
 * Otherwise fails the attempt. */
bool attempt_check_paths(struct attempt *attempt, const struct buf *paths);

/* run/attempt/salvage.c: true if the last scan of the work tree is still valid. */
bool attempt_has_scan(const struct attempt *attempt);

/* run/attempt/salvage.c: these return false after an error, which they report: the workspace must
 * stay. */
bool attempt_salvage(struct attempt *attempt);      /* everything in the workspace */
bool attempt_salvage_rest(struct attempt *attempt); /* everything that did not land */
bool attempt_salvage_commit(struct attempt *attempt,
                            const char *commit); /* this commit, if the work tree is gone */
/* Saves the changes since `start`. `why` goes into the commit message. */
bool attempt_salvage_since(struct attempt *attempt, const char *start, const char *why);
/* An unused ref for the salvaged work of an attempt. An engine that died may have salvaged the
 * attempt before. */
char *salvage_ref(const struct run *run, const char *id, int number);

/* run/attempt/end.c */
void attempt_fail(struct attempt *attempt, enum failure failure, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Fails an attempt that was stopped: by a person, the end of the run, or a budget. */
void attempt_fail_stopped(struct attempt *attempt);
/* Tells the agent of the next attempt what failed. */
void attempt_feedback(struct attempt *attempt, const char *what, int exit_code, const char *output);
void attempt_tell(struct attempt *attempt, const char *text); /* the same, with free text */
void attempt_error(struct attempt *attempt,
                   const struct err *err); /* fails it with class internal */
/* The commit is in the tip: salvages the rest of the workspace and removes the workspace, while the
 * attempt waits for the base to have the commit. attempt_drop_branches() deletes the branch. */
void attempt_leave(struct attempt *attempt);
void attempt_landed(struct attempt *attempt); /* the base has the commit */
void attempt_drop_branches(struct run *run);
void attempt_unlanded(
    struct attempt *attempt); /* ends a task with nothing to land; an earlier landing stays */
/* Ends the attempt without a result: salvages its work with the reason `why` and removes its
 * workspace. Then the task may start again. */
void attempt_discard(struct attempt *attempt, const char *why);
void attempt_tidy(struct attempt *attempt); /* removes the workspace of a task that ended well */
/* The commit conflicts, or the agent did not resolve its conflict: starts another attempt, or
 * leaves everything for a person. */
void attempt_conflicted(struct attempt *attempt, const char *files);

/* run/land/land.c */
void land_queue(struct attempt *attempt);
void land_turn(struct run *run);
/* Called after land_turn() and after new attempts have started: moves the base to the tip, if it is
 * time. */
void land_publish(struct run *run);
/* These carry out actions of the engine. If the base does not move, we only record what landed. */
void land_begin_publication(struct run *run, bool moves_base);
void land_publish_later(struct run *run, int64_t ms);
/* Records that the task has landed: `on_base`, or so far only in the run's tip. */
void land_tell(struct run *run, uint32_t task, bool on_base);

/* run/land/publish.c: the base branch. */
/* Moves the ref of the run's tip. Only we own it, so we override an agent that moved it. */
int run_move_tip(struct run *run, const char *to, const char *why, struct err *err);
int publish_follow(struct run *run, struct err *err); /* merges others' new commits on the base */
/* Moves the base to the tip, if possible, then calls `then`. Do not call it while a publication
 * runs. */
void publish(struct run *run, void (*then)(struct run *));
int publish_finish(struct run *run,
                   struct err *err); /* keeps unpublished work on a branch, with advice */
/* Ends every wait for others: landed work stays on a branch. */
void publish_give_up(struct run *run);
void publisher_done(struct publisher *p);

#endif
