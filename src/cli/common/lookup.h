/*
 * struct lookup: opens the store of the repository, for commands that show earlier runs. It works
 * in every folder of the repository and of its worktrees.
 */
#ifndef CLI_COMMON_LOOKUP_H
#define CLI_COMMON_LOOKUP_H

#include "cli/frame/cli.h"
#include "git/git.h"
#include "store/store.h"
#include "view/report/report.h"

struct lookup {
    struct git_repo repo; /* root is NULL outside a repository */
    char *state_dir;
    struct store *store;
};

/* Makes our gits use the configuration of the newest run (git/config/frozen_config.h), because
 * agents may have put programs into the present configuration. We warn the user about such
 * programs. lookup_open() does this too. */
int lookup_with_its_git(struct git_repo *repo, struct err *err);

/* All return EXIT_OK; or print why not and return EXIT_USAGE or EXIT_ENV. */
int lookup_open(struct lookup *look);
int lookup_find(struct lookup *look); /* the same, but without a store it leaves `store` NULL */

bool lookup_is_there(void); /* true if anything was ever run here; prints nothing */

/* The same. With `repairs` we may write: if the store is damaged or lost, we first make a new one
 * from the folders of the runs. */
int lookup_open_repair(struct lookup *look, bool repairs);
void lookup_close(struct lookup *look);
#define autolook own_cleanup(lookup_close)

/* Loads the run that `word` names: its id, the beginning of its id, or "last" or NULL for the
 * newest. */
int lookup_run(struct lookup *look, const char *word, struct report *ret);

/* Finds a task of a run by its id. */
int lookup_task(const struct report *r, const char *id, const struct report_task **ret);

/* Open the store, then do the same. */
int lookup_open_run(struct lookup *look, const char *word, struct report *ret);
int lookup_open_task(struct lookup *look, const char *word, const char *id, struct report *ret,
                     const struct report_task **ret_task);

/* The option --run of commands that show a task of a run, for a struct with the member `run`. */
#define LOOKUP_RUN_OPT(type)                                                                       \
    {                                                                                              \
        "run", 0, OPT_STRING, offsetof(type, run), "RUN", NULL,                                    \
            "The run's id, the beginning of its id, or 'last' (default: last)"                     \
    }

/* For commands with no other option. */
struct lookup_opts {
    const char *run;
};
extern const struct opt lookup_opts_table[];

extern const struct arg lookup_task_args[]; /* only TASK */

#endif
