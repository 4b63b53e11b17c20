/*
 * struct look: the way of the commands that look back to what was run here, from whatever folder of
 * the repository or of its worktrees they are called in.
 */
#ifndef CLI_COMMON_STORE_LOOKUP_H
#define CLI_COMMON_STORE_LOOKUP_H

#include "cli/frame/cli.h"
#include "git/git.h"
#include "store/store.h"
#include "view/report/report.h"

struct look {
    struct git_repo repo; /* root is NULL where there is none */
    char *state_dir;
    struct store *store;
};

/* From now on our gits use the configuration of the run that began last
 * (git/config/frozen_config.h): agents may have named programs in the present one, of which the
 * user is told. look_open() does this as well.
 */
int look_with_its_git(struct git_repo *repo, struct err *err);

/* All return EXIT_OK; or EXIT_USAGE or EXIT_ENV, and have said why. */
int look_open(struct look *look);
int look_find(struct look *look); /* the same, but there may be no store: it is NULL then */

bool look_is_there(void); /* whether anything was ever run here; says nothing */

/* The same; where it may write (mends), a store that is damaged or lost is made anew first, from
 * what is left of the runs. */
int look_open_mended(struct look *look, bool mends);
void look_close(struct look *look);
#define autolook own_cleanup(look_close)

/* The run that a word stands for: its id, the beginning of one, or "last" (NULL too) for the
 * newest.
 */
int look_run(struct look *look, const char *word, struct report *ret);

/* A task of a run, by its id. */
int look_task(const struct report *r, const char *id, const struct report_task **ret);

#endif
