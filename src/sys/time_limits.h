/*
 * Time limits for other programs and their locks.
 */
#ifndef SYS_TIME_LIMITS_H
#define SYS_TIME_LIMITS_H

#include <stdint.h>

/* Returns `usual` ms, or the value of the variable ANABRANCH_PATIENCE: 90s, 15m. */
int64_t time_limit(int64_t usual);

/* The same for commands that a plan runs beside its agents, with ANABRANCH_COMMAND_TIME. */
int64_t time_limit_with_commands(int64_t usual);

#endif
