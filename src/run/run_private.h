/*
 * What the files of the engine share.
 */
#ifndef RUN_RUN_PRIVATE_H
#define RUN_RUN_PRIVATE_H

#include "agent/agent.h"
#include "agent/output/dialect.h"
#include "agent/output_tail.h"
#include "git/batch.h"
#include "plan/schedule/sched.h"
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

/* Tokens, and money. */
struct spent {
    int64_t in, out, cache_read, cache_made;
    double usd;
};

/* What an agent finds that goes on in its session in order to mend its work; see
 * run/rework/repair.h. */
enum repair { REPAIR_NONE, REPAIR_OWN, REPAIR_MERGED, REPAIR_CONFLICT, REPAIR_COUNT_ };

/* One task, over all its attempts. */
struct task_run {
    struct run *run;
    struct task_status status;
    int tried[FAILURE_COUNT_]; /* retries used, by class */
    bool reverts;              /* its last attempt would have undone what others have landed */
    char *reason, *commit, *landed, *branch, *start, *action,
        *workspace;        /* `status` points to these */
    char *origin;          /* where the task began, where `start` has moved on since; or NULL */
    struct strv own_heads; /* the last of the agent's own commits, of each attempt whose commits we
                            * made again: they stay in the log of a workspace that is repaired */
    char *feedback;        /* what the next attempt is told about the last one */
    struct attempt *job;   /* while an attempt is under way */
    struct watch *retry;   /* while it waits for the next one */
    struct budget budget;  /* the plan's, or what it was raised to */
    int64_t order;         /* landing order, with that of its dependants considered */
    bool budget_warned;
    bool logged;         /* the copies of its logs were begun */
    bool steered;        /* its agent tried to steer the run, which was recorded */
    int32_t lane, spare; /* in run->lanes; spare: while the other is closed, or -1 */
    bool falls_back;     /* it goes by that one */
    bool parked;         /* it waits for its lane to open again */
    enum repair repair;  /* its next attempt is one, and its workspace is to be made so */
    bool in_conflict;    /* its agent resolves a conflict: that of `commit` with `start` */
    bool said;           /* a person has told its agent something: `feedback` */
    char *words;         /* likewise, and the agent is at work: it hears it when it is done */
    char *was_in;        /* the session of its last attempt, as far as that is known, or NULL */

    /* Of a run that is gone on with: */
    bool lands;  /* it has its commit, and its workspace is to be made again */
    bool on_top; /* it has landed before, or was in conflict: it begins with all that has landed */
    char *landed_before, *committed_before; /* that landing and its commit; NULL: there is none */

    /* Likewise, parked, or to be mended: its agent goes on in this one, in the workspace that is
     * there; or NULL.
     */
    char *session;
    bool remade; /* that workspace is gone, and is made again, of `start` ... */
    char *from;  /* ... or of this commit, as its uncommitted files; or NULL */
};

struct lane;

/* A process that the engine waits for, with the guard's pipes where it has a guard. */
struct process {
    struct watch *watch;
    struct watch
        *last_resort; /* when a guard that was ordered to end is killed; NULL: it was not */
    struct stuck_watch *stuck; /* of one without a guard */
    struct flood *flood;       /* of one with a guard */
    pid_t pid;
    bool guarded;
    int lifeline, status; /* our ends of the guard's pipes, or -1 */
    char mark[32];        /* of the guard, and of all that it starts */
};

enum stop_reason {
    STOP_NONE,
    STOP_TIMEOUT,
    STOP_IDLE,
    STOP_QUESTION,
    STOP_BUDGET,
    STOP_LIMIT,
    STOP_USER
};

