/*
 * This program, as a file: for starting it again.
 */
#ifndef SYS_SELF_H
#define SYS_SELF_H

/* Absolute path of the running program; NULL where the system does not tell. */
const char *self_path(void);

#endif
