/*
 * The loop as libevent has it, for those in this layer that wait for sockets.
 */
#ifndef SYS_PROC_LOOP_PRIVATE_H
#define SYS_PROC_LOOP_PRIVATE_H

#include "sys/proc/loop.h"

struct event_base;

struct event_base *loop_events(const struct loop *loop);

#endif
