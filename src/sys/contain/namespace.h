/*
 * A pid namespace: a set of processes with its own init, which adopts all orphans. When the init
 * dies, for whatever reason, the kernel kills all other processes in it. The kernel reports the end
 * of the init only after they are gone.
 *
 * Inside, /proc shows only these processes, and one folder is hidden. Files, network and users are
 * the same as outside. Without root we also need a user namespace, and in it setuid programs have
 * no effect.
 */
#ifndef SYS_CONTAIN_NAMESPACE_H
#define SYS_CONTAIN_NAMESPACE_H

#include "base/err.h"
#include "sys/contain/hide.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * The init only reaps. It holds no descriptor and knows nothing, so a process inside that stops,
 * traces or kills it gains nothing. We stay outside, and nobody inside sees us.
 */
struct namespace
{
    pid_t init; /* its pid outside; 0: none */
    int mounts, root, cwd;
    int proc; /* its /proc, for proc_table_look_into() */
};

#define NAMESPACE_INIT                                                                             \
    {                                                                                              \
        .mounts = -1, .root = -1, .cwd = -1, .proc = -1                                            \
    }

/* Makes a namespace. The init dies with us. Children that we start from now on are inside. If the
 * system cannot do all of this, it fails and leaves nothing behind. Only for programs with one
 * thread. */
int namespace_open(struct namespace *ns, const struct hiding *hiding, struct err *err);

/* The caller must kill and reap the init. */
void namespace_close(struct namespace *ns);

/* Call it in a child before exec: it enters the mounts of the namespace. False with errno on
 * failure. */
bool namespace_join(const struct namespace *ns);

/* Call it in a new user namespace: we keep our user and group there, and no other users exist. */
int namespace_map_user(uid_t uid, gid_t gid, struct err *err);

#endif
