/*
 * What processes use of the machine.
 */
#ifndef SYS_GUARD_PROC_USAGE_H
#define SYS_GUARD_PROC_USAGE_H

#include "sys/guard/proc_table.h"

#include <stdbool.h>
#include <stdint.h>

/* Whether processes use more than so many bytes of memory together. Pages that several share count
 * once among them. */
bool usage_exceeds_memory(const struct proc_table *procs, int64_t bytes);

#endif
