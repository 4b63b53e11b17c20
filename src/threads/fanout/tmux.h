/*
 * A tmux session with a window for each thread, a shell in its worktree. Nothing is typed into it.
 */
#ifndef THREADS_FANOUT_TMUX_H
#define THREADS_FANOUT_TMUX_H

#include "threads/fanout/fanout.h"

/* Whether tmux can be run; ERR_ENV, with what to do, where it cannot. */
int tmux_check(struct err *err);

/* Appends the commands that make the session, and the one that shows it, a line each. */
void tmux_add_commands(const struct fanout *f, struct buf *out);

/* Makes it, or adds to the one that is there; *ret_show is the command that shows it, to be freed.
 */
int tmux_start(const struct fanout *f, char **ret_show, struct err *err);

#endif
