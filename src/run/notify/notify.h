/*
 * Notifies the receivers that the plan names under `notify`, or else the configuration: webhooks,
 * commands, the desktop.
 *
 * Each delivery is a process. When the run has ended, it waits for running deliveries up to ten
 * seconds or until the user interrupts. A failed delivery is recorded as an event (notify.failed)
 * and has no other effect.
 */
#ifndef RUN_NOTIFY_NOTIFY_H
#define RUN_NOTIFY_NOTIFY_H

#include "run/run.h"

struct notifier;

/* Starts to observe the run; NULL if there are no receivers. */
struct notifier *notifier_new(struct run *run);
void notifier_free(struct notifier *n);

#endif
