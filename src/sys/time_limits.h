/*
 * How long other programs and their locks are waited for before that is a failure.
 */
#ifndef SYS_TIME_LIMITS_H
#define SYS_TIME_LIMITS_H

#include <stdint.h>

/* `usual` ms, or what the variable ANABRANCH_PATIENCE says instead: 90s, 15m. */
int64_t time_limit(int64_t usual);

/* The same for what a plan has run beside its agents, by ANABRANCH_COMMAND_TIME. */
int64_t time_limit_with_commands(int64_t usual);

#endif
