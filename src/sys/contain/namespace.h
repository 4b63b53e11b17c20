/*
 * A pid namespace: a world of processes with an init of its own, which all orphans go to. When the
 * init ends, by whatever death, the kernel ends all the others, and nobody is told of the init's
 * end before they have gone.
 *
 * Inside, /proc shows this world only, and one folder is hidden. Everything else is as outside:
 * files, network, users. Who is not root needs a user namespace for it; there, programs that are
 * setuid have no effect.
 */
#ifndef SYS_CONTAIN_NAMESPACE_H
#define SYS_CONTAIN_NAMESPACE_H

#include "base/err.h"
#include "sys/contain/hide.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * The init that we start in it only reaps: it holds no descriptor and knows nothing, so that a
 * process inside which stops, traces or kills it gains nothing. We stay outside, where nobody
 * inside sees us.
 */
struct namespace
{
    pid_t init; /* its pid here; 0: there is none */
    int mounts, root, cwd;
    int proc; /* its /proc, as proc_table_look_into() takes it */
};

#define NAMESPACE_INIT                                                                             \
    {                                                                                              \
        .mounts = -1, .root = -1, .cwd = -1, .proc = -1                                            \
    }

/* Makes one. The init dies with us; the children that we start from now on are inside. Fails, with
 * nothing left of it, where the system cannot do all of it. Only for programs of one thread. */
int namespace_open(struct namespace *ns, const struct hiding *hiding, struct err *err);

/* The init is for the caller to kill and to reap. */
void namespace_close(struct namespace *ns);

/* In a child, before it becomes another program: its mounts become those of the namespace. False,
 * with errno, where that fails. */
bool namespace_join(const struct namespace *ns);

/* In a user namespace that was made just now: we are who we were outside, and nobody else is there.
 */
int namespace_map_user(uid_t uid, gid_t gid, struct err *err);

#endif
