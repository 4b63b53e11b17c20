/*
 * Telling whom the plan names under `notify`, or else the configuration: webhooks, commands, the
 * desktop.
 *
 * A delivery is a process of its own that the run never waits for while it has anything else to do,
 * and whose failure is an event (notify.failed) and nothing more.
 */
#ifndef RUN_NOTIFY_NOTIFY_H
#define RUN_NOTIFY_NOTIFY_H

#include "run/run.h"

struct notifier;

/* Observes the run from now on; NULL where nobody is to be told. */
struct notifier *notifier_new(struct run *run);

/* Waits for what is under way, for ten seconds or until the user is tired of it; the rest is given
 * up. The run's own signals are no longer heard after this. */
void notifier_finish(struct notifier *n);
void notifier_free(struct notifier *n);

#endif
