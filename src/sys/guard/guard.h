/*
 * The guard: a small process between the engine and each command that it starts. It keeps the whole
 * tree of processes that grows from the command (sys/contain/contain.h), and when the command ends,
 * or the engine does, it ends all that is left of that tree.
 *
 * The engine holds the writing end of a pipe, the lifeline. A byte on it is an order (enum
 * guard_order); its end, by whatever death, is the order to stop. What happened is written as one
 * line of JSON, just before the guard exits:
 *
 *     {"exit":0,"means":"namespace","swept":["node server.js"],"left":1,"limit":"memory"}
 *
 * or "signal":9 in place of "exit". `swept` and `left`, their number, are there where the command
 * left processes behind; `limit` where the tree was ended because it used more than it may; `stuck`
 * is one that could not be ended.
 *
 * In a namespace the guard stays outside, out of reach of all that is inside. Else processes of the
 * same user may stop or kill it; so the engine lets it go on when it orders something, and kills
 * one that does not end.
 */
#ifndef SYS_GUARD_GUARD_H
#define SYS_GUARD_GUARD_H

#include "base/err.h"
#include "sys/contain/contain.h"

#include <stdint.h>

enum { GUARD_LIFELINE = 3, GUARD_STATUS = 4 }; /* descriptors that it finds open */

enum { GUARD_NOT_STARTED = 127 }; /* exit code; what shells say of a command that is not there */

enum { GUARD_PATIENCE = 8000 }; /* ms beyond the grace in which one ends that was ordered to */

enum guard_order { GUARD_STOP = 's', GUARD_KILL = 'k', GUARD_PAUSE = 'p', GUARD_CONTINUE = 'c' };

struct guard_options {
    int interrupt_signal; /* how the command is asked to end */
    int64_t grace;        /* ms until it is made to */
    enum contain contain;
    struct limits limits;
    struct hiding hiding; /* from the command, where there is a namespace */
    bool program;         /* git runs it, as a filter: see below */
    const char *file; /* gets the guard's pid and start time, and is locked as long as the guard or
                       * anything of its tree may live; NULL: none */
    char *const *argv;
};

/* Runs the command under guard; returns when nothing of it is left. Exit code of the guard: 0 where
 * the status line was written.
 *
 * A program that git runs has no engine beside it: the guard has neither lifeline nor status line,
 * ends when git does, and does not return: its exit code is that of the program. */
int guard_run(const struct guard_options *opts, struct err *err);

#endif
