/*
 * Quotes commands that we show to a person for copying.
 */
#ifndef BASE_TEXT_SHELL_QUOTE_H
#define BASE_TEXT_SHELL_QUOTE_H

#include "base/buf.h"

/* Appends `beginning` unchanged, then each further argument up to NULL: a blank before it, and in
 * shell quotes if it needs them. */
void shell_quote(struct buf *out, const char *beginning, ...) __attribute__((sentinel));

#endif
