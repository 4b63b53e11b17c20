/*
 * Decodes `notify` in a plan and in the configuration: when to notify, and how.
 */
#ifndef PLAN_NOTIFY_H
#define PLAN_NOTIFY_H

#include "plan/decode/keys.h"

/* Fills a struct notify_list and replaces its old content. */
read_fn read_notify;

#endif
