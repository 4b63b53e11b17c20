/*
 * struct report_details: what the longer reports show beyond the rows of the store: who waited for
 * whom, when each task did what, where it strayed, what it changed and what its agent said last.
 *
 * Diffs and logs are read one by one, as they are shown. What cannot be masked is not shown: where
 * a secret of a task was in the environment of the run and is not in ours, nobody knows it any
 * more.
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

/* A stretch of a task's time. */
struct report_span {
    int64_t from, to; /* ms since 1970 */
    enum report_doing doing;
};

struct report_life {
    VEC(struct report_span) spans;
    bool going;                  /* the last one has no end yet */
    VEC(const char *) strays;    /* paths that it changed and does not own, of the repository */
    VEC(const char *) conflicts; /* paths in conflict, likewise */
    uint32_t stage;              /* 0 without dependencies, else 1 + that of the latest one */
    VEC(uint32_t) needs;         /* places in the report, of those that are in it */
    const struct task *task;     /* of the plan; NULL: it is not known */
};

/* What attempts of one engine and model used together. */
struct report_spending {
    const char *engine, *model; /* model may be NULL */
    int64_t attempts, tokens_in, tokens_out, cache_read, cache_made;
    double usd;
    int64_t unpriced; /* attempts that did not tell */
};

struct report_details {
    const struct report *r;
    struct arena arena;
    struct report_life *lives; /* by place in the report */
    uint32_t stages;           /* 0: the plan is not known */
    size_t needs;              /* of all tasks together */
    const char *plan_file;     /* absolute; NULL: it was read from standard input, or unknown */
    VEC(struct report_spending) spending;
    struct doc doc;
    struct plan plan;
    struct graph graph;
    struct secrets secrets;
    const char *git_dir;
    struct diffs diffs;
    struct map salvaged; /* names of commits, by "TASK/ATTEMPT" */
    bool looked;         /* for salvage */
};

void report_details_init(struct report_details *m, const struct report *r,
                         const struct report_source *from);
int report_details_load(struct report_details *m, struct store *store, struct err *err);
void report_details_done(struct report_details *m);
#define autoreport_more own_cleanup(report_details_done)

static inline struct report_life *report_life(const struct report_details *m,
                                              const struct report_task *t)
{
    return &m->lives[t - m->r->tasks];
}

/* What there is to show of a text that is too long for all of it. */
struct report_part {
    struct buf text;   /* whole lines, masked */
    const char *wrong; /* why there is none, or NULL */
    bool cut;          /* a diff: its end is missing; a log: its beginning */
    struct diff diff;
};

/* To be released with report_part_done(). Empty where the task changed or said nothing. */
void report_details_diff(struct report_details *m, const struct report_task *t, size_t max,
                         struct report_part *ret);
void report_details_log(struct report_details *m, const struct report_task *t, size_t max,
                        struct report_part *ret);
void report_part_done(struct report_part *part);
#define autopart own_cleanup(report_part_done)

#endif
