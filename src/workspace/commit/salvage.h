/*
 * Saves the contents of a workspace before we delete it, whatever they are worth. We use plumbing
 * and an index of our own, so that nothing that the agent did to the workspace's index interferes.
 * Afterwards refs/anabranch/salvage/<run>/<task>/ has
 *
 *     <attempt>           a commit of the files: tracked, untracked, and the listed ignored ones;
 * on top of the agent's commits, or of the commit at which it began <attempt>.commits   a commit
 * whose parents are the lost commits: left on a detached HEAD, reset away, replaced
 * (lost_commits.h) <attempt>.nested/N  repositories that the agent made inside (nested_repos.h)
 *
 * The first ref is made last; it exists whenever one of the others does. A bundle of all of them
 * goes to the vault (vault.h), in case somebody deletes the refs.
 */
#ifndef WORKSPACE_COMMIT_SALVAGE_H
#define WORKSPACE_COMMIT_SALVAGE_H

#include "git/state_paths.h"
#include "workspace/commit/change_size.h"
#include "workspace/commit/commit.h"

#include <stddef.h>

struct salvage_job {
    struct commit_job
        commit;      /* its message tells where the work comes from, and why it was saved */
    const char *ref; /* full name of the first ref */
    const char *const *patterns; /* ignored files to save, as in gitignore(5) */
    size_t pattern_count;
    const char *const *made_again; /* commits, NULL at the end, or NULL: we have made these and
                                      their ancestors again as part of what is saved */
    bool no_files;                 /* the work tree is gone: only the staged files are left */
    bool unnamed;                  /* the caller makes `ref` itself */
    struct change_bounds bounds;   /* limits of the saved files */
    bool plain; /* for salvage_rest(): everything was staged from a scan of the work tree (stage.h),
                   and nothing has run there since */
};

enum { SALVAGE_NAMES = 20 };

struct salvaged {
    struct buf commit;    /* at `ref`; empty if there was nothing to save */
    struct strv nested;   /* paths of the nested repositories that were saved */
    struct strv clones;   /* paths of those without any work that their remotes lack */
    size_t stray_count;   /* number of commits at .commits */
    struct strv dropped;  /* ignored files and folders that are not saved: the first few ... */
    size_t dropped_count; /* ... of that many */
    struct err vault;     /* a message about its bundle (vault.h), if any */
    bool objects_lost;    /* it failed: somebody deleted git objects while we saved */
    struct strv left; /* the first few of the files that exceed the bounds; the workspace must stay
                         for them */
    size_t left_count;
    int64_t left_bytes;
};

#define SALVAGED_INIT                                                                              \
    {                                                                                              \
        .commit = BUF_INIT                                                                         \
    }
void salvaged_done(struct salvaged *s);
#define autosalvaged own_cleanup(salvaged_done)

/* Saves the workspace, again if somebody deletes what we have saved before its bundle exists. If
 * this fails, the workspace must stay. The caller may try again with the same ref if that does not
 * exist yet. */
int salvage_workspace(const struct salvage_job *job, struct salvaged *ret, struct err *err);

/* The same for a workspace whose files are in a commit that stays: saves everything else. `kept`
 * are commits (NULL at the end) that need not be saved. */
int salvage_rest(const struct salvage_job *job, const char *const *kept, bool has_nested,
                 struct salvaged *ret, struct err *err);

/* Only lists files of a workspace that neither function would save. */
int salvage_dropped(const struct salvage_job *job, struct salvaged *ret, struct err *err);

#endif
