/*
 * A fence around a child: it deletes, renames and makes nothing outside of some folders, whatever
 * symlinks somebody puts in its way while it works. git looks at a folder and then goes into it by
 * its path: nothing else keeps it from going astray in between.
 *
 * Linux with Landlock (5.19): elsewhere there is no fence.
 */
#ifndef SYS_CONTAIN_FENCE_H
#define SYS_CONTAIN_FENCE_H

enum { FENCE_FOLDERS = 8 };

struct fence {
    int folders[FENCE_FOLDERS]; /* open; with all that is in them */
    int n;
};

/* Puts the calling thread, and what it starts from now on, into the fence, for good. Without effect
 * where the system has none. */
void fence_enter(const struct fence *fence);

#endif
