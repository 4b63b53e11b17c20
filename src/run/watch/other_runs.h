/*
 * struct other_runs: what other processes of anabranch write in the repository during this run, so
 * that we do not take it for changes of our agents. Other runs have branches with names of their
 * own, files of the caller, and logs. `anabranch materialise`, `fanout` and `salvage restore` make
 * worktrees; they note them in the folder of each live run. Reads the store and the folders of
 * runs, at the first question.
 */
#ifndef RUN_WATCH_OTHER_RUNS_H
#define RUN_WATCH_OTHER_RUNS_H

#include "base/err.h"
#include "base/map.h"
#include "base/strv.h"

#include <stdbool.h>

struct run;
struct store;

struct other_runs {
    bool loaded;
    struct strv refs, files; /* files: absolute; a folder ends with a slash */
    struct strv made;        /* branches of noted worktrees */
    struct map by_ref;
};
void other_runs_done(struct other_runs *o);
#define autoothers own_cleanup(other_runs_done)

bool other_runs_have_ref(struct other_runs *o, const struct run *run, const char *ref);

/* `path` is relative to the top of the checkout; a folder ends with a slash, and counts if it
 * contains one of the files. */
bool other_runs_have_file(struct other_runs *o, const struct run *run, const char *path);

/* `name` is "worktrees/NAME/HEAD", relative to the common folder. */
bool other_runs_have_worktree(struct other_runs *o, const struct run *run, const char *name);

/* True if a command has made this branch for a worktree, or (NULL) any branch. It may have enabled
 * extensions.worktreeConfig with it. */
bool other_runs_made_ref(struct other_runs *o, const struct run *run, const char *ref);

/* Notes a worktree or a file that the caller will make at the path `dir`, for all live runs, and
 * its branch (full name) or NULL. */
int other_runs_note(struct store *store, const char *state_dir, const char *dir, const char *ref,
                    struct err *err);

#endif
