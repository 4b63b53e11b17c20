/*
 * Removes what runs have left in a repository: workspaces, branches, refs, logs, folders, locks.
 * Before we remove work, we save it (workspace/commit/salvage.h), unless the base branch has it. We
 * keep everything of live runs and of runs that can be resumed, all places in which a person may
 * work, and all that anabranch did not make. We report each thing with the action and the reason.
 * A clean may be killed at any time: the next one continues.
 */
#ifndef CLEAN_CLEAN_H
#define CLEAN_CLEAN_H

#include "git/git.h"
#include "store/store.h"

#include <stdbool.h>
#include <stdint.h>

enum clean_action {
    CLEAN_REMOVED,
    CLEAN_KEPT,
    CLEAN_FAILED,   /* we could not remove it, or not all of it */
    CLEAN_DELETING, /* it is out of the way; another process deletes it, which takes long */
};

struct clean_item {
    enum clean_action action;
    const char *kind;    /* "workspace", "branch", "ref", "logs", "folder", "tree", "file" */
    const char *name;    /* its path, or the name of the ref */
    const char *why;     /* one line, or NULL */
    const char *salvage; /* the id under which we saved its content, or NULL */
    int64_t bytes;       /* disk space that its removal frees, or -1 */
    bool partial;        /* `bytes` is only a lower bound */
};

typedef void clean_fn(void *ctx, const struct clean_item *item);

enum { CLEAN_LOG_DAYS = 30 };

struct clean_options {
    const struct git_repo *repo; /* without a root (outside a repository) there are only logs */
    const char *state_dir;
    struct store *store; /* NULL if nothing was recorded */
    const char *self;    /* path of this program */
    bool dry_run;        /* report, but change nothing */
    const char *run;     /* NULL, or a run whose leftovers we remove even if it could be resumed */
    bool all; /* also what a person or a resumed run may want, saved first, and all logs */
    void (*waiting)(const char *whom); /* another clean keeps us waiting; may be NULL */
    clean_fn *tell;
    void *ctx;
};

/* Returns -1 if we cannot find out what there is. We report things that we cannot remove. */
int clean(const struct clean_options *opts, struct err *err);

#endif
