/*
 * Uses the whole terminal through ncurses: shows a canvas and reads keys. However the program ends,
 * even by a signal, we restore the terminal.
 */
#ifndef CLI_TOP_PAINT_H
#define CLI_TOP_PAINT_H

#include "base/err.h"
#include "view/dashboard/canvas.h"

#include <stdbool.h>

/* Takes over the terminal of standard input and output. ERR_INPUT if there is none that we can
 * use. */
int paint_open(bool color, struct err *err);
void paint_close(void); /* restores it; does nothing if it was not taken */

void paint_show(const struct canvas *c);

/* Returns the next key, as in view/dashboard/screens/screen.h, or 0 if there is none. Does not
 * wait. */
int paint_key(void);

/* Reads the terminal's present size. */
void paint_size(size_t *ret_columns, size_t *ret_rows);

/* Between these calls another program uses the terminal. */
void paint_lend(void);
void paint_take_back(void);

#endif
