/*
 * Checks if terminfo knows the terminal. We check before ncurses takes the terminal, because
 * ncurses does not clean up after itself if the terminal is unknown.
 */
#ifndef CLI_TOP_TERMINFO_H
#define CLI_TOP_TERMINFO_H

#include <stdbool.h>

bool terminfo_knows_terminal(void);

#endif
