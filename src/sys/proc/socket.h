/*
 * Unix domain sockets: processes of one user on this machine talk through them.
 *
 * We name a socket by folder and name, because its path may have only about a hundred bytes, and
 * the path of a folder may be longer.
 */
#ifndef SYS_PROC_SOCKET_H
#define SYS_PROC_SOCKET_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Makes a socket for its owner alone (0600), and replaces a file that was left there. Descriptors
 * are close-on-exec and do not block. */
int socket_listen(const char *dir, const char *name, int *ret_fd, struct err *err);

/* Accepts the next connection. Returns -1 if there is none, or if the other process belongs to
 * neither our user nor root. */
int socket_accept(int fd);

/* Connects to a socket. errnum is ENOENT or ECONNREFUSED if nobody listens. */
int socket_connect(const char *dir, const char *name, int *ret_fd, struct err *err);

/* Writes everything at once; false if the other side does not take it. */
bool socket_send(int fd, const char *s, size_t len);

/* Appends the received bytes, up to max at a time. False if the other side has closed. */
bool socket_take(int fd, size_t max, struct buf *out);

/* Waits until there is something to read; false if nothing comes within ms. */
bool socket_wait(int fd, int64_t ms);

#endif
