/*
 * A git that waits for ever: an agent has put a FIFO where git expects a file, and nobody opens its
 * other end. Whoever waits for that git asks here from time to time.
 */
#ifndef SYS_PROC_STUCK_H
#define SYS_PROC_STUCK_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* From now on a FIFO below this folder is removed when a git is stuck in it: nothing is lost by
 * that. Elsewhere it is for a person to remove. */
void stuck_remove_below(const char *folder);

/* How often to ask, in ms: it takes a look at all processes. More often where it has been found. */
int stuck_look_ms(void);

/* Whether a git in a group of processes waits in open() or read() for a FIFO with a name; then that
 * is appended. False where the system does not tell. */
bool stuck_find(pid_t group, struct buf *ret_path);

/* ERR_ENV with errnum EDEADLK, with words for a person, where it does; else 0. The git is for the
 * caller to end. */
int stuck_check(pid_t group, struct err *err);

/* Whether words have such an error, of a FIFO that is removed: to try again helps. */
bool stuck_is_removed(const char *words);

#endif
