/*
 * A fence around a child process: it can delete, rename and make files only in some folders,
 * whatever symlinks someone creates while it works. git checks a folder and later enters it by its
 * path; without a fence, someone could swap it in between.
 *
 * Linux with Landlock (5.19) only: elsewhere there is no fence.
 */
#ifndef SYS_CONTAIN_FENCE_H
#define SYS_CONTAIN_FENCE_H

enum { FENCE_FOLDERS = 8 };

struct fence {
    int folders[FENCE_FOLDERS]; /* open descriptors; the fence includes everything below them */
    int n;
};

/* Puts the calling thread, and every process that it starts later, into the fence for good. Has no
 * effect if the system does not support it. */
void fence_enter(const struct fence *fence);

#endif
