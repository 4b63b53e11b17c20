/*
 * Commands that are shown for a person to type.
 */
#ifndef BASE_TEXT_SHELL_QUOTE_H
#define BASE_TEXT_SHELL_QUOTE_H

#include "base/buf.h"

/* Appends the beginning of a command as it is, and behind it, up to NULL, words as a shell reads
 * them: a blank before each, and in quotes where it needs them. */
void shell_quote(struct buf *out, const char *beginning, ...) __attribute__((sentinel));

#endif
