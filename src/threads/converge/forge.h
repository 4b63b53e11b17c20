/*
 * struct forge: the program that makes and changes pull requests: gh, glab, tea, or the user's own
 * command. git's configuration chooses it:
 *
 *   anabranch.forge: "gh" (the default), "glab", "tea", or a command; we replace {branch}, {base},
 *   {title}, {body} and {body-file} in its words
 *   anabranch.forgeLogin: the login for tea; by default that of the remote's host
 *   anabranch.forgeUpdate: the command for an existing pull request; {pull} is its address
 *
 * Blanks separate the words of a command; no shell reads them. We take the last address that
 * it prints, or else its last line, for that of the pull request.
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
    const struct forge_shape *shape; /* NULL: the user's own commands */
    struct strv create, update;      /* their words; update may be empty */
    char *login, *repo;              /* set by forge_locate() if the program needs both, or NULL */
    char *away;                      /* an empty folder outside any repository, or NULL */
};

/* The pull request that we want. */
struct forge_pull {
    const char *branch, *base; /* short names */
    /* The repository that gets it, and the owner of the fork; both NULL if there is no fork. */
    const char *repo, *owner;
    const char *title, *body;
    bool draft;
    const char *known; /* the recorded address, or NULL */
    const char *dir;   /* the worktree, where the program runs */
    /* its repository, even if its file .git names another one by now: */
    const char *git_dir, *common;
    const char *body_file; /* a path for a file with the body, if a command wants one */
};

enum forge_deed {
    FORGE_MADE,
    FORGE_UPDATED,
    FORGE_LEFT /* it exists, but there is no command to change it */
};

/* Reads the configuration. Returns ERR_INPUT if it is wrong. Always call forge_close(). */
int forge_open(struct forge *f, const struct git_repo *repo, struct err *err);
void forge_close(struct forge *f);
#define autoforge own_cleanup(forge_close)

/* True if we can tell the program that the branch is in a fork. */
bool forge_knows_forks(const struct forge *f);

/* True if it is another program than gh. Only gh can tell us the state of a pull request. */
bool forge_is_other(const struct forge *f);

/* True if we must call forge_locate(). */
bool forge_wants_place(const struct forge *f);

/* Sets the repository "HOST/OWNER/NAME" for a program that does not find it in a worktree. We then
 * run it outside of the repository. Returns ERR_ENV if it has no login there. With `prints` it runs
 * nothing that needs a login, so it omits a missing one. */
int forge_locate(struct forge *f, const char *place, bool prints, struct err *err);

/* Returns ERR_ENV if the program is not installed. */
int forge_check(const struct forge *f, struct err *err);

/* Makes the pull request, or changes the one that is open for the branch. */
int forge_propose(const struct forge *f, const struct forge_pull *p, struct buf *ret_address,
                  enum forge_deed *ret_deed, struct err *err);

/* Appends the command that does the same, for a POSIX shell. It does not check for an open pull
 * request. */
void forge_print(const struct forge *f, const struct forge_pull *p, struct buf *out);

#endif