/* One attempt at a task. */
struct attempt {
    struct run *run;
    uint32_t task;
    int attempt;
    struct workspace ws;
    char *dir; /* its files: prompt, logs, index, tmp */
    char *cwd; /* where the agent works */
    struct process process;
    void (*next)(struct attempt *job, int exit_code); /* when the process has ended */
    struct agent_report report;
    struct spent told; /* of what the report says was used */
    struct output_tail tail;
    struct agent_errors errors;
    struct progress progress;
    struct stall stall;
    struct watch *tick;
    struct logs_copies *copies;         /* of its logs, for the user; or NULL */
    int64_t agent_started, last_output; /* monotonic ms */
    off_t output_size;
    int64_t printed; /* bytes, by the commands that have ended */
    char *oversize;  /* why its change is not taken in, or NULL */
    enum stop_reason stopped;
    int exit_code, exit_signal;
    bool guard_lost;           /* the guard of the last command was killed */
    bool staged_here;          /* what it left was staged without git */
    struct buf tree;           /* what that came to, where there is no index of it */
    struct stat index;         /* of its workspace, as it was copied (run/prepare/overlay_fill.h) */
    struct work_scan found;    /* and what it had changed in its work tree ... */
    bool is_found;             /* ... in which nothing that we know of has run since ... */
    int64_t found_at;          /* ... this moment; monotonic ms */
    char *stuck;               /* a process of it that could not be ended, or NULL */
    char limit[16];            /* that the last command went over: "memory"; "": none */
    struct buf candidate;      /* the commit that is being verified */
    struct buf candidate_base; /* the tip that it was made on */
    struct buf was;            /* where its branch was before its commit */
    size_t hook;               /* the commit hook that runs */
    enum repair mending;       /* it is a repair, with such a workspace */
    char *clean;               /* folder of a tree that holds its candidate alone, or NULL */
    const struct plan_command *verification; /* the command that runs */
    int verify_step;                         /* how many commands of the verification were begun */
    int races;                               /* so often a checkout met a worktree that was going */
    int port;                                /* the first of its block, or 0 */
    bool prepared, tearing_down;             /* how far its workspace is */
    bool overdue;                       /* the command that prepares or ends it took too long */
    int64_t deadline;                   /* monotonic ms, of that command */
    char *excludes, *brought;           /* files about what was brought along; NULL: nothing was */
    char *session;                      /* that its agent takes up again, or NULL */
    char *brief;                        /* what it is told in place of `feedback`, or NULL */
    void (*ready)(struct attempt *job); /* when its workspace is; NULL: the agent starts */
    void (*then)(struct attempt *job);  /* behind the teardown */
    bool removes;                       /* at its failure: the workspace goes */
    bool parks, keeps;                  /* likewise: it waits for a limit; with its workspace */
    bool falls_back;                    /* likewise: it begins again by its fallback */
    bool mends;                         /* likewise: it goes on, in order to mend what it made */
    bool told_why;                      /* what was wrong with it is in the task's `feedback` */
    bool spoke;                         /* its agent had said something when last looked at */
    bool has_workspace;
    bool flooded;          /* its commands have printed more than they may */
    bool is_whole;         /* its change was taken in as a whole: to save it costs little */
    bool unverified;       /* its verification could not start: no other attempt helps */
    bool at_tip;           /* its commit is in the run's tip */
    bool ended_early;      /* its agent has; what it has committed counts */
    int64_t reset;         /* of the limit that it met; 0: it is not known */
    int64_t retry_delay;   /* at its failure: ms until the next attempt, or -1 */
    char *overrun;         /* how far it had gone beyond a budget by its end, or NULL */
    struct file_id dir_id; /* which folder `dir` is (run/attempt/attempt_dir.h) */
    char *lost_dir;        /* what an agent did with that, or NULL */
    char *tampered;        /* what it did outside its workspace that it fails for, or NULL */
};

struct observer {
    run_observer_fn *fn;
    void *ctx;
};

/* Someone who wants to be called again and again. */
struct ticker {
    struct watch *watch;
    int64_t ms;
    run_tick_fn *fn;
    void *ctx;
};

/* The base branch on its way to the tip. */
struct publication {
    bool busy;
    int tries;
    struct base_lock turn;
    struct watch *child, *wait; /* git, which moves it; another run, whose turn it is */
    struct stuck_watch *stuck;  /* ends that git where it would wait for ever */
    pid_t git;                  /* leads its own group, as long as there is a child */
    struct watch *limit;        /* until when that is waited for */
    bool given_up;              /* that git, or a turn, did not come to its end: no more of it */
    struct buf seen;            /* where the base was when we last looked */
    int64_t follow_ms;          /* that the tip then took to have all of it */
    bool moved;                 /* the base has all that was to be published */
    bool killed;                /* that git was, and neither moved it nor refused to */
    int64_t deadline;           /* until when another git's lock is waited for */
    bool told;                  /* that it is */
    bool marked, noted;         /* the marks of a fast-forward under way are of this one */
    bool adopted;               /* what an earlier git had left half-way, or there was nothing */
    struct checkout_lock checkout;
    int64_t quiet_until; /* so long we wait for another git in the checkout ... */
    bool others_stay;    /* ... which was in vain before */
    char *target;
    void (*forwarded)(struct run *run, bool moved); /* that git has ended */
    void (*then)(struct run *run);
};

