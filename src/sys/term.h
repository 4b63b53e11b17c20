/*
 * The terminal that a stream may be.
 */
#ifndef SYS_TERM_H
#define SYS_TERM_H

#include <stdbool.h>
#include <stddef.h>

/* Columns of the terminal behind fd, or what COLUMNS says; 0 where it is none or does not tell. */
size_t term_columns(int fd);

/* What the terminal behind fd itself says at this moment: it may be resized at any time. Zeros
 * where it is none or does not tell. */
struct term_size {
    size_t columns, rows;
};
struct term_size term_size(int fd);

/* Waits so long, or until a signal comes; false at once where fd is a pipe that nobody reads. */
bool term_pause(int fd, int ms);

/* Rings the bell of our controlling terminal, where there is one; also from the background, and
 * without ever waiting for it. */
void term_bell(void);

#endif
