/*
 * struct own_here: the thread whose worktree a command was called in, among all threads of the
 * repository.
 */
#ifndef CLI_THREADS_CURRENT_THREAD_H
#define CLI_THREADS_CURRENT_THREAD_H

#include "cli/frame/cli.h"
#include "threads/thread.h"

struct own_here {
    struct git_repo repo;
    struct threads all;
    struct thread *thread; /* NULL: the folder is in no thread's worktree */
};

/* ERR_ENV where it is the worktree of a thread whose file is damaged. */
int own_here_open(struct own_here *here, const char *dir, struct err *err);
void own_here_close(struct own_here *here);
#define autohere own_cleanup(own_here_close)

/* Puts right what the hooks of a worktree depend on that has moved; says where they are off. */
int own_here_mend(struct own_here *here, struct err *err);

/* Says which of the others cannot be asked what is theirs. */
void own_here_warn(const struct own_here *here);

/* Says what a call failed of; returns the exit code. */
int own_told(const struct err *err);

/* The same for the folder that we are in, told: EXIT_OK; EXIT_USAGE where it is in no thread. */
int own_here_find(struct own_here *here);

#endif
