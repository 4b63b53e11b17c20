/*
 * Declarations shared by the files of this folder.
 */
#ifndef RUN_WATCH_WATCH_PRIVATE_H
#define RUN_WATCH_WATCH_PRIVATE_H

#include "base/map.h"
#include "git/checkout/shared_state.h"
#include "git/checkout/staged.h"
#include "git/checkout/untracked.h"
#include "git/checkout/user_files.h"
#include "run/watch/other_runs.h"
#include "run/watch/watch.h"
#include "sys/throttle.h"

typedef VEC(uint32_t) shared_tasks;

/* The branch of a task in conflict, which a person will resolve. */
struct shared_conflict {
    uint32_t task;
    char *commit;
};

struct repo_watch {
    struct shared_state state;
    struct throttle pace; /* limits how often we look */
    struct user_files checkout;
    bool has_checkout;
    struct staged staged; /* `staged` and `untracked` need a checkout */
    struct untracked untracked;
    bool has_staged, has_untracked;
    size_t files_told;     /* untracked files reported by name */
    struct arena arena;    /* holds the keys of the maps */
    struct map ours, told; /* branches of the run; files already reported */
    shared_tasks suspects,
        file_suspects; /* tasks with a process since the last look at state or files */
    VEC(struct shared_conflict) conflicts;
    char *base_told, *changed_hook;
    int saved; /* numbers the files saved in the run's folder */
};

/* A change to record. Strings may be NULL, except `what`. */
struct finding {
    /* "ref", "head", "stash", "config", "hook", "file", "special" (no file), "checkout", "index",
     * "untracked" */
    const char *what;
    const char *name, *from, *to;
    const char *undo;  /* the command that undoes the change */
    const char *saved; /* the file with the saved content, old or new */
    const char *kept;  /* the ref that keeps a commit */
    bool restored;
    bool lost;                /* saved work whose objects and copy are gone */
    const struct strv *paths; /* changed files of the checkout */
    size_t more;              /* number of further changes of this kind */
};

enum { SHARED_MAX = 20 }; /* changes recorded by name at a time */

/* watch_compare.c: one look for changes. */
struct repo_watch_look {
    struct run *run;
    struct attempt *attempt; /* the attempt whose process has ended, or NULL */
    size_t told, more, remotes;
    bool wrote; /* we wrote to the configuration: further changes there are ours */
    struct other_runs others;
};

void repo_watch_look_at(struct repo_watch_look *look, const struct git_change *change);
void shared_look_at_conflicts(struct repo_watch_look *look);
void repo_watch_tell_odd(struct repo_watch_look *look,
                         const char *name); /* a removed file that was not a regular file */
void repo_watch_look_done(
    struct repo_watch_look *look); /* records the changes that were only counted; frees */

/* True for files of a workspace of any run: "worktrees/RUN-TASK/HEAD". */
bool repo_watch_is_workspace(const char *name);

/* watch_report.c */
void repo_watch_tell(struct run *run, const shared_tasks *suspects, const struct finding *finding);

/* Saves content as a file in the run's folder. The caller frees the returned path. NULL: an
 * error, which is recorded. */
char *repo_watch_save(struct run *run, const char *name, struct git_content content);

/* Keeps a commit under a ref, unless another ref leads to it. The caller frees the returned
 * name, which may be NULL. */
char *repo_watch_keep(struct run *run, const char *commit);

/* watch_files.c: untracked files and the index of the user's checkout. */
void repo_watch_files_begin(struct run *run);
void repo_watch_files_look(struct run *run);

/* watch_config.c: records the settings of a configuration file that have changed, and restores
 * some. Returns true if it wrote to the file. Sets attempt->tampered if the attempt must fail for a
 * change. */
bool repo_watch_config(struct repo_watch_look *look, const struct git_change *change);

/* undo_hint.c: each function appends a command. */
void undo_ref(const struct git_change *change, struct buf *out);
void undo_head(const struct git_change *change, const char *root, struct buf *out);
void undo_setting(const char *file, const char *key, const char *value, struct buf *out);
void undo_stash(const char *message, const char *commit, struct buf *out);
void undo_file(const char *path, const char *saved, struct buf *out); /* saved: NULL: it was new */
void undo_link(const char *path, const char *target, struct buf *out);
void undo_staged(const char *root, const struct strv *paths, struct buf *out);
void undo_unseen(const char *root, const struct strv *paths, struct buf *out);

#endif
