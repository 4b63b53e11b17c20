/*
 * Converging turns the work of threads (threads/thread.h) into pull requests, or into commands that
 * make them, or lands it on the base branch. It takes the threads one after the other, in merge
 * order. If one fails, the others continue.
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
    bool no_options;         /* hints must not mention our options: another tool's command line */
    bool commit;             /* first commit uncommitted changes */
    const char *remote;      /* NULL: "origin" */
    const char *upstream;    /* remote that gets the pull requests; NULL: where we push */
    const char *base;        /* overrides the base of each thread (short name), or NULL */
    const struct strv *only; /* ids; NULL: all */
    void (*waiting)(
        const char *whom); /* called while another landing keeps us waiting; may be NULL */
};

enum converge_end {
    CONVERGE_PENDING,  /* not decided yet */
    CONVERGE_NOTHING,  /* it has no commits of its own */
    CONVERGE_MADE,     /* pushed, with a new pull request */
    CONVERGE_UPDATED,  /* pushed; we updated the existing pull request */
    CONVERGE_PRINTED,  /* `commands` has the commands to type */
    CONVERGE_LANDED,   /* the base has it now */
    CONVERGE_REFUSED,  /* this and all below: not done. We refused */
    CONVERGE_FAILED,   /* git or the forge failed */
    CONVERGE_CONFLICT, /* it does not merge cleanly */
    CONVERGE_STOPPED,  /* a signal came (sys/interrupt.h) */
};

const char *converge_end_name(enum converge_end end); /* "nothing", "made" ... */

struct converge_result {
    struct thread_look *look;
    enum converge_end end;
    char *detail;  /* reason, or address of the pull request, or commit, or NULL */
    char *warning; /* it changes paths of others, or comes too early in the merge order; or NULL */
    struct buf commands;
};

struct converge {
    const struct git_repo *repo;
    struct converge_options opts;
    struct git_batch *batch;
    struct threads threads;
    struct thread_looks looks;
    struct forge forge;
    struct forge_url upstream,
        fork;       /* repositories of opts.upstream, and of the remote that we push to */
    char *base_ref; /* full ref of opts.base, or NULL */
    bool *unmerged; /* per thread: it has unmerged work, and must come before another */
    struct {
        struct converge_result *v; /* of requested threads, in merge order */
        size_t n, cap;
    } results;
};

/* Converges. Returns ERR_INPUT if the options are wrong or there is no thread, ERR_ENV if the
 * repository or the forge's program is unusable; nothing has changed then. Always call
 * converge_close(). */
int converge(struct converge *c, const struct git_repo *repo, const struct converge_options *opts,
             struct err *err);
void converge_close(struct converge *c);
#define autoconverge own_cleanup(converge_close)

/* True if this damaged thread was requested. It gets no result, and we leave it alone. */
bool converge_leaves(const struct converge *c, const struct thread_damaged *d);

/* If a signal wants us to stop before we have done anything with the thread, ends it so and returns
 * true. */
bool converge_stops(struct converge_result *r);

/* Sets the end of a result, with a message. */
void converge_end(struct converge_result *r, enum converge_end end, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
