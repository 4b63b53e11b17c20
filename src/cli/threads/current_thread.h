/*
 * struct current_thread: the thread whose worktree a command was called in, among all threads of
 * the repository.
 */
#ifndef CLI_THREADS_CURRENT_THREAD_H
#define CLI_THREADS_CURRENT_THREAD_H

#include "cli/frame/cli.h"
#include "threads/thread.h"

struct current_thread {
    struct git_repo repo;
    struct threads all;
    struct thread *thread; /* NULL: the folder is in no thread's worktree */
};

/* ERR_ENV where it is the worktree of a thread whose file is damaged. */
int current_thread_open(struct current_thread *here, const char *dir, struct err *err);
void current_thread_close(struct current_thread *here);
#define autohere own_cleanup(current_thread_close)

/* Puts right what the hooks of a worktree depend on that has moved; says where they are off. */
int current_thread_mend(struct current_thread *here, struct err *err);

/* Says which of the others cannot be asked what is theirs. */
void current_thread_warn(const struct current_thread *here);

/* Says what a call failed of; returns the exit code. */
int own_told(const struct err *err);

/* The same for the folder that we are in, told: EXIT_OK; EXIT_USAGE where it is in no thread. */
int current_thread_find(struct current_thread *here);

#endif
