/*
 * Starts processes: with posix_spawn, never fork, and with exactly the descriptors that the caller
 * lists. All descriptors of this process must be close-on-exec. We close those that it inherited.
 */
#ifndef SYS_PROC_SPAWN_H
#define SYS_PROC_SPAWN_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { SPAWN_FDS = 5 };

/* Values besides our own descriptors: /dev/null, or nothing. */
enum { SPAWN_NULL = -1, SPAWN_NONE = -2 };

struct spawn {
    char *const *argv;         /* argv[0] is searched on PATH unless it has a slash */
    char *const *env;          /* NULL: ours */
    const char *dir;           /* NULL: ours */
    const int *folder;         /* an open folder instead of dir, or NULL */
    const struct fence *fence; /* the fence for the child (sys/contain/fence.h), or NULL */
    int fds[SPAWN_FDS]; /* our descriptors that become 0, 1, 2 ... of the child, SPAWN_NULL or
                           SPAWN_NONE */
    bool new_session;
};

/* The child starts with no signal blocked and with SIGPIPE, SIGINT, SIGTERM and SIGHUP at their
 * defaults. Fails also if the program cannot be executed. */
int spawn_start(const struct spawn *sp, pid_t *ret_pid, struct err *err);

/* Finds a program as a shell does: along PATH, unless it has a slash. On the heap; NULL if there is
 * none. */
char *spawn_find(const char *program);
bool spawn_finds(const char *program);

/* True if a child has ended or ends within `ms`. Does not reap it. */
bool spawn_ended(pid_t pid, int64_t ms);

/* Ends a child with its own session, and every process in its group: sends SIGTERM, and SIGKILL a
 * second later. Does not reap it. */
void spawn_end(pid_t pid);

/* Waits for a child and reaps it. *ret_status (or NULL) is as waitpid() returns it. Fails if we
 * have no such child. */
int spawn_reap(pid_t pid, int *ret_status, struct err *err);

/* The exit code in such a status, or 128 + the signal that ended it. */
int spawn_code(int status);

/* Makes a pipe that no other child inherits. */
int spawn_pipe(int ends[2], struct err *err);

/* Starts it with pipes for standard output and error. ret_fds are the ends to read from; -1 on
 * failure. */
int spawn_captured(struct spawn *sp, int ret_fds[2], pid_t *ret_pid, struct err *err);

#endif
