/*
 * The processes of this machine, as /proc tells of them. A pid alone may name another process by
 * the time that it is used, so each is named by its pid and its start time, and signals go to a
 * handle of which both have been looked at. Where the system does not tell, lists stay empty.
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

/* From now on this process looks into another pid namespace, a descendant of its own, through the
 * /proc that is mounted there: every pid below is one of that namespace, and its init does not
 * count as we do not count else. The descriptor stays open, and the caller's. */
void proc_table_look_into(int proc);

/* Opens a file of a process's folder for reading; -1 where it is not there. */
int proc_table_open(pid_t pid, const char *name, int flags);

/* Each adds processes to the list; ended ones that nobody has reaped are left out, as are we. */
void proc_table_below(struct proc_table *procs,
                      pid_t root); /* all that descend from root, itself not */
void proc_table_in_group(struct proc_table *procs, pid_t group);
void proc_table_everyone(struct proc_table *procs);

/* All whose environment, as they were started with it, has each of the marks: "NAME=value", NULL
 * behind the last. We and those that we descend from are left out, as are those that are listed
 * already. */
void proc_table_marked(struct proc_table *procs, const char *const *marks);

/* A process whose current folder is `folder` or below it; 0 where there is none, or the system does
 * not tell: in a user namespace, of those outside of it. */
pid_t proc_table_in(const char *folder);

/* Whether a program of that name has its current folder at `folder` or below; true as well where
 * the system does not tell, of any at all or, as in a user namespace, of one of our user's. Those
 * that we have started are left out, and those with a variable of that name in their environment
 * which another process of our program, that lives, has started. */
bool proc_table_program_in(const char *name, const char *folder, const char *variable);

/* Adds all of that program that may be at work in one of these folders or below, by the same rules,
 * and those, wherever they are, whose environment or command line names a git folder there
 * (GIT_DIR,
 * --git-dir). False where the system does not tell. */
bool proc_table_programs_in(struct proc_table *procs, const char *name, const struct strv *folders,
                            const char *variable);

/* Appends the command line of a process, arguments separated by blanks, at most 200 bytes. */
void proc_table_command(pid_t pid, struct buf *out);

/* When a process started, in a unit of the system's own; 0 where it is not there. Together with the
 * pid it names a process for good. */
int64_t proc_table_start(pid_t pid);

/* Whether a process lives and is not about to end: neither is it being killed, nor does it wait for
 * its parent to reap it. It may still have files open and locked for a moment where it does not. */
bool proc_table_lives(const struct proc_id *id);

/* Ends the process that traces this one, if any does: a child that has ended is not ours to reap as
 * long as a tracer holds it. */
void proc_table_end_tracer(pid_t pid);

/* Sends a signal to just this process; false where it has gone. Signal 0 only asks. */
bool proc_table_signal(const struct proc_id *id, int signal);

#endif
