/*
 * Tidying up what runs have left in a repository: workspaces, branches, refs, logs, folders, locks.
 * Nothing goes that is not in the base branch or saved (workspace/commit/salvage.h) first; nothing
 * of a run that lives; nothing that a person may be at work in, that can still go on, or is not
 * ours. Each thing is told, with what was done and why. To be stopped at any point is harmless: the
 * next one goes on from what there is.
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
    CLEAN_FAILED,   /* to be removed, and could not be, or not completely */
    CLEAN_DELETING, /* it is out of the way, and another process deletes it: that takes long */
};

struct clean_item {
    enum clean_action action;
    const char *kind;    /* "workspace", "branch", "ref", "logs", "folder", "tree", "file" */
    const char *name;    /* its path, or the name of the ref */
    const char *why;     /* one line, or NULL */
    const char *salvage; /* the id under which its content was saved, or NULL */
    int64_t bytes;       /* that it takes on the disk and that go with it, or -1 */
    bool partial;        /* that is not all of it */
};

typedef void clean_fn(void *ctx, const struct clean_item *item);

enum { CLEAN_LOG_DAYS = 30 };

struct clean_options {
    const struct git_repo *repo; /* root is NULL outside of one: then there are only logs */
    const char *state_dir;
    struct store *store; /* or NULL: nothing was written down */
    const char *self;    /* path of this program */
    bool dry_run;        /* only tell */
    const char *run;     /* also what this one has left, though it could be resumed; or NULL */
    bool all; /* also what a person or a resumed run may want, saved first, and all logs */
    void (*waiting)(const char *whom); /* called when another clean keeps us waiting; or NULL */
    clean_fn *tell;
    void *ctx;
};

/* -1 where it could not be found out what there is; what could not be removed is told. */
int clean(const struct clean_options *opts, struct err *err);

#endif
