/*
 * Whether the terminal is one that is known: asked before ncurses takes it, which leaves things
 * behind where it is not.
 */
#ifndef CLI_TOP_TERMINFO_H
#define CLI_TOP_TERMINFO_H

#include <stdbool.h>

bool terminfo_knows_terminal(void);

#endif
