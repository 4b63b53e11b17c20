/*
 * Which start of the machine this is. What was written before the machine went down, and not
 * synced, may not have come to the disk; who finds it later can tell by a note of the start in
 * which it was written. Linux only: elsewhere nothing is noted, and nothing is found out.
 */
#ifndef SYS_PROC_BOOT_ID_H
#define SYS_PROC_BOOT_ID_H

#include "base/err.h"

#include <stdbool.h>

/* Its id, a line; empty where the system does not tell. */
const char *boot_id(void);

/* Notes it in a file, made or written anew. */
int boot_note(const char *path, struct err *err);

/* Whether it is still the one that was noted there. A note that is missing may be what was lost. */
bool boot_is_noted(const char *path);

#endif
