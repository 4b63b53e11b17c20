/*
 * What the files about shared state share.
 */
#ifndef RUN_WATCH_WATCH_PRIVATE_H
#define RUN_WATCH_WATCH_PRIVATE_H

#include "base/map.h"
#include "git/checkout/shared_state.h"
#include "git/checkout/staged.h"
#include "git/checkout/untracked.h"
#include "git/checkout/user_files.h"
#include "run/watch/watch.h"
#include "sys/throttle.h"

typedef VEC(uint32_t) shared_tasks;

/* The branch of a task in conflict, which a person is to resolve. */
struct shared_conflict {
    uint32_t task;
    char *commit;
};

struct repo_watch {
    struct shared_state state;
    struct throttle pace; /* of looking at it */
    struct user_files checkout;
    bool has_checkout;
    struct staged staged; /* both only where there is a checkout */
    struct untracked untracked;
    bool has_staged, has_untracked;
    size_t files_told;                    /* untracked ones, by name */
    struct arena arena;                   /* holds the keys of the maps */
    struct map ours, told;                /* branches that the run made; files that were told of */
    shared_tasks suspects, file_suspects; /* who had a process since the last look at either */
    VEC(struct shared_conflict) conflicts;
    char *base_told, *changed_hook;
    int saved; /* numbers what is saved in the run's folder, and what is kept in git */
};

/* Something that changed, to be told. Strings may be NULL, but for `what`. */
struct finding {
    /* "ref", "head", "stash", "config", "hook", "file", "special" (no file), "checkout", "index",
     * "untracked" */
    const char *what;
    const char *name, *from, *to;
    const char *undo;  /* what to type */
    const char *saved; /* the file with what was there, or was put there */
    const char *kept;  /* the ref that keeps a commit */
    bool restored;
    const struct strv *paths; /* of files of the checkout */
    size_t more;              /* how many others there are of its kind */
};

enum { SHARED_MAX = 20 }; /* things that are told of by name at a time */

/* watch_compare.c: one look at what has changed. */
struct repo_watch_look {
    struct run *run;
    struct attempt *job; /* whose process has ended, or NULL */
    size_t told, more, remotes;
    bool wrote; /* to the configuration: what changes there now is our doing */
};

void repo_watch_look_at(struct repo_watch_look *look, const struct git_change *change);
void shared_look_at_conflicts(struct repo_watch_look *look);
void repo_watch_tell_odd(struct repo_watch_look *look, const char *name); /* it was no file */
void repo_watch_look_done(struct repo_watch_look *look); /* tells of those that were only counted */

/* Whether it is of a workspace, of this run or another: "worktrees/RUN-TASK/HEAD". */
bool repo_watch_is_workspace(const char *name);

/* watch_report.c */
void repo_watch_tell(struct run *run, const shared_tasks *suspects, const struct finding *finding);

/* Saves a file's content in the run's folder; the path is the caller's. NULL: that failed, which is
 * told. */
char *repo_watch_save(struct run *run, const char *name, struct git_content content);

/* Keeps a commit under a ref, unless another ref leads to it; the name is the caller's, or NULL. */
char *repo_watch_keep(struct run *run, const char *commit);

/* watch_files.c: what is not tracked in the user's checkout, and what is staged there. */
void repo_watch_files_begin(struct run *run);
void repo_watch_files_look(struct run *run);

/* watch_config.c: tells of the settings of a configuration file that have changed, and puts back
 * what has to be. True where it wrote to the file. Where the job's task is to fail for it,
 * job->tampered is set. */
bool repo_watch_config(struct run *run, struct attempt *job, const struct git_change *change);

/* undo_hint.c: appends what to type. */
void undo_ref(const struct git_change *change, struct buf *out);
void undo_head(const struct git_change *change, const char *root, struct buf *out);
void undo_setting(const char *file, const char *key, const char *value, struct buf *out);
void undo_stash(const char *message, const char *commit, struct buf *out);
void undo_file(const char *path, const char *saved, struct buf *out); /* saved: NULL: it was new */
void undo_staged(const char *root, const struct strv *paths, struct buf *out);
void undo_unseen(const char *root, const struct strv *paths, struct buf *out);

#endif
