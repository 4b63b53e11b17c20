/*
 * Finds out when a limit resets in the words of agents and their models: "usage limit
 * reached|1717171717", "resets 3pm (Europe/Berlin)", "resets Nov 3, 9am (UTC)", "try again in
 * 1m30s", "retry after 30 seconds", "until 2026-11-03T09:00:00Z". We read a time only after a word
 * that announces it, because a log contains other times.
 */
#ifndef AGENT_RESET_TIME_H
#define AGENT_RESET_TIME_H

#include <stdint.h>

/* Returns ms since 1970; 0 if the text names no time. A time of day that has passed means
 * tomorrow, and a date without a year the nearest one; a full date may lie in the past. A time
 * without a zone, or with an unknown one, is in our own zone. */
int64_t reset_time(const char *text, int64_t now);

#endif
