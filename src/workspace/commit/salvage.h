/*
 * Saving what is in a workspace before that goes, whatever it is worth. By plumbing, with an index
 * of its own, so that nothing that the agent did to the workspace's own is in the way. Under
 * refs/anabranch/salvage/<run>/<task>/ are then
 *
 *     <attempt>           a commit of the files: tracked, untracked, and the ignored ones that are
 *                         listed; on top of what the agent committed, or of where it began
 *     <attempt>.commits   a commit whose parents are those that nothing else leads to: left on a
 *                         detached HEAD, reset away, replaced (lost_commits.h)
 *     <attempt>.nested/N  repositories that the agent made inside (nested_repos.h)
 *
 * The first is there whenever one of the others is, and is made last. A bundle of them all goes to
 * the vault (vault.h), in case that somebody deletes the refs.
 */
#ifndef WORKSPACE_COMMIT_SALVAGE_H
#define WORKSPACE_COMMIT_SALVAGE_H

#include "git/state_paths.h"
#include "workspace/commit/change_size.h"
#include "workspace/commit/commit.h"

#include <stddef.h>

struct salvage_job {
    struct commit_job commit;    /* its message says where it is from, and why */
    const char *ref;             /* full name of the first */
    const char *const *patterns; /* of ignored files to save, as in gitignore(5) */
    size_t pattern_count;
    const char *const *made_again; /* commits, NULL at the end, or NULL: they and those before them
                                    * were made again, as a part of what is saved */
    bool no_files;                 /* the work tree is gone: what is staged is all there is */
    bool unnamed;                  /* `ref` itself is for the caller to make */
    struct change_bounds bounds;   /* of the files that are saved */
    bool plain; /* for salvage_rest(): all was staged by what was found in the work tree (stage.h),
                 * and nothing has run there since */
};

enum { SALVAGE_NAMES = 20 };

struct salvaged {
    struct buf commit;    /* at `ref`; empty where there was nothing to save */
    struct strv nested;   /* repositories that were saved: their paths */
    struct strv clones;   /* and those that hold nothing that their remotes do not have */
    size_t stray_count;   /* commits at .commits */
    struct strv dropped;  /* ignored files and folders that are not saved: the first few ... */
    size_t dropped_count; /* ... of so many */
    struct err vault;     /* what is to be said of its bundle (vault.h), if anything */
    struct strv left;     /* files that are more than the bounds allow: likewise. The workspace has
                           * to stay for them */
    size_t left_count;
    int64_t left_bytes;
};

#define SALVAGED_INIT                                                                              \
    {                                                                                              \
        .commit = BUF_INIT                                                                         \
    }
void salvaged_done(struct salvaged *s);
#define autosalvaged own_cleanup(salvaged_done)

/* Where it fails, the workspace must stay. May be called again for the same ref as long as that is
 * not there. */
int salvage_workspace(const struct salvage_job *job, struct salvaged *ret, struct err *err);

/* The same for one whose files are in a commit that stays: what else there is. `kept` are commits
 * (NULL at the end) that need not be saved. */
int salvage_rest(const struct salvage_job *job, const char *const *kept, bool has_nested,
                 struct salvaged *ret, struct err *err);

/* Only names what a workspace has that neither would save. */
int salvage_dropped(const struct salvage_job *job, struct salvaged *ret, struct err *err);

#endif
