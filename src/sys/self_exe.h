/*
 * This program, as a file: for starting it again.
 */
#ifndef SYS_SELF_EXE_H
#define SYS_SELF_EXE_H

/* Absolute path of the running program; NULL where the system does not tell. */
const char *self_path(void);

/* A program that belongs to this one: beside it, as in a build, or in the folder where it would be
 * installed. For the caller to free; NULL where it is in neither. */
char *self_companion(const char *folder, const char *name);

#endif
