/*
 * The processes of this machine, read from /proc. A pid alone may belong to another process by the
 * time we use it. So we identify a process by pid and start time, and send signals through a handle
 * for which we have checked both. If the system has no /proc, lists stay empty.
 */
#ifndef SYS_GUARD_PROC_TABLE_H
#define SYS_GUARD_PROC_TABLE_H

#include "base/buf.h"
#include "base/strv.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_id {
    pid_t pid;
    int64_t start;
};

struct proc_table {
    VEC(struct proc_id) all;
};
void proc_table_done(struct proc_table *procs);
#define autoprocs own_cleanup(proc_table_done)

/* From now on this process reads another pid namespace, a descendant of its own, through the /proc
 * that is mounted there. All pids below are then of that namespace. Its init does not count, just
 * as we do not count otherwise. The caller keeps the descriptor open. */
void proc_table_look_into(int proc);

/* Opens a file in the /proc folder of a process; -1 if it is missing. */
int proc_table_open(pid_t pid, const char *name, int flags);

/* Reads the beginning of such a file; false, and an empty text, if the process is gone. */
bool proc_table_read(pid_t pid, const char *name, char *text, size_t size);

/* Each adds processes to the list, except zombies and ourselves. */
void proc_table_below(struct proc_table *procs,
                      pid_t root); /* all descendants of root, without root */
void proc_table_in_group(struct proc_table *procs, pid_t group);
void proc_table_everyone(struct proc_table *procs);

/* Adds all processes whose initial environment has each of the marks: "NAME=value", NULL at the
 * end. Leaves out ourselves, our ancestors, and processes that are listed already. */
void proc_table_marked(struct proc_table *procs, const char *const *marks);

/* Finds a process whose current folder is `folder` or below it. 0 if there is none or the system
 * does not tell. A user namespace hides the folders of processes outside of it. */
pid_t proc_table_in(const char *folder);

/* True if a program of that name has its current folder at `folder` or below. Also true if the
 * system does not tell: about any process, or about a process of our user, as in a user namespace.
 * Leaves out our own descendants, and processes that have `variable` in their environment and
 * descend from another living process of our program. */
bool proc_table_program_in(const char *name, const char *folder, const char *variable);

/* Adds all processes of that program that may work in or below one of these folders, by the same
 * rules. Also adds processes in any folder whose environment or command line names a git folder
 * there (GIT_DIR, --git-dir). False if the system does not tell. */
bool proc_table_programs_in(struct proc_table *procs, const char *name, const struct strv *folders,
                            const char *variable);

/* Appends the command line of a process, with blanks between arguments, at most 200 bytes. */
void proc_table_command(pid_t pid, struct buf *out);

/* Appends the arguments of a process, each with a NUL; nothing if the system does not tell. */
void proc_table_arguments(pid_t pid, struct buf *out);

/* True if the process has its current folder at `folder` or below. */
bool proc_table_is_in(pid_t pid, const char *folder);

/* Start time of a process, in a unit of the system; 0 if it does not exist. Together with the pid
 * it identifies a process for good. */
int64_t proc_table_start(pid_t pid);

/* True if a process lives and is not about to end: it is not being killed and is no zombie. If
 * false, it may still have files open and locked for a moment. */
bool proc_table_lives(const struct proc_id *id);

/* Kills the process that traces this one, if any: we cannot reap an ended child while a tracer
 * holds it. */
void proc_table_end_tracer(pid_t pid);

/* Sends a signal to exactly this process; false if it is gone. Signal 0 only checks. */
bool proc_table_signal(const struct proc_id *id, int signal);

#endif
