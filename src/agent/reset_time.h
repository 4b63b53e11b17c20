/*
 * When a limit resets, as agents and their models put it: "usage limit reached|1717171717", "resets
 * 3pm (Europe/Berlin)", "resets Nov 3, 9am (UTC)", "try again in 1m30s", "retry after 30 seconds",
 * "until 2026-11-03T09:00:00Z". A time is one only behind a word that says what it is for: a log
 * has others.
 */
#ifndef AGENT_RESET_TIME_H
#define AGENT_RESET_TIME_H

#include <stdint.h>

/* ms since 1970; 0: the text does not say it. A time of day that has passed is tomorrow's, a date
 * without a year is the nearest; what has a date may be over. A time without a zone, or with one
 * that nobody knows, is ours. */
int64_t reset_time(const char *text, int64_t now);

#endif
