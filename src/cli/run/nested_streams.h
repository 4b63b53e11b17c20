/*
 * Finds out if an agent is starting streams: it could start more and more agents.
 */
#ifndef CLI_RUN_NESTED_STREAMS_H
#define CLI_RUN_NESTED_STREAMS_H

/* Names the agent's session that we run in, from the environment: "task 'a' of run R". NULL if we
 * do not run in one. The text is valid until the next call. */
const char *streams_outer_task(void);

#endif
