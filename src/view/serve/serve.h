/*
 * struct serve: the web page of runs, for a browser on this machine. It shows the data of the
 * store, of the run folders and of git, and new events as they happen. It only reads; it passes
 * the user's requests on to the run.
 *
 * Access: the fragment of the URL holds a random token. A browser never sends the fragment to a
 * server. The page sends the token in a header and gets a cookie for it; every request for data
 * needs that cookie. A request that changes a run needs the token itself, because browsers send
 * cookies by themselves. We keep the token for a day (state_dir/serve.key, 0600), so that an open
 * page still works after the server restarts.
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
    const char *run; /* the run to show first; NULL: the newest one */
    uint16_t port;   /* 0: the port of the last server, or any */
    bool read_only;  /* refuse every request that changes a run */
};

/* `loop`, and everything that `opts` points to, must outlive the server. */
int serve_open(struct serve **ret, struct loop *loop, const struct serve_options *opts,
               struct err *err);
void serve_close(struct serve *serve);

/* The address with the token; show it to the user only. */
const char *serve_url(const struct serve *serve);

#endif
