/*
 * struct current_thread: the thread of the worktree that a command was called in, and all other
 * threads of the repository.
 */
#ifndef CLI_THREADS_CURRENT_THREAD_H
#define CLI_THREADS_CURRENT_THREAD_H

#include "cli/frame/cli.h"
#include "threads/thread.h"

struct current_thread {
    struct git_repo repo;
    struct threads all;
    struct thread *thread; /* NULL if the folder is in no thread's worktree */
};

/* Finds the thread of a folder. ERR_ENV if the file of that thread is damaged. */
int current_thread_open(struct current_thread *here, const char *dir, struct err *err);
void current_thread_close(struct current_thread *here);
#define autohere own_cleanup(current_thread_close)

/* Repairs the hooks after the worktree was moved. Warns if they are off. */
int current_thread_mend(struct current_thread *here, struct err *err);

/* Warns about the other threads whose files are damaged: we do not know their paths. */
void current_thread_warn(const struct current_thread *here);

/* Finds the thread of the current folder, and prints errors. EXIT_USAGE if it is in no thread. */
int current_thread_find(struct current_thread *here);

#endif
