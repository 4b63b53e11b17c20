/*
 * A long-running child process that answers requests: we write lines, it answers with lines or
 * bytes.
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
    int in, out; /* its standard input and output; its standard error is dropped */
    struct buf pending;
};

void coproc_init(struct coproc *c);
/* The child gets the descriptor `extra` as number 3 (SPAWN_NONE: nothing). */
int coproc_start(struct coproc *c, char *const *argv, char *const *env, int extra, struct err *err);
bool coproc_running(const struct coproc *c);
/* Closes its input: we have no more requests, and it may end. Call coproc_stop() all the same. */
void coproc_hang_up(struct coproc *c);
/* Closes its input and waits for its end; kills it after a second. True if someone else killed
 * it. */
bool coproc_stop(struct coproc *c);

int coproc_write(struct coproc *c, const void *p, size_t len, struct err *err);

/* Appends the next line without its line end. Waits at most 30 s, then ends the child; errnum is
 * ETIMEDOUT then. */
int coproc_read_line(struct coproc *c, struct buf *out, struct err *err);

/* Appends the next `len` bytes, with the same time limit. */
int coproc_read(struct coproc *c, size_t len, struct buf *out, struct err *err);

#endif
