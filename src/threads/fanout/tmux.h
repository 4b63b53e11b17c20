/*
 * A tmux session with a window for each thread, with a shell in its worktree. We type nothing into
 * it.
 */
#ifndef THREADS_FANOUT_TMUX_H
#define THREADS_FANOUT_TMUX_H

#include "threads/fanout/fanout.h"

/* Checks that tmux runs; if not, returns ERR_ENV with advice. */
int tmux_check(struct err *err);

/* Appends the commands that make and show the session, a line each. */
void tmux_add_commands(const struct fanout *f, struct buf *out);

/* Makes the session, or adds to an existing one. *ret_show is the command that shows it; the caller
 * frees it. */
int tmux_start(const struct fanout *f, char **ret_show, struct err *err);

#endif
