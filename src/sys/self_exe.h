/*
 * The file of this program, for starting it again.
 */
#ifndef SYS_SELF_EXE_H
#define SYS_SELF_EXE_H

/* Absolute path of the running program; NULL if the system does not tell. */
const char *self_path(void);

/* Finds a program that belongs to this one: next to it, as in a build, or in `folder`, where it
 * would be installed. The caller frees the path. NULL if it is in neither place. */
char *self_companion(const char *folder, const char *name);

#endif
