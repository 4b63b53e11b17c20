/*
 * Converging: the work of threads (threads/thread.h) becomes pull requests, or commands that make
 * them, or part of the base branch; one thread after the other, in the order in which they are to
 * be merged. What goes wrong with one does not stop the others.
 */
#ifndef THREADS_CONVERGE_CONVERGE_H
#define THREADS_CONVERGE_CONVERGE_H

#include "threads/converge/forge.h"
#include "threads/converge/forge_url.h"
#include "threads/status/status.h"

#include <stdbool.h>

enum converge_way { CONVERGE_PUSH, CONVERGE_PRINT, CONVERGE_INTO_BASE };

struct converge_options {
    enum converge_way way;
    bool draft;
    bool no_options;         /* hints name none: the command line is another tool's */
    bool commit;             /* what is not committed is committed first */
    const char *remote;      /* NULL: "origin" */
    const char *upstream;    /* remote in whose repository pull requests are made; NULL: where it is
                              * pushed to */
    const char *base;        /* short name of a branch in place of each thread's own, or NULL */
    const struct strv *only; /* ids; NULL: all */
    void (*waiting)(const char *whom); /* told where another lands and takes longer; or NULL */
};

enum converge_end {
    CONVERGE_PENDING,  /* not yet */
    CONVERGE_NOTHING,  /* it has no commits of its own */
    CONVERGE_MADE,     /* pushed, with a new pull request */
    CONVERGE_UPDATED,  /* pushed; the pull request that was there says what is true now */
    CONVERGE_PRINTED,  /* commands has what to type */
    CONVERGE_LANDED,   /* it is part of the base now */
    CONVERGE_REFUSED,  /* from here on: not done. By us */
    CONVERGE_FAILED,   /* by git or the forge */
    CONVERGE_CONFLICT, /* it does not merge */
    CONVERGE_STOPPED,  /* a signal came (sys/interrupt.h) */
};

const char *converge_end_name(enum converge_end end); /* "nothing", "made" ... */

struct converge_result {
    struct thread_look *look;
    enum converge_end end;
    char *detail; /* why it was not done; or the address of the pull request, or the commit; or NULL
                   */
    char *warning; /* that it strayed from its paths or comes before its turn, or NULL */
    struct buf commands;
};

struct converge {
    const struct git_repo *repo;
    struct converge_options opts;
    struct git_batch *batch;
    struct threads threads;
    struct thread_looks looks;
    struct forge forge;
    struct forge_url upstream, fork; /* of opts.upstream, and of what is pushed to */
    char *base_ref;                  /* of opts.base, or NULL */
    bool *waits; /* per thread: it has work that is not merged, and comes before another */
    struct {
        struct converge_result *v; /* of those that were asked for, in their order */
        size_t n, cap;
    } results;
};

/* Does it. ERR_INPUT where options are wrong or there is no thread, ERR_ENV where the repository or
 * the forge's program is not as it must be: nothing was changed then. To be closed in every case.
 */
int converge(struct converge *c, const struct git_repo *repo, const struct converge_options *opts,
             struct err *err);
void converge_close(struct converge *c);
#define autoconverge own_cleanup(converge_close)

/* Whether one of threads.damaged was asked for: it has no result, and nothing was done with it. */
bool converge_leaves(const struct converge *c, const struct thread_damaged *d);

/* True, and its end, where a signal wants us to stop before anything was done with it. */
bool converge_stops(struct converge_result *r);

/* The end of one, with words for it. */
void converge_end(struct converge_result *r, enum converge_end end, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
