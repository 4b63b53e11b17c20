/*
 * struct report_details: data of the longer reports that the rows do not have: dependencies,
 * timelines, changes outside the task's paths, diffs, and the last output of agents.
 *
 * Diffs and logs are read one by one when they are written. We show nothing that we cannot mask:
 * if a secret of a task was in the environment of the run but is not in ours, we do not know it.
 */
#ifndef VIEW_REPORT_DETAILS_H
#define VIEW_REPORT_DETAILS_H

#include "git/diffs.h"
#include "plan/schedule/graph.h"
#include "project/secrets.h"
#include "view/report/report.h"

enum report_doing {
    REPORT_PREPARING,
    REPORT_RUNNING,
    REPORT_LANDING, /* committing, verifying, landing */
    REPORT_PARKED,
};

/* A time span in one activity. */
struct report_span {
    int64_t from, to; /* ms since 1970 */
    enum report_doing doing;
};

struct report_life {
    VEC(struct report_span) spans;
    bool span_open; /* the last span is still open */
    VEC(const char *)
    outside_paths; /* changed paths that it does not own, relative to the repository */
    VEC(const char *) conflicts; /* conflicting paths, relative to the repository */
    uint32_t stage; /* 0 without dependencies, else 1 + the highest stage of a dependency */
    VEC(uint32_t) dependencies; /* dependencies, as indexes of tasks in the report */
    const struct task *task;    /* its task in the plan; NULL: unknown */
};

/* The usage of one engine and model. */
struct report_spending {
    const char *engine, *model; /* model may be NULL */
    int64_t attempts, tokens_in, tokens_out, cache_read, cache_made;
    double usd;
    int64_t unpriced; /* attempts without a reported cost */
};

struct report_details {
    const struct report *r;
    struct arena arena;
    struct report_life *task_details; /* one per task of the report */
    uint32_t stages;                  /* 0: the plan is unknown */
    size_t dependencies;              /* number of dependencies */
    const char *plan_file;            /* absolute; NULL: read from standard input, or unknown */
    VEC(struct report_spending) spending;
    struct doc doc;
    struct plan plan;
    struct graph graph;
    struct secrets secrets;
    const char *git_dir;
    struct diffs diffs;
    struct map salvaged; /* "TASK/ATTEMPT" -> commit */
    bool salvage_listed; /* `salvaged` has been filled */
};

void report_details_init(struct report_details *m, const struct report *r,
                         const struct report_source *from);
int report_details_load(struct report_details *m, struct store *store, struct err *err);
void report_details_done(struct report_details *m);
#define autoreport_more own_cleanup(report_details_done)

static inline struct report_life *report_life(const struct report_details *m,
                                              const struct report_task *t)
{
    return &m->task_details[t - m->r->tasks];
}

/* A part of a long text. */
struct report_part {
    struct buf text;   /* whole lines, masked */
    const char *wrong; /* the reason if it cannot be shown, or NULL */
    bool cut;          /* a diff lacks its end; a log lacks its start */
    struct diff diff;
};

/* Release with report_part_done(). Empty if the task changed nothing or printed nothing. */
void report_details_diff(struct report_details *m, const struct report_task *t, size_t max,
                         struct report_part *ret);
void report_details_log(struct report_details *m, const struct report_task *t, size_t max,
                        struct report_part *ret);
void report_part_done(struct report_part *part);
#define autopart own_cleanup(report_part_done)

#endif
