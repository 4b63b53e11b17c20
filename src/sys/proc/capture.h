/*
 * Child processes whose output is wanted whole.
 */
#ifndef SYS_PROC_CAPTURE_H
#define SYS_PROC_CAPTURE_H

#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>

/* Runs argv (argv[0] looked up on PATH) with the given environment (NULL: our own) and standard
 * input from /dev/null, waits for its end, and appends what it wrote on standard output to out
 * (more than max bytes, or no end within ten minutes: failure, the child is ended) and, where
 * errout is not NULL, up to 64 KiB of its standard error. *ret_status is its exit code, or 128 +
 * the signal that ended it. -1 where it could not be started. */
int proc_capture(char *const argv[], char *const env[], size_t max, struct buf *out,
                 struct buf *errout, int *ret_status, struct err *err);

/* The same with the given bytes as standard input. */
int proc_filter(const struct buf *in, char *const argv[], char *const env[], size_t max,
                struct buf *out, struct buf *errout, int *ret_status, struct err *err);

/* Both in an open folder (NULL: our own) and behind a fence (sys/contain/fence.h; NULL: none). */
struct fence;
int proc_capture_in(const int *folder, const struct fence *fence, char *const argv[],
                    char *const env[], size_t max, struct buf *out, struct buf *errout,
                    int *ret_status, struct err *err);
int proc_filter_in(const int *folder, const struct fence *fence, const struct buf *in,
                   char *const argv[], char *const env[], size_t max, struct buf *out,
                   struct buf *errout, int *ret_status, struct err *err);

#endif
