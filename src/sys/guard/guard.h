/*
 * The guard: a small process between the engine and each command. It contains all processes that
 * descend from the command (sys/contain/contain.h). When the command or the engine ends, the guard
 * ends the rest of that tree.
 *
 * The engine holds the writing end of a pipe, the lifeline. A byte on it is an order (enum
 * guard_order). When it closes, even because the engine was killed, the guard stops the command.
 * Just before its exit the guard writes one line of JSON:
 *
 *
 *     {"exit":0,"means":"namespace","swept":["node server.js"],"left":1,"limit":"memory"}
 *
 * or "signal":9 in place of "exit". If the command left processes behind, `swept` lists them and
 * `left` is their number. `limit` is the limit that the tree exceeded, for which we ended it.
 * `stuck` is a process that we could not end.
 *
 * With a namespace the guard stays outside of it, and processes inside cannot reach it. Otherwise
 * processes of the same user may stop or kill it. So the engine sends it SIGCONT with every order,
 * and kills a guard that does not end.
 */
#ifndef SYS_GUARD_GUARD_H
#define SYS_GUARD_GUARD_H

#include "base/err.h"
#include "sys/contain/contain.h"

#include <stdint.h>

enum { GUARD_LIFELINE = 3, GUARD_STATUS = 4 }; /* descriptors that the engine gives to the guard */

enum { GUARD_NOT_STARTED = 127 }; /* exit code; shells use it for a missing command */

/* ms beyond the grace period in which a guard must end after an order */
enum { GUARD_PATIENCE = 8000 };

enum guard_order { GUARD_STOP = 's', GUARD_KILL = 'k', GUARD_PAUSE = 'p', GUARD_CONTINUE = 'c' };

struct guard_options {
    int interrupt_signal; /* how we ask the command to end */
    int64_t grace;        /* ms until we kill it */
    enum contain contain;
    struct limits limits;
    struct hiding hiding; /* hidden from the command, if there is a namespace */
    bool program;         /* git runs the guard, as a filter: see below */
    const char *file; /* Gets the guard's pid and start time. The guard locks it as long as it or
                         any process of its tree may live. NULL: none */
    char *const *argv;
};

/* Runs the command under guard, and returns when its whole tree is gone. Returns 0 if it wrote the
 * status line.
 *
 * If git runs the program, there is no engine. Then the guard has no lifeline and writes no status
 * line. It ends with git and does not return: its exit code is that of the program. */
int guard_run(const struct guard_options *opts, struct err *err);

#endif