/* How workspaces at the base's commit are filled (run/prepare/fill.h). */
struct fill {
    enum {
        FILL_UNKNOWN, /* none was filled yet */
        FILL_FIRST,   /* git fills the first; others wait */
        FILL_MOULD,   /* from the mould */
        FILL_GIT,     /* by git, each of them */
    } state;
    struct memory_fill mould;
    VEC(struct attempt *) waiting;
};

/* Work trees that are used again (run/prepare/pool.h). */
struct pool_tree {
    char *path;
    int fd; /* its folder, open */
    struct file_id id;
    char *tree; /* the id of what it was filled with; NULL: what is in it, nobody knows */
    struct work_scan found; /* else: what differs from that */
};

struct pool {
    VEC(struct pool_tree) trees;
    size_t count; /* that have been in it, for their names */
};

/* Workspaces that are overlays (run/prepare/overlay_fill.h). */
struct overlay_fill {
    enum {
        LAYERED_UNKNOWN, /* whether there is a pristine tree was not looked at yet */
        LAYERED_MAKING,  /* git writes one; jobs wait */
        LAYERED_READY,
        LAYERED_NEVER, /* it cannot be done */
    } state;
    struct base_tree pristine;
    struct tracked tracked; /* what its index has, once somebody wanted to know */
    struct base_tree_draft draft;
    struct strv indexes;           /* copies of its index that are not used any more */
    size_t indexes_kept;           /* so many were, in all */
    bool brings;                   /* what is brought along is below them all */
    bool alone;                    /* it could not be brought so: each has its own */
    VEC(struct layers_hold) holds; /* of workspaces of an earlier life of the run */
};

enum { RUN_SIGNALS = 4 };

struct run {
    struct plan_file *pf;
    struct run_options opts;
    struct loop *loop;
    struct sched sched;
    struct secrets secrets;
    struct config_file config;
    struct ports ports;
    struct store *store;
    struct git_batch *batch;
    struct fill fill;
    enum provider provider; /* of workspaces */
    struct pool pool;
    struct overlay_fill layered;
    bool only_reads;      /* all tasks do */
    int64_t tokens;       /* that all tasks have used ... */
    double usd;           /* ... and money, as far as that is known */
    struct budget budget; /* the plan's, or what it was raised to */
    bool budget_warned, budget_spent;
    struct repo_watch *shared; /* NULL outside a repository */
    struct task_run *tasks;
    char *id, *dir, *state_dir, *work; /* work: where workspaces are made */
    char *guard;                       /* the program; NULL: this one has to do it */
    size_t guards;                     /* how many were started */
    char *base, *base_ref;             /* branch and full name; NULL outside a repository */
    char *base_commit;                 /* where the base was when the run began */
    char *tip;                         /* all that has landed */
    char *tip_ref;                     /* keeps it */
    char *published;                   /* what the base branch was last seen or made to be at */
    char *refusal;                     /* git's words, where the checkout could not follow */
    char *result, *advice;
    size_t lost_objects, lost_refs; /* that a power failure left (run/land/durable.h) */
    const char *plan_path;
    const char *plan_file; /* where it was found when the run began; NULL: by plan_path */
    struct resume *resume; /* where an earlier one is gone on with; else NULL */
    int64_t started, finished;
    VEC(struct observer) observers;
    VEC(struct ticker *) tickers;
    VEC(struct lane *) lanes;         /* of engines and accounts */
    VEC(struct attempt *) landing;    /* committed, waiting for their turn */
    VEC(struct attempt *) landed_now; /* at the tip, to be told once that is published */
    VEC(struct attempt *) publishing; /* those that the base will have when it has moved */
    struct strv git_news;             /* settings to be told of: git_frozen_news() */
    struct strv spent;                /* branches of what has landed, and where each is */
    struct publication publication;
    struct watch *time_limit; /* while those that landed wait for more */
    int64_t publishing_since; /* when the last publication began */
    int64_t next_publication; /* not before that, unless someone waits for it */
    uint32_t *by_order;       /* tasks with an order, lowest first */
    size_t ordered, order_done;
    size_t jobs;
    struct watch *signals[RUN_SIGNALS];
    struct notifier *notifier; /* or NULL */
    struct parallel *parallel; /* or NULL */
    struct listener *listener; /* or NULL */
    bool steered_from_afar;    /* another run's agent tried to steer this one, which was recorded */
    struct warden warden;
    int lock;             /* held as long as the run lives, or -1 */
    bool gc_waits;        /* for a gc at work, which has git's gc lock */
    struct watch *later;  /* wakes run_turn() */
    enum contain contain; /* how agents are kept together */
    int signal;
    bool draining, stopping, failed;
    bool paused;    /* nothing is begun until someone says so */
    bool home;      /* nothing is left to do: the loop was told to stop */
    struct err err; /* why the program itself could not go on */
};

