/*
 * Whom to tell, and when: what a plan and the configuration have under `notify`.
 */
#ifndef PLAN_NOTIFY_H
#define PLAN_NOTIFY_H

#include "plan/decode/keys.h"

/* struct notify_list; what is there already is replaced. */
read_fn read_notify;

#endif
