/*
 * Terminals: size, pause and bell.
 */
#ifndef SYS_TERM_H
#define SYS_TERM_H

#include <stdbool.h>
#include <stddef.h>

/* Columns of the terminal at fd; COLUMNS overrides it. 0 if fd is no terminal or its size is
 * unknown. */
size_t term_columns(int fd);

/* The size of the terminal at fd at this moment: the user may resize it at any time. Zeros if fd is
 * no terminal or its size is unknown. */
struct term_size {
    size_t columns, rows;
};
struct term_size term_size(int fd);

/* Waits for `ms`, or until a signal comes. Returns false at once if fd is a pipe that nobody
 * reads. */
bool term_pause(int fd, int ms);

/* Rings the bell of our controlling terminal, if there is one. It works from the background and
 * never blocks. */
void term_bell(void);

#endif
