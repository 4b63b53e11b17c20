/*
 * Memory use of processes.
 */
#ifndef SYS_GUARD_PROC_USAGE_H
#define SYS_GUARD_PROC_USAGE_H

#include "sys/guard/proc_table.h"

#include <stdbool.h>
#include <stdint.h>

/* True if the processes together use more than `bytes` of memory. Pages that several of them share
 * count once. */
bool usage_exceeds_memory(const struct proc_table *procs, int64_t bytes);

#endif
