/*
 * struct forge: the program by which pull requests are made and changed: gh, glab, tea, or a
 * command of the user's. git's configuration says which:
 *
 *     anabranch.forge         "gh", which it is without this; "glab"; "tea"; or a command, in whose
 *                             words {branch}, {base}, {title}, {body} and {body-file} are replaced
 *     anabranch.forgeLogin    the login of tea to use; without this, that of the remote's host
 *     anabranch.forgeUpdate   the command for a pull request that is there; {pull} is its address
 *
 * Words of a command are separated by blanks; no shell sees them. What it prints last is taken for
 * the address of the pull request.
 */
#ifndef THREADS_CONVERGE_FORGE_H
#define THREADS_CONVERGE_FORGE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/strv.h"
#include "git/git.h"

#include <stdbool.h>

struct forge_shape;

struct forge {
    const struct forge_shape *shape; /* NULL: commands of the user's */
    struct strv create, update;      /* their words; update may be empty */
    char *login, *repo;              /* forge_locate(): of a program that is told both, or NULL */
    char *away;                      /* an empty folder outside of any repository, or NULL */
};

/* What a pull request is to be. */
struct forge_pull {
    const char *branch, *base; /* short names */
    const char *repo, *owner;  /* where it is made, and whose the fork is that has the branch; both
                                * NULL: in the repository that has the branch */
    const char *title, *body;
    bool draft;
    const char *known;            /* address that was recorded, or NULL */
    const char *dir;              /* the worktree: where the program is run */
    const char *git_dir, *common; /* its repository, whatever the file .git in it says by now */
    const char
        *body_file; /* where a file with the body may be made, for a command that wants one */
};

enum forge_deed { FORGE_MADE, FORGE_UPDATED, FORGE_LEFT /* there, and no way to change it */ };

/* Reads the configuration; ERR_INPUT where that is wrong. To be closed in every case. */
int forge_open(struct forge *f, const struct git_repo *repo, struct err *err);
void forge_close(struct forge *f);
#define autoforge own_cleanup(forge_close)

/* Whether it can be told that the branch is in a fork. */
bool forge_knows_forks(const struct forge *f);

/* Whether it is not gh, which alone can be asked what became of a pull request. */
bool forge_is_other(const struct forge *f);

/* Whether forge_locate() is to be called. */
bool forge_wants_place(const struct forge *f);

/* Says which repository it is, as "HOST/OWNER/NAME", to a program that does not find that out in a
 * worktree: it is called outside of the repository then. ERR_ENV where it has no login there;
 * where nothing is to be called (`prints`), the login is left out then. */
int forge_locate(struct forge *f, const char *place, bool prints, struct err *err);

/* Whether its program is there; ERR_ENV where it is not. */
int forge_check(const struct forge *f, struct err *err);

/* Makes the pull request, or changes the one that is open for the branch. */
int forge_propose(const struct forge *f, const struct forge_pull *p, struct buf *ret_address,
                  enum forge_deed *ret_deed, struct err *err);

/* Appends the command that does so, for a POSIX shell; whether one is there is not asked. */
void forge_print(const struct forge *f, const struct forge_pull *p, struct buf *out);

#endif
