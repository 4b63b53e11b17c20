/*
 * Overlays: a mounted folder that shows the files of a lower folder. The lower one stays
 * unchanged: the kernel puts everything that is written, changed or deleted into an upper folder.
 *
 * We mount overlays in a mount namespace of our own: we and our children see them, nobody else
 * does. When our last process has died, for whatever reason, the mounts are gone. The written
 * files stay in the upper folder, and the next mount shows them again. A user who is not root
 * needs a user namespace for this: setuid programs have no effect in it, and folders of the lower
 * one cannot be renamed.
 *
 * Linux only: on other systems every function fails with ERR_ENV.
 */
#ifndef SYS_CONTAIN_OVERLAYFS_H
#define SYS_CONTAIN_OVERLAYFS_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

enum { OVERLAY_BELOW_MAX = 64 };

struct overlay {
    const char *lower, *upper, *work; /* `work`: the kernel's work folder, beside `upper`, empty */
    char *const *below; /* more lower folders, ends with NULL; the first that has a file wins */
    const char *at;     /* the folder to mount it at */
};

/* Makes our namespace, if we have none yet. Call it while the program has one thread. */
int overlay_enter(struct err *err);

/* Enters the namespace of another process instead, for the rest of our life. Fails if that process
 * does not see the folder `needs` as we do. */
int overlay_join(pid_t pid, const char *needs, struct err *err);

int overlay_mount(const struct overlay *o, struct err *err);

/* Succeeds if nothing is mounted there. A process that still works in the overlay continues to see
 * it. */
int overlay_unmount(const char *at, struct err *err);

/* True if we see a mount there. */
bool overlay_is_at(const char *at);

/* Finds another process that sees a mount there while we do not; 0 if there is none or we cannot
 * know. Prefers a process that we can join and that sees the folder `needs` as we do (NULL: any),
 * because much is hidden from agents. Looks at all processes of the machine. */
pid_t overlay_seen_by(const char *at, const char *needs);

/* Checks that overlays work with folders in `dir`: mounts one in a child process. Leaves nothing
 * behind, and removes what an earlier, killed probe has left. */
int overlay_probe(const char *dir, struct err *err);

/* True for a whiteout: the kernel's mark in the upper folder for a deleted file. */
struct stat;
bool overlay_is_whiteout(const struct stat *st);

enum overlay_folder {
    OVERLAY_MERGED, /* shows the lower folder's files too */
    OVERLAY_OPAQUE, /* hides the lower folder's files */
    OVERLAY_MOVED,  /* shows a renamed lower folder, or we cannot tell */
};
/* How the kernel shows a folder of the upper one. */
enum overlay_folder overlay_folder(const char *path);

#endif
