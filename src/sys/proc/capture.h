/*
 * Runs a child process and captures its output.
 */
#ifndef SYS_PROC_CAPTURE_H
#define SYS_PROC_CAPTURE_H

#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>

/* Runs argv (argv[0] is searched on PATH) with the given environment (NULL: ours) and /dev/null as
 * standard input. Waits for its end and appends its standard output to out. If it writes more than
 * max bytes or does not end within ten minutes, we end it and fail. If errout is not NULL, we
 * append up to 64 KiB of its standard error. *ret_status is its exit code, or 128 + the signal that
 * ended it. Returns -1 if it could not start. */
int proc_capture(char *const argv[], char *const env[], size_t max, struct buf *out,
                 struct buf *errout, int *ret_status, struct err *err);

/* The same in an open folder (NULL: our own) and behind a fence (sys/contain/fence.h; NULL: none).
 */
struct fence;
int proc_capture_in(const int *folder, const struct fence *fence, char *const argv[],
                    char *const env[], size_t max, struct buf *out, struct buf *errout,
                    int *ret_status, struct err *err);

/* The same with the bytes of `in` as standard input. */
int proc_filter_in(const int *folder, const struct fence *fence, const struct buf *in,
                   char *const argv[], char *const env[], size_t max, struct buf *out,
                   struct buf *errout, int *ret_status, struct err *err);

#endif
