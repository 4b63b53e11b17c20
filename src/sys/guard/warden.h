/*
 * The warden of a run: a process that does nothing as long as the engine lives. When the engine
 * dies it ends at once what has WARDEN_MARK, gives the guards the time that they need, and then
 * ends what is left: the trees of guards that were killed together with the engine.
 */
#ifndef SYS_GUARD_WARDEN_H
#define SYS_GUARD_WARDEN_H

#include "base/err.h"

#include <sys/types.h>

struct warden {
    pid_t pid; /* 0: there is none */
    int lifeline;
};

/* What it finds open: the lifeline, as a guard does. A byte on it: the run has ended well. */
enum { WARDEN_LIFELINE = 3 };

/* In the environment of what is of no use when the engine has died: ended at once. */
#define WARDEN_MARK "ANABRANCH_FUTILE=1"

int warden_start(struct warden *w, const char *self, const char *run, struct err *err);
void warden_dismiss(struct warden *w);

/* The warden's own part; returns when there is nothing left to do. */
int warden_watch(const char *run, struct err *err);

#endif
