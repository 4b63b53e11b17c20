/*
 * Overlays: a folder that shows the files of another one, which stays as it is, and keeps apart
 * what is written, changed or deleted in it.
 *
 * They are mounted in a mount namespace of our own: we and all that we start see them, nobody else
 * does, and when the last of us is gone, by whatever death, so are they. What was written stays,
 * and shows again when it is mounted again. Who is not root needs a user namespace for it, in which
 * programs that are setuid have no effect, and folders of the lower one cannot be renamed.
 *
 * Linux only: elsewhere all of this fails with ERR_ENV.
 */
#ifndef SYS_CONTAIN_OVERLAYFS_H
#define SYS_CONTAIN_OVERLAYFS_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

enum { OVERLAY_BELOW_MAX = 64 };

struct overlay {
    const char *lower, *upper, *work; /* `work`: the kernel's own, beside the upper one, empty */
    char *const *below;               /* each shows where those before have nothing; NULL ends it */
    const char *at;                   /* where it is to be seen: a folder */
};

/* Gives us the namespace, once; to be called while the program has one thread. */
int overlay_enter(struct err *err);

/* Enters that of another process instead, as long as this one lives; fails where that process does
 * not see the folder `needs` as we do. */
int overlay_join(pid_t pid, const char *needs, struct err *err);

int overlay_mount(const struct overlay *o, struct err *err);

/* Not being mounted is fine. Who still works in it goes on to see it. */
int overlay_unmount(const char *at, struct err *err);

/* Whether something is mounted there, as far as we see. */
bool overlay_is_at(const char *at);

/* A process, other than us, for which something is mounted there, while for us nothing is; 0: none
 * does, or it cannot be told. Prefers one that we can join and that sees the folder `needs` as we
 * do (NULL: whichever): from agents much is hidden. Looks at all processes of the machine. */
pid_t overlay_seen_by(const char *at, const char *needs);

/* Whether all of this works with folders in `dir`: by really trying, in another process. Leaves
 * nothing behind, and takes away what one who was killed meanwhile has left. */
int overlay_probe(const char *dir, struct err *err);

/* What the upper folder has in the place of something that was deleted. */
struct stat;
bool overlay_is_whiteout(const struct stat *st);

enum overlay_folder {
    OVERLAY_MERGED, /* with what the lower one has of it */
    OVERLAY_OPAQUE, /* what the lower one has of it is gone */
    OVERLAY_MOVED,  /* it shows another folder of the lower one; or that cannot be told */
};
/* What a folder in the upper one means. */
enum overlay_folder overlay_folder(const char *path);

#endif
