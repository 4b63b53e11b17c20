/*
 * Containment: what keeps the processes that grow from a command together, so that all of them are
 * known and all can be ended. There are several means, tried from the strongest on:
 *
 *   namespace   a pid namespace; its end ends all, also when the guard is killed
 *   cgroup      a control group; one write ends all, the guard must be there to do it
 *   subreaper   orphans become the guard's children; they are stopped, then killed, one by one
 *   group       process groups as POSIX has them, and the marks in the environment where the system
 *               shows it
 */
#ifndef SYS_CONTAIN_CONTAIN_H
#define SYS_CONTAIN_CONTAIN_H

#include "base/err.h"
#include "sys/contain/cgroup.h"
#include "sys/contain/namespace.h"
#include "sys/guard/proc_table.h"

#include <stdbool.h>
#include <stdint.h>

enum contain { CONTAIN_ANY, CONTAIN_NAMESPACE, CONTAIN_CGROUP, CONTAIN_SUBREAPER, CONTAIN_GROUP };

extern const char *const contain_words[]; /* "any", "namespace" ..., NULL at the end */

int contain_named(const char *word, enum contain *ret, struct err *err);

/* What the environment variable ANABRANCH_CONTAIN asks for; ERR_INPUT where it is none of them. */
int contain_wanted(enum contain *ret, struct err *err);

/* What a tree of processes may use; 0: as much as it likes. */
struct limits {
    int64_t memory; /* bytes */
    int64_t processes;
    double cpu; /* how many at once */
};

struct container {
    enum contain means;
    struct cgroup cgroup; /* also in a namespace, where its controllers are wanted */
    bool limited;         /* the kernel sees to the limits */
    struct namespace ns;
    const struct hiding *hiding; /* where there is a namespace */
    pid_t guard;                 /* who opened it */
    pid_t child;                 /* the command; 0: it has been reaped */
};

/* The variable by which all that a guard starts is known. The engine gives each guard another one,
 * so that also who has not become the command yet has it. */
#define GUARD_MARK "ANABRANCH_GUARD"

/* Tries the means, or the one that is wanted alone. With a namespace, /proc is that of the
 * namespace from then on (proc_table_look_into()), and `hiding` holds in it. */
int container_open(struct container *c, enum contain wanted, const struct limits *limits,
                   const struct hiding *hiding, struct err *err);
void container_close(struct container *c);

/* Starts the command in it, in a session of its own, with our descriptors 0 to 2. */
int container_start(struct container *c, char *const *argv, struct err *err);

/* Lists all that is alive in it. */
void container_list(const struct container *c, struct proc_table *procs);

/* Sends a signal to all; SIGKILL and SIGSTOP reach also what is being forked at that time. */
void container_signal(const struct container *c, int signal);

/* Reaps what has ended; of the command itself the status is given once, as waitpid() does. A
 * process group's number is another's as soon as its leader is reaped, so there the command stays
 * until container_close(). False where nothing is left. */
bool container_reap(struct container *c, bool *ret_ended, int *ret_status);

#endif
