/*
 * Shared by the files of `clean`.
 */
#ifndef CLEAN_CLEAN_PRIVATE_H
#define CLEAN_CLEAN_PRIVATE_H

#include "clean/clean.h"
#include "clean/leftovers.h"
#include "sys/fs/disk_use.h"
#include "workspace/overlay/layers.h"

/* A report that waits until its paths are deleted: ranges of cleaner.delete_now and
 * delete_later. */
struct pending_report {
    struct clean_item item;
    size_t delete_now, delete_now_end, delete_later, delete_later_end;
};

struct cleaner {
    const struct clean_options *opts;
    struct leftovers leftovers;
    struct git_place at;
    struct strv delete_now;   /* paths to delete at the end */
    struct strv delete_later; /* the same, in another process */
    struct strv records; /* folders of runs that have only the record of their workspaces left */
    VEC(struct pending_report) pending_reports; /* reports on these paths */
    char *scratch;                              /* a folder for our own files */
    VEC(struct layers_hold) holds; /* mounts that show layered workspaces to us alone */
    struct base_tree base_tree;    /* the base tree below the last of them */
    struct disk_use measured;      /* disk space of the thing that we report next */
};

/* clean.c: a report of a removal carries the space measured since the last report. If paths were
 * added to delete_now or delete_later since then, the report waits until they are deleted. */
void clean_measure(struct cleaner *c, const char *path);
void clean_tell(struct cleaner *c, enum clean_action action, const char *kind, const char *name,
                const char *salvage, const char *fmt, ...) __attribute__((format(printf, 6, 7)));

/* clean_save.c: *ret_yes is true if a merge of the commit into the base would change nothing. */
int clean_is_merged(const struct cleaner *c, const struct leftover_run *run, const char *commit,
                    bool *ret_yes, struct err *err);

/* Saves what is in a workspace, or left of it. *ret_id is the id of the salvage; it is empty if the
 * base branch has everything. */
int clean_save(struct cleaner *c, struct leftover_task *t, struct buf *ret_id, struct err *err);

/* The same for a branch without a workspace. */
int clean_save_branch(struct cleaner *c, struct leftover_task *t, struct buf *ret_id,
                      struct err *err);

/* clean_work.c: workspaces, and branches without a workspace. clean_find_users() finds the
 * processes in all workspaces before we mount the first overlay: a plain user is then in a user
 * namespace, where the kernel hides the folders of processes outside of it. */
void clean_find_users(struct cleaner *c, struct leftover_task *t);
void clean_task(struct cleaner *c, struct leftover_task *t);
void clean_inner(struct cleaner *c, struct leftover_task *t);

/* True if the user lets us remove the leftovers of an interrupted run. */
bool clean_may_remove(const struct cleaner *c, const struct leftover_run *run);

/* clean_rest.c: everything else. */
int clean_tips(struct cleaner *c, struct err *err);
int clean_logs(struct cleaner *c, struct err *err);
int clean_base_trees(struct cleaner *c, struct err *err);
int clean_shared_folders(struct cleaner *c, struct err *err);
int clean_temporary(struct cleaner *c, struct err *err);
int clean_locks(struct cleaner *c, struct err *err);

/* Runs first and removes what blocks every git: locks that a killed git left in the common folder,
 * and git's gc lock if no run is alive. It also completes a checkout that was interrupted
 * halfway. */
void clean_blockers(struct cleaner *c);
void clean_delete(struct cleaner *c); /* deletes what was set aside */

#endif
