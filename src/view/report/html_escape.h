/*
 * Escapes text for HTML: it contains no markup and no misleading characters.
 */
#ifndef VIEW_REPORT_HTML_ESCAPE_H
#define VIEW_REPORT_HTML_ESCAPE_H

#include "base/buf.h"

#include <stddef.h>

/* Appends a text for an element or a quoted attribute: one line, harmless as text_harmless()
 * makes it. */
void html_text(struct buf *out, const char *s);
void html_bytes(struct buf *out, const char *s, size_t len);

/* The same between two pieces of markup. */
void html_wrap(struct buf *out, const char *before, const char *s, const char *after);

/* The same for a line of code: tabs stay. */
void html_code(struct buf *out, const char *s, size_t len);

#endif
