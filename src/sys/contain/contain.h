/*
 * Containment: keeps all processes that descend from a command together, so that we know all of
 * them and can end all of them. There are several means; we try the strongest first:
 *
 *
 *   namespace   a pid namespace; its end kills every process in it, even if the guard is killed
 *   cgroup      a control group; one write kills every process, but the guard must be alive
 *   subreaper   orphans become the guard's children; the guard stops and kills them one by one
 *   group       POSIX process groups, and the marks in the environment if the system shows them
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

/* Reads the environment variable ANABRANCH_CONTAIN. ERR_INPUT if its value is unknown. */
int contain_wanted(enum contain *ret, struct err *err);

/* Limits for a tree of processes; 0: no limit. */
struct limits {
    int64_t memory; /* bytes */
    int64_t processes;
    double cpu; /* number of processors at a time */
};

struct container {
    enum contain means;
    struct cgroup cgroup; /* used in a namespace too, if we want its controllers */
    bool limited;         /* the kernel enforces the limits */
    struct namespace ns;
    const struct hiding *hiding; /* used if there is a namespace */
    pid_t guard;                 /* the process that opened the container */
    pid_t child;                 /* the command; 0: reaped */
};

/* The variable that identifies the processes of a guard. The engine gives each guard a different
 * value at its start, so a child of the guard has it even before it executes the command. */
#define GUARD_MARK "ANABRANCH_GUARD"

/* Tries all means, or only the wanted one. With a namespace, proc_table_look_into() switches /proc
 * to the one of the namespace, and `hiding` applies in it. */
int container_open(struct container *c, enum contain wanted, const struct limits *limits,
                   const struct hiding *hiding, struct err *err);
void container_close(struct container *c);

/* Starts the command in the container, in its own session, with our descriptors 0 to 2. */
int container_start(struct container *c, char *const *argv, struct err *err);

/* Lists all living processes of the container. */
void container_list(const struct container *c, struct proc_table *procs);

/* Sends a signal to all of them. SIGKILL and SIGSTOP also reach processes that are being forked at
 * that moment. */
void container_signal(const struct container *c, int signal);

/* Reaps ended processes. Reports the status of the command once, as waitpid() returns it. With a
 * process group, the command stays unreaped until container_close(): once its leader is reaped,
 * another group may get the same number. False if no process is left. */
bool container_reap(struct container *c, bool *ret_ended, int *ret_status);

#endif
