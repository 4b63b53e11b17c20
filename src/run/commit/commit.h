/*
 * Makes a commit that may land from the files in an agent's workspace.
 */
#ifndef RUN_COMMIT_COMMIT_H
#define RUN_COMMIT_COMMIT_H

#include "base/buf.h"
#include "workspace/commit/commit.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct action;
struct attempt;
struct engine_event;
struct run;

/* Part of an attempt: its staged files. */
struct staging {
    bool without_git;       /* we staged its files without starting git */
    bool is_whole;          /* git has stored its whole change: salvaging it needs no size limit */
    char *too_large;        /* why the change is too large to commit, or NULL */
    struct buf tree;        /* the staged tree, if there is no index of it */
    struct stat index_stat; /* the workspace's index when we copied it (prepare/overlay_fill.h) */
    struct work_scan scan;  /* how the work tree differs from its index ... */
    bool scan_is_valid;     /* ... still true: we started nothing in it since ... */
    int64_t scanned_at;     /* ... this time; monotonic ms */
    struct buf branch_before; /* commit of its branch before we committed */
    size_t hook;              /* index of the running commit hook */
};
#define STAGING_INIT                                                                               \
    {                                                                                              \
        .tree = BUF_INIT, .branch_before = BUF_INIT                                                \
    }

/* Carries out an action of the engine: the agent is done. */
void do_commit(struct run *run, const struct action *a, const struct engine_event *ev);

#endif
