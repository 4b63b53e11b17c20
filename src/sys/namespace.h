/*
 * A pid namespace: a world of processes with an init of its own, which all orphans go to. When the
 * init ends, by whatever death, the kernel ends all the others, and nobody is told of the init's
 * end before they have gone.
 *
 * Inside, /proc shows this world only. Everything else is as outside: files, network, users. Who is
 * not root needs a user namespace for it; there, programs that are setuid have no effect.
 */
#ifndef SYS_NAMESPACE_H
#define SYS_NAMESPACE_H

#include "base/err.h"

#include <sys/types.h>

/* Continues as the init of a new namespace, in a copy of this process, which dies with the one that
 * called. There *ret_init is 0; in the caller it is the copy's pid. Fails, with nothing left of it,
 * where the system cannot do all of it. */
int namespace_enter(pid_t *ret_init, struct err *err);

/* In a user namespace that was made just now: we are who we were outside, and nobody else is there.
 */
int namespace_map_user(uid_t uid, gid_t gid, struct err *err);

#endif
