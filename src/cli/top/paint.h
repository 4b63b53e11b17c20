/*
 * The terminal as a whole screen, by ncurses: a canvas is shown, keys are read. However the program
 * ends, also by a signal, the terminal is as it was before.
 */
#ifndef CLI_TOP_PAINT_H
#define CLI_TOP_PAINT_H

#include "base/err.h"
#include "view/dashboard/canvas.h"

#include <stdbool.h>

/* Takes the terminal of standard input and output. ERR_INPUT where they are none that can be
 * painted on. */
int paint_open(bool color, struct err *err);
void paint_close(void); /* gives it back; nothing where it was not taken */

void paint_show(const struct canvas *c);

/* The next key, as view/dashboard/screens/screen.h has them; 0: there is none. Does not wait. */
int paint_key(void);

/* The terminal's size now, after it may have changed. */
void paint_size(size_t *ret_columns, size_t *ret_rows);

/* Another program has the terminal between these two. */
void paint_lend(void);
void paint_take_back(void);

#endif
