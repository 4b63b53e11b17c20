/*
 * Notifies the receivers that the plan names under `notify`, or else the configuration: webhooks,
 * commands, the desktop.
 *
 * Each delivery is a process. The run waits for it only when it has nothing else to do. A failed
 * delivery is recorded as an event (notify.failed) and has no other effect.
 */
#ifndef RUN_NOTIFY_NOTIFY_H
#define RUN_NOTIFY_NOTIFY_H

#include "run/run.h"

struct notifier;

/* Starts to observe the run; NULL if there are no receivers. */
struct notifier *notifier_new(struct run *run);

/* Waits for running deliveries, for up to ten seconds or until the user interrupts; gives up the
 * rest. The run's own signals have no effect after this. */
void notifier_finish(struct notifier *n);
void notifier_free(struct notifier *n);

#endif