/* run.c */
struct run *run_new(struct plan_file *pf, const char *path, const struct run_options *opts,
                    char *id, int64_t started); /* the id becomes the run's */
void run_schedule(struct run *run);
struct git_place run_place(const struct run *run);

/* turn.c */
void run_wake(struct run *run);
void run_fail(struct run *run, const struct err *err); /* the program cannot go on: stop */
void run_drain(struct run *run); /* nothing new is started; what runs goes on to its end */
bool run_is_draining(const struct run *run); /* also for want of money */
void run_stop(struct run *run, int signal);  /* politely, the second time not */
void run_watch_signals(struct run *run);

/* run/state/task.c */
void task_set_state(struct run *run, uint32_t task, enum task_state state);
void task_end(struct run *run, uint32_t task, enum task_state state);
void task_ended(struct run *run, uint32_t task); /* as its state says: what follows from it */
void task_retry_later(struct run *run, uint32_t task, int64_t delay);
/* One that has no job, and will have none. */
void task_skip(struct run *run, uint32_t task, const char *reason);
/* One that has failed is aside, and will be tried again; what was skipped for its sake waits again,
 * which is told. Returns how many these are. */
size_t task_take_back(struct run *run, uint32_t task);

/* run/state/status.c */
enum engine run_engine(const struct run *run, uint32_t task);
const char *run_engine_name(const struct run *run, uint32_t task);

/* run/state/status.c: the program to use in place of an engine's usual one, or NULL. */
const char *run_program(const struct run *run, enum engine engine);

/* preflight.c */
int preflight(struct run *run, struct err *err);
int preflight_git_version(const char *text, struct err *err); /* as `git version` has it */
int preflight_disk(const char *path, struct err *err);

/* run/state/status.c: whether tasks are left that nobody is to begin any more. */
bool run_is_unfinished(const struct run *run);
/* As run_result(), but of all tasks, also those that this process was not to run. */
struct run_result run_whole_result(const struct run *run);

/* run/state/retry.c: ms until the next attempt, which is then counted; -1 where there is none. */
int64_t retry_delay(struct run *run, uint32_t task, enum failure failure);
bool retry_is_left(const struct run *run, uint32_t task, enum failure failure);
int retry_times(const struct run *run, uint32_t task, enum failure failure);
bool retry_parks(const struct run *run, uint32_t task); /* at a limit, until that is over */
int64_t retry_pause(enum failure failure, int times);   /* ms, the more the more times it was */
int64_t retry_jitter(int64_t ms);                       /* a quarter more or less */

/* run/state/record.c: events and rows, written before anyone is told. What cannot be written ends
 * the run. */
void record(struct run *run, enum event_kind kind, int64_t task, const struct node *data);
void record_task(struct run *run, uint32_t task);
/* What resuming depends on: row and event together, and on disk when the call returns. */
void record_step(struct run *run, enum event_kind kind, uint32_t task, const struct node *data);
/* Steps between these two are written as one. */
void record_together(struct run *run);
void record_end_of_group(struct run *run);
/* The row alone, before what it says is done; not to be done where this fails. */
int record_intent(struct run *run, uint32_t task, struct err *err);
void record_error(struct run *run, int64_t task, const struct err *err); /* told, not fatal */
/* Tasks of which the base, or the tip, has what they landed as: a second copy of what the store
 * says, for when that is lost. Lines of STORE_LANDED. */
void record_landed(struct run *run, const struct buf *lines);
int record_begin(struct run *run, struct err *err); /* the run and its tasks */
int record_end(struct run *run, const char *state, int exit_code, struct err *err);

/* run/attempt/process.c: starting what the job waits for; `next` is called when it has ended. `dir`
 * is NULL for its workspace. */
int process_start(struct attempt *job, char *const *argv, char *const *env, const char *dir,
                  const char *log, void (*next)(struct attempt *, int), struct err *err);
int process_start_guarded(struct attempt *job, const struct agent_call *call, const char *in_path,
                          const char *out_path, const char *err_path,
                          void (*next)(struct attempt *, int), struct err *err);
void process_order(struct attempt *job, char order);
void process_done(struct process *p);
/* Whether a git that wrote to prepare.log is to be tried again (git_is_race()); not without end. */
bool process_lost_race(struct attempt *job, int exit_code);
/* Whether the job's last command was ended by neither itself nor us; with what to say of it. */
bool process_was_broken(const struct attempt *job, enum failure *ret_failure,
                        struct buf *ret_reason);

