/*
 * Whom to tell, and when: what a plan and the configuration have under `notify`.
 */
#ifndef CORE_NOTIFY_H
#define CORE_NOTIFY_H

#include "core/read.h"

/* struct notify_list; what is there already is replaced. */
read_fn read_notify;

#endif
