/*
 * One file of a work tree, written as git does it where it takes contents as they are.
 */
#ifndef DATA_WORK_WRITE_H
#define DATA_WORK_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Makes what is not there yet, in a folder that is, below the descriptor of the tree's top: a file
 * or, by its mode, a symlink to what has a NUL behind it. False where that fails; errno tells. */
bool work_write(int root, const char *path, uint32_t mode, const char *content, size_t len);

#endif
