/*
 * Streams are not started by an agent that is itself at work for such a program.
 */
#ifndef CLI_RUN_NESTED_STREAMS_H
#define CLI_RUN_NESTED_STREAMS_H

/* What this is inside of, by the environment: "task 'a' of run R"; NULL: of nothing. */
const char *streams_outer_task(void);

#endif
