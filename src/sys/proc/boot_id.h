/*
 * Identifies the current boot of the machine. If a file was written before a crash and not synced,
 * its contents may be lost. A note with the boot id tells the reader whether the machine was
 * restarted since. Linux only: elsewhere we note nothing and detect nothing.
 */
#ifndef SYS_PROC_BOOT_ID_H
#define SYS_PROC_BOOT_ID_H

#include "base/err.h"

#include <stdbool.h>

/* The id of this boot, as a line; empty if the system does not tell. */
const char *boot_id(void);

/* Writes the id to a file, new or in place of the old contents. */
int boot_note(const char *path, struct err *err);

/* True if the file has the id of this boot. A missing note counts as another boot: the crash may
 * have lost it. */
bool boot_is_noted(const char *path);

#endif
