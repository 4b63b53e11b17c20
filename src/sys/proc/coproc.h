/*
 * A process that answers: lines in, lines or bytes out, for as long as it lives.
 */
#ifndef SYS_PROC_COPROC_H
#define SYS_PROC_COPROC_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct coproc {
    pid_t pid;
    int in, out; /* its standard input and output; its standard error goes nowhere */
    struct buf pending;
};

void coproc_init(struct coproc *c);
/* It has the descriptor `extra` as its 3 (SPAWN_NONE: none). */
int coproc_start(struct coproc *c, char *const *argv, char *const *env, int extra, struct err *err);
bool coproc_running(const struct coproc *c);
/* Closes its input: there is nothing more to ask, and it may end. It is still to be stopped. */
void coproc_hang_up(struct coproc *c);
/* Closes its input, waits for its end, or ends it. True where someone else had killed it. */
bool coproc_stop(struct coproc *c);

int coproc_write(struct coproc *c, const void *p, size_t len, struct err *err);

/* Appends the next line, without its end; waits at most 30 s for it, then it is ended:
 * errnum is ETIMEDOUT. */
int coproc_read_line(struct coproc *c, struct buf *out, struct err *err);

/* Appends the next len bytes, in the same way. */
int coproc_read(struct coproc *c, size_t len, struct buf *out, struct err *err);

#endif
