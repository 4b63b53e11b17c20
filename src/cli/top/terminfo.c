/*
 * This is a file of its own, because <term.h> defines macros such as `columns`.
 */
#include "cli/top/terminfo.h"

#include <curses.h>
#include <term.h>
#include <unistd.h>

bool terminfo_knows_terminal(void)
{
    int status;
    if (setupterm(NULL, STDOUT_FILENO, &status) == ERR)
        return false;
    (void)del_curterm(cur_term);
    return true;
}
