/*
 * The libevent base of the loop, for files in src/sys that wait for sockets.
 */
#ifndef SYS_PROC_LOOP_PRIVATE_H
#define SYS_PROC_LOOP_PRIVATE_H

#include "sys/proc/loop.h"

struct event_base;

struct event_base *loop_events(const struct loop *loop);

#endif
