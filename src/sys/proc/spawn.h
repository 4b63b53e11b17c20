/*
 * Starting a process: by posix_spawn, never by fork, with exactly the descriptors that are named.
 * All descriptors of the parent are to be close-on-exec; those that it inherited itself are closed.
 */
#ifndef SYS_PROC_SPAWN_H
#define SYS_PROC_SPAWN_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { SPAWN_FDS = 5 };

/* What a descriptor can be besides one of ours. */
enum { SPAWN_NULL = -1, SPAWN_NONE = -2 };

struct spawn {
    char *const *argv;         /* argv[0] is looked up on PATH unless it has a slash */
    char *const *env;          /* NULL: our own */
    const char *dir;           /* NULL: our own */
    const int *folder;         /* an open one instead, or NULL */
    const struct fence *fence; /* that it starts in (sys/contain/fence.h), or NULL */
    int fds[SPAWN_FDS];        /* ours that become 0, 1, 2 ... there; /dev/null; or none at all */
    bool new_session;
};

/* The child begins with no signal blocked and SIGPIPE, SIGINT, SIGTERM and SIGHUP at their
 * defaults. Fails also where the program cannot be executed. */
int spawn_start(const struct spawn *sp, pid_t *ret_pid, struct err *err);

/* Where such a program is: along PATH, as a shell looks, unless it has a slash. On the heap; NULL
 * where there is none. */
char *spawn_find(const char *program);
bool spawn_finds(const char *program);

/* Whether a child has ended, or does so within some ms; it is still to be reaped. */
bool spawn_ended(pid_t pid, int64_t ms);

/* Ends a child with a session of its own, and what it started there: asks, and a second later
 * kills. It is still to be reaped. */
void spawn_end(pid_t pid);

/* A pipe of which no other child inherits an end. */
int spawn_pipe(int ends[2], struct err *err);

/* Starts it with pipes for its standard output and error; what is to be read of both is in ret_fds,
 * which are -1 on failure. */
int spawn_captured(struct spawn *sp, int ret_fds[2], pid_t *ret_pid, struct err *err);

#endif
