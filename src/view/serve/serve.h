/*
 * struct serve: the page, for a browser on this machine: what the store, the run folders and git
 * say of runs, and the events as they come. It reads, and hands on to a run what a person asks of
 * it.
 *
 * Who may: a random token is in the fragment of the URL, which no server ever sees. The page sends
 * it back in a header and gets a cookie for it, which every look at data needs. To ask something of
 * a run needs the token itself, which no browser sends by itself. The token is kept
 * (state_dir/serve.key, 0600, a day), so that a page that is open goes on when the server was
 * started again.
 */
#ifndef VIEW_SERVE_SERVE_H
#define VIEW_SERVE_SERVE_H

#include "base/err.h"
#include "git/git.h"
#include "sys/proc/loop.h"

#include <stdbool.h>
#include <stdint.h>

struct serve;

struct serve_options {
    const char *state_dir;
    const struct git_repo *repo;
    const char *run; /* that is shown at first; NULL: the newest one */
    uint16_t port;   /* 0: that of the last time, or any */
    bool read_only;  /* whatever could change something is refused */
};

/* What is pointed to outlives it. */
int serve_open(struct serve **ret, struct loop *loop, const struct serve_options *opts,
               struct err *err);
void serve_close(struct serve *serve);

/* The address with the token; for the user alone. */
const char *serve_url(const struct serve *serve);

#endif
