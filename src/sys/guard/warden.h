/*
 * The warden of a run: a process that only waits while the engine lives. When the engine dies, the
 * warden kills processes with WARDEN_MARK at once, gives the guards time to end, and then kills the
 * rest: the trees of guards that died together with the engine.
 */
#ifndef SYS_GUARD_WARDEN_H
#define SYS_GUARD_WARDEN_H

#include "base/err.h"

#include <sys/types.h>

struct warden {
    pid_t pid; /* 0: none */
    int lifeline;
};

/* The descriptor that the engine gives to it: the lifeline, as for a guard. A byte on it means that
 * the run has ended well. */
enum { WARDEN_LIFELINE = 3 };

/* In the environment of processes that are useless once the engine is dead: we kill them at
 * once. */
#define WARDEN_MARK "ANABRANCH_FUTILE=1"

int warden_start(struct warden *w, const char *self, const char *run, struct err *err);
void warden_dismiss(struct warden *w);

/* The main function of the warden; returns when nothing is left to do. */
int warden_watch(const char *run, struct err *err);

#endif
