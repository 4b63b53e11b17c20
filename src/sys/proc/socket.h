/*
 * Sockets of the file system, by which processes of one user talk with each other on this machine.
 *
 * They are named by folder and name, because the path of a socket may only have about a hundred
 * bytes, and that of a folder any number.
 */
#ifndef SYS_PROC_SOCKET_H
#define SYS_PROC_SOCKET_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Makes a socket that others can connect to, for its owner alone (0600), in the place of one that
 * may be left there. Descriptors are close-on-exec and do not block. */
int socket_listen(const char *dir, const char *name, int *ret_fd, struct err *err);

/* The next one who wants to talk, or -1: there is none, or not one who may. That is the user that
 * we are, and root. */
int socket_accept(int fd);

/* Connects to one; errnum is ENOENT or ECONNREFUSED where nobody listens. */
int socket_connect(const char *dir, const char *name, int *ret_fd, struct err *err);

/* Writes all of it at once; false where the other does not take it. */
bool socket_send(int fd, const char *s, size_t len);

/* Appends what has come, up to max bytes at a time; false where the other has gone. */
bool socket_take(int fd, size_t max, struct buf *out);

/* Waits until something has come to be taken; false where nothing does within ms. */
bool socket_wait(int fd, int64_t ms);

#endif