static inline struct task_run *task_run(struct attempt *job)
{
    return &job->run->tasks[job->task];
}

static inline const struct task *task_of(const struct attempt *job)
{
    return &job->run->pf->plan.tasks[job->task];
}

/* run/attempt/attempt.c */
void attempt_start(struct run *run, uint32_t task);
struct attempt *attempt_new(struct run *run, uint32_t task, int attempt);
void attempt_free(struct attempt *job);
void attempt_run_agent(struct attempt *job);                     /* the workspace is ready */
char *attempt_file(const struct attempt *job, const char *name); /* the path of one of its files */
/* Appends the end of one of its files, masked, for reasons and feedback. */
void attempt_read_tail(const struct attempt *job, const char *name, struct buf *out);
void attempt_stop(struct attempt *job, enum stop_reason why, char order);
void attempt_pause(struct attempt *job);                  /* all its processes stand still */
void attempt_continue(struct attempt *job, int64_t lost); /* they go on; these ms did not count */

/* run/attempt/commit.c */
struct commit_job attempt_commit(const struct attempt *job, const char *index, const char *message);
void attempt_stage(struct attempt *job); /* the agent has done its part: on to its commit */
/* Whether the task may change these paths, each with a NUL behind it; else the task has failed, or
 * only a warning was given. */
bool attempt_check_paths(struct attempt *job, const struct buf *paths);

/* run/attempt/salvage.c: whether `found` still tells how the work tree differs from its index. */
bool attempt_has_scan(const struct attempt *job);

/* run/attempt/salvage.c: false where that failed, was told, and the workspace must stay. */
bool attempt_salvage(struct attempt *job);      /* all that is in the workspace */
bool attempt_salvage_rest(struct attempt *job); /* what did not land with it */
bool attempt_salvage_commit(struct attempt *job,
                            const char *commit); /* that, where there is no tree */
/* What was made since `start`; why is for those who find it. */
bool attempt_salvage_since(struct attempt *job, const char *start, const char *why);
/* The ref under which an attempt is saved: one that is free, as it may have been saved before, by
 * an engine that is gone. */
char *salvage_ref(const struct run *run, const char *id, int attempt);

/* run/attempt/end.c */
void attempt_fail(struct attempt *job, enum failure failure, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Likewise, by whoever stopped it: a person, the end of the run, or its own limits. */
void attempt_fail_stopped(struct attempt *job);
/* What the next attempt is told of this one. */
void attempt_feedback(struct attempt *job, const char *what, int exit_code, const char *output);
void attempt_tell(struct attempt *job, const char *text);       /* likewise, in any words */
void attempt_error(struct attempt *job, const struct err *err); /* class internal */
/* Its commit is in the tip, which a ref leads to: what else is in its workspace is saved, and that
 * goes, while the job waits for the base to have it. Its branch goes with attempt_drop_branches().
 */
void attempt_leave(struct attempt *job);
void attempt_landed(struct attempt *job); /* the base has it */
void attempt_drop_branches(struct run *run);
void attempt_unlanded(
    struct attempt *job); /* there is nothing to land; what landed before stays landed */
/* The attempt is over without a result: its work is saved, with the words why, its workspace goes,
 * and the task may begin again. */
void attempt_discard(struct attempt *job, const char *why);
void attempt_tidy(struct attempt *job); /* the task has ended well, and its workspace goes */
/* It does not merge, or its agent has not resolved that: another attempt, or it is left as it is.
 */
void attempt_conflicted(struct attempt *job, const char *files);

/* run/land/land.c */
void land_queue(struct attempt *job);
/* Whether a job waits for its landing, which it then does no longer. */
bool land_leave(struct attempt *job);
void land_turn(struct run *run);
/* Behind that, when it is known who has begun: brings the base to the tip, where it is time. */
void land_publish(struct run *run);
/* The task has landed: `on_base`, or so far in the run's own ref. */
void land_tell(struct run *run, uint32_t task, bool on_base);

/* run/land/publish.c: the base branch. */
/* Moves the ref of the run's tip, which is ours alone: an agent that moves it does not stop us. */
int run_move_tip(struct run *run, const char *to, const char *why, struct err *err);
int publish_follow(struct run *run, struct err *err); /* takes in what others put on the base */
/* Brings the base to the tip, if it may, and calls `then`; not to be called while it is busy. */
void publish(struct run *run, void (*then)(struct run *));
int publish_finish(struct run *run, struct err *err); /* what is not there: a branch and advice */
/* Whoever is waited for is not waited for any longer: what landed stays on a branch. */
void publish_give_up(struct run *run);
void publication_done(struct publication *p);

#endif
