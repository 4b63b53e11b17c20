/*
 * struct lookup: the way of the commands that look back to what was run here, from whatever folder
 * of the repository or of its worktrees they are called in.
 */
#ifndef CLI_COMMON_LOOKUP_H
#define CLI_COMMON_LOOKUP_H

#include "cli/frame/cli.h"
#include "git/git.h"
#include "store/store.h"
#include "view/report/report.h"

struct lookup {
    struct git_repo repo; /* root is NULL where there is none */
    char *state_dir;
    struct store *store;
};

/* From now on our gits use the configuration of the run that began last
 * (git/config/frozen_config.h): agents may have named programs in the present one, of which the
 * user is told. lookup_open() does this as well.
 */
int lookup_with_its_git(struct git_repo *repo, struct err *err);

/* All return EXIT_OK; or EXIT_USAGE or EXIT_ENV, and have said why. */
int lookup_open(struct lookup *look);
int lookup_find(struct lookup *look); /* the same, but there may be no store: it is NULL then */

bool lookup_is_there(void); /* whether anything was ever run here; says nothing */

/* The same; where it may write (mends), a store that is damaged or lost is made anew first, from
 * what is left of the runs. */
int lookup_open_mended(struct lookup *look, bool mends);
void lookup_close(struct lookup *look);
#define autolook own_cleanup(lookup_close)

/* The run that a word stands for: its id, the beginning of one, or "last" (NULL too) for the
 * newest.
 */
int lookup_run(struct lookup *look, const char *word, struct report *ret);

/* A task of a run, by its id. */
int lookup_task(const struct report *r, const char *id, const struct report_task **ret);

#endif
