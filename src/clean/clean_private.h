/*
 * What the files of tidying up share.
 */
#ifndef CLEAN_CLEAN_PRIVATE_H
#define CLEAN_CLEAN_PRIVATE_H

#include "clean/clean.h"
#include "clean/leftovers.h"
#include "sys/fs/disk_use.h"
#include "workspace/overlay/layers.h"

/* A thing that goes when paths are deleted, some of `left` and some of `large`. */
struct doomed {
    struct clean_item item;
    size_t left, left_end, large, large_end;
};

struct cleaner {
    const struct clean_options *opts;
    struct leftovers remains;
    struct git_place at;
    struct strv left, large;       /* paths to delete at the end: here, or by another process */
    VEC(struct doomed) doomed;     /* what they belong to, to be told then */
    char *scratch;                 /* folder for our own files, ours alone */
    VEC(struct layers_hold) holds; /* of workspaces that only we see ... */
    struct base_tree below;        /* ... and what is below the last of them */
    struct disk_use use;           /* what the thing takes that is told next */
};

/* clean.c: what is told is what was measured since the last time, if it goes. A thing whose paths
 * were put into `left` or `large` since then is told when these are deleted. */
void clean_measure(struct cleaner *c, const char *path);
void clean_tell(struct cleaner *c, enum clean_action action, const char *kind, const char *name,
                const char *salvage, const char *fmt, ...) __attribute__((format(printf, 6, 7)));

/* clean_save.c: the commit of the branch that the work of a run was meant for. */
int clean_base(const struct cleaner *c, const struct leftover_run *run, struct buf *ret,
               struct err *err);

/* Whether what a run that was interrupted has left goes, too. */
bool clean_takes(const struct cleaner *c, const struct leftover_run *run);

/* Whether merging a commit into that would change nothing. */
int clean_is_merged(const struct cleaner *c, const struct leftover_run *run, const char *commit,
                    bool *ret_yes, struct err *err);

/* Saves what is in a workspace, or left of it. *ret_id is its id, empty where all of it is in the
 * base branch. */
int clean_save(struct cleaner *c, struct leftover_task *t, struct buf *ret_id, struct err *err);

/* The same for a branch alone. */
int clean_save_branch(struct cleaner *c, struct leftover_task *t, struct buf *ret_id,
                      struct err *err);

/* clean_work.c: workspaces, and branches that are without one. All are looked at first, for who is
 * at work in them: with the first overlay a plain user is in a user namespace, where the system
 * does not tell him what processes outside of it are at. */
void clean_look(struct cleaner *c, struct leftover_task *t);
void clean_task(struct cleaner *c, struct leftover_task *t);
void clean_inner(struct cleaner *c, struct leftover_task *t);

/* clean_rest.c: everything else. */
int clean_tips(struct cleaner *c, struct err *err);
int clean_logs(struct cleaner *c, struct err *err);
int clean_pristine(struct cleaner *c, struct err *err);
int clean_kept(struct cleaner *c, struct err *err);
int clean_temporary(struct cleaner *c, struct err *err);
int clean_locks(struct cleaner *c, struct err *err);

/* First of all, what is in the way of every git: locks on what all share that a killed git left,
 * git's gc lock where no run lives, and a checkout that is half moved. */
void clean_shared(struct cleaner *c);
void clean_delete(struct cleaner *c); /* what was put aside */

#endif
