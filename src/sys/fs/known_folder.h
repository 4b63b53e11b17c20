/*
 * A folder that is to be deleted, as one string, also for a command line: "DEV:INO:PATH", where
 * DEV:INO identifies the folder (beneath.h). A string that begins with '/' is only a path, for
 * places that no agent can reach.
 */
#ifndef SYS_FS_KNOWN_FOLDER_H
#define SYS_FS_KNOWN_FOLDER_H

#include "base/err.h"
#include "sys/fs/beneath.h"

#include <stdbool.h>

/* The caller frees the string. */
char *known_folder(const char *path, const struct file_id *id);

/* The path in such a string. */
const char *known_folder_path(const char *folder);

/* False if it is gone, or if its name belongs to something else. */
bool known_folder_is_there(const char *folder);

/* Removes the folder with its contents. If something else has its name, that stays, and we fail
 * with ERR_ENV. A missing folder is no failure. */
int known_folder_remove(const char *folder, struct err *err);

#endif
