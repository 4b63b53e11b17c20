/*
 * A person's message for an agent that still works. We deliver it when the agent is done.
 */
#ifndef RUN_REWORK_MESSAGE_H
#define RUN_REWORK_MESSAGE_H

#include <stdbool.h>

struct attempt;

/* Both messages, the first of which may be NULL. The caller frees the result. */
char *message_join(const char *first, const char *words);

/* Called when the agent of an attempt is done. If a message waits for it, starts the next attempt
 * with that message, frees this attempt and returns true. */
bool message_deliver(struct attempt *attempt);

/* Called when an attempt fails: passes a waiting message to the next attempt. */
void message_pass_on(struct attempt *attempt);

#endif
