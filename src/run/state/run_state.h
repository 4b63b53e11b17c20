/*
 * struct run: the engine, the journal, the loop, and the state of each action.
 */
#ifndef RUN_STATE_RUN_STATE_H
#define RUN_STATE_RUN_STATE_H

#include "base/err.h"
#include "git/batch.h"
#include "git/git.h"
#include "plan/engine/engine.h"
#include "project/config_file.h"
#include "project/secrets.h"
#include "run/land/publish.h"
#include "run/prepare/workspaces.h"
#include "run/run.h"
#include "run/state/task.h"
#include "store/store.h"
#include "sys/contain/contain.h"
#include "sys/guard/warden.h"
#include "sys/proc/loop.h"

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

/* Hears of the run. */
struct audience {
    VEC(struct observer) observers;
    VEC(struct ticker *) tickers;
    struct notifier *notifier;      /* or NULL */
    struct parallel *stream_events; /* or NULL */
};

/* The branch on which work lands. */
struct base_branch {
    char *name, *ref;           /* branch and full name; NULL outside a repository */
    char *start;                /* its commit when the run began */
    char *tip;                  /* the commit that has all landed work */
    char *tip_ref;              /* ref that keeps the tip alive */
    char *published;            /* the last commit of the branch that we saw or made */
    char *refusal;              /* git's message, if the checkout could not follow the base */
    char *result, *advice;      /* see struct run_result */
    struct strv spent_branches; /* branches of landed tasks to delete, each with its commit */
};

/* The folders and files of the run. */
struct run_files {
    char *dir, *state; /* of the run, and of all runs */
    const char *plan;
    const char *plan_copy; /* path of the plan when the run began; NULL: use `plan` */
    int lock;              /* lock that marks the run as alive, or -1 */
};

/* How the run contains agents. */
struct guarding {
    char *path;   /* of the guard program; NULL: this program serves as the guard */
    size_t count; /* guards started so far */
    struct warden warden;
    enum contain contain;
};

/* Facts that we report once. */
struct notices {
    struct strv git_news;           /* git settings to report: git_frozen_news() */
    size_t lost_objects, lost_refs; /* found broken after a power failure (land/durable.h) */
    bool gc_waits;                  /* a running `git gc` holds git's gc lock */
    bool foreign_steering_recorded; /* an agent of another run tried to steer this one */
};

/* The journal. record.c writes it. */
struct journal {
    struct store *store;
    struct buf lines; /* of the engine's events that are not in the store yet */
    size_t written;   /* bytes of them that the open group of the store has */
};

enum { RUN_SIGNALS = 4 };

struct turn {
    void (*begin)(void *run);
    struct watch *timer; /* calls it */
    struct watch *signals[RUN_SIGNALS];
    int signal; /* the signal that stopped the run, or 0 */
};

struct run {
    struct plan_file *pf;
    struct run_options opts;
    struct loop *loop;
    const struct engine *engine; /* report.c changes it */
    struct journal journal;
    struct git_batch *batch;
    struct task_run *tasks;
    char *id;
    struct run_files files;
    struct base_branch base;
    struct workspaces work;
    struct guarding guard;
    struct publisher publisher;
    struct turn turn;
    struct audience audience;
    struct notices notices;
    struct secrets secrets;
    struct config_file config;
    struct repo_watch *repo_watch;            /* NULL outside a repository */
    VEC(struct lane_account *) lane_accounts; /* one per lane */
    struct listener *listener;                /* or NULL */
    struct resume *resume;                    /* NULL in a new run */
    int64_t started, finished;
    struct err err; /* why the program itself could not continue */
};

static inline struct git_place run_place(const struct run *run)
{
    return (struct git_place){.batch = run->batch, .git_dir = run->pf->repo.common};
}

#endif
