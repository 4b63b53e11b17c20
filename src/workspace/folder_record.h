/*
 * The record of the folders that we make for workspaces: in the run's folder in the state folder,
 * where agents of a mount namespace cannot reach it, one file per task.
 *
 * An agent can give any folder a name of ours. So when we resume a run or clean up after it, we
 * delete only folders that are in the record. A folder is identified by device, inode and time of
 * birth: file systems use an inode number again.
 *
 * Runs of older programs have no record. Then folders are unknown. We do not wait until a line is
 * on disk: if the machine was restarted since the run began, lines may be missing.
 */
#ifndef WORKSPACE_FOLDER_RECORD_H
#define WORKSPACE_FOLDER_RECORD_H

#include "base/err.h"
#include "base/strv.h"
#include "sys/fs/beneath.h"

#include <stdbool.h>

/* Kinds of folders in the record. */
#define RECORD_TREE     "tree"
#define RECORD_ADMIN    "admin"
#define RECORD_LAYERS   "layers"
#define RECORD_COPY     "copy"
#define RECORD_INCLUDED "included"

enum folder_owner { FOLDER_UNKNOWN, FOLDER_OURS, FOLDER_FOREIGN };

/* Begins the record of a new run; `dir` is the folder of the run. */
int folder_record_begin(const char *dir, struct err *err);
void folder_record_remove(const char *dir);

/* Removes the record of a task of which no folder is left. `dir` is the folder of the run. */
void folder_record_forget(const char *dir, const char *task);

/* True if the run of such a path has a record, and no line of it can be missing. */
bool folder_record_is_whole(const char *common, const char *path);

/* Adds an open folder. `path` is "<root>/RUN/NAME", where NAME is a task, or a name that we make
 * from it: dots and more follow or surround it. If this fails, a later resume or clean leaves the
 * folder where it is and reports it, so we ignore a failure. */
void folder_record_add(const char *common, const char *path, const char *kind, int fd);

/* Finds the last folder of that kind for the task. FOLDER_FOREIGN: the record is whole, but has no
 * such folder. FOLDER_UNKNOWN: it is not whole. */
enum folder_owner folder_record_last(const char *common, const char *path, const char *kind,
                                     struct file_id *ret);

/* Is the entry that has the name NAME of such a path in an open folder one of the task's folders?
 * Sets *ret_id if it is ours. A file is foreign, because we make only folders; an entry that is
 * missing or something else, such as a symlink, is unknown. */
enum folder_owner folder_record_owner(const char *common, const char *path, int folder,
                                      struct file_id *ret_id);

/* Makes an empty folder at such a path, and adds it to the record. If somebody else has
 * put something there, we rename that first (FOLDER_OTHER). We delete a folder of ours, and any
 * folder if the run has no record. */
int folder_record_make(const char *common, const char *path, const char *kind, mode_t mode,
                       struct err *err);

/* Deletes the folder at such a path if it is ours; leaves another one, and a file. `unknown`: also
 * deletes a folder of a run that has no record. */
int folder_record_drop(const char *common, const char *path, bool unknown, struct err *err);

/* Appends the paths of the folders in the folder of a run that are not ours. `skips`, which may be
 * NULL, names others that belong there. */
int folder_record_list_others(const char *common, const char *run_folder,
                              bool (*skips)(void *ctx, const char *name), void *ctx,
                              struct strv *ret, struct err *err);

/* A new name beside `path` for one of our folders that is about to be deleted, or for another one
 * that is in our way. Nobody can guess it. The caller frees it. */
#define FOLDER_GONE  ".gone"
#define FOLDER_OTHER ".other"
char *folder_new_name(const char *path, const char *ending);

#endif
