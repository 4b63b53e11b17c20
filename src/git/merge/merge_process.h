/*
 * struct merger: one `git merge-tree --stdin` that stays, for the merges of a run that need git,
 * each of which would otherwise be a process of its own. It is an economy and nothing else: what it
 * does not do, or may not have done, is for a process of its own to do.
 */
#ifndef GIT_MERGE_MERGE_PROCESS_H
#define GIT_MERGE_MERGE_PROCESS_H

#include <stdbool.h>

struct git_place;
struct merge_result;
struct merger;

struct merger *merger_new(const char *git_dir);
void merger_free(struct merger *m);

/* Tells its process that there is nothing more to do, without waiting for it. */
void merger_hang_up(struct merger *m);

/* What `git version` says. Git answers at once since 2.49; an older one, or one that is not known,
 * does so only through the program stdbuf, where there is one. */
void merger_learn_version(struct merger *m, const char *version);

/*
 * Merges as merge_trees() does, by the ids of two commits and of one that both come from. False
 * where it did not, and *ret is as it was:
 * - this is one of the first merges that need git; starting it costs more than a few;
 * - attributes or submodules may be in play, or the settings name drivers: those are looked at, and
 *   run, in a work tree, and it has none. Of what is in the place's work tree and in no commit,
 * only a .gitattributes at the top counts;
 * - git failed, gave no answer in time or one that is not understood. After the second time, or
 *   where that was its very first answer, it is given up for good.
 * The process is a new one after 64 merges, and when packs have come or gone, or settings changed.
 */
bool merger_merge(struct merger *m, const struct git_place *at, const char *base, const char *ours,
                  const char *theirs, struct merge_result *ret);

#endif
