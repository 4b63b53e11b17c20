/*
 * Text for people: UTF-8, width on a terminal, escaping, durations, sizes, and suggestions for
 * misspelt words.
 */
#ifndef BASE_TEXT_TEXT_H
#define BASE_TEXT_TEXT_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decodes the first character of s (len bytes, at least one). Returns its number of bytes, or 0 if
 * s does not begin with valid UTF-8. Overlong forms, surrogates and values beyond U+10FFFF are
 * invalid. */
size_t text_decode(const char *s, size_t len, uint32_t *ret_char);
void text_encode(struct buf *out, uint32_t c); /* U+FFFD if c is no character */

/* Length of the longest valid UTF-8 prefix. Equals len if all of s is valid. */
size_t text_valid(const char *s, size_t len);

/* Columns of s on a terminal: 0 for combining characters, 2 for wide ones. A byte that is not UTF-8
 * counts as one, and so does a character that the C library does not know. s must be escaped
 * already. */
size_t text_width(const char *s, size_t len);

/* Bytes of the longest prefix of s, in whole characters, that fits into `columns`. Combining
 * characters stay with the character before them. */
size_t text_fit(const char *s, size_t len, size_t columns);

/* Appends s and escapes everything that could act on a terminal, a page or a reader's eye: C0 and
 * C1 controls, DEL, bidirectional controls, zero-width and other invisible format characters, line
 * and paragraph separators, and bytes that are not UTF-8. The escapes are \n, \t, \r, \e, \xNN (a
 * byte or an ASCII character) and \u{NNNN}. We do not escape backslashes, so nobody can decode the
 * result. The result is one line of valid UTF-8. */
void text_harmless(struct buf *out, const char *s, size_t len);

/* The same for a C string. */
void text_add_harmless(struct buf *out, const char *s);

/* The same for formatted text. */
void text_addf(struct buf *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The same, but keeps tabs: they indent code. */
void text_harmless_tabs(struct buf *out, const char *s, size_t len);

/* Appends s with a backslash before each of the special characters. */
void text_escape(struct buf *out, const char *s, const char *special);

/* Parses "90s", "15m", "2h", "1h30m", "500ms", "1.5h", "2d", or a whole number of seconds. Several
 * units go from large to small, each at most once. Only the last may have a fraction, of at most
 * nine digits, and it must give whole milliseconds. No signs, no spaces, digits on both sides of a
 * point. Returns milliseconds, or -1 if s is none of these or too large. */
int64_t text_parse_duration(const char *s, size_t len);

/* Appends the two largest units, truncated instead of rounded. A zero is left out: "500ms", "3.2s",
 * "45s", "1m 30s", "1h 5m", "2d". */
void text_format_duration(struct buf *out, int64_t ms);

void text_format_seconds(struct buf *out, int64_t ms); /* the same without fractions of a second */

/* Appends blanks to fill a column of `width` that began at offset `start`. */
void text_pad(struct buf *out, size_t start, size_t width);

/* Parses "200", "64k" or "64K", "1.5M", "2G" (decimal, for tokens) or "64KiB", "1.5MiB", "2GiB"
 * (binary). A fraction needs a unit and must give a whole number. Returns -1 for anything else. */
int64_t text_parse_count(const char *s, size_t len);
void text_format_count(struct buf *out, int64_t n); /* "950", "12.3k", "4.0M"; truncated */
void text_format_bytes(struct buf *out, int64_t n); /* "950 B", "12.3 KiB" */

/* Returns the candidate that a misspelt word probably means, or NULL: the nearest one within a
 * third of the word's length (at least one edit). The first of equals wins. The case of ASCII
 * letters does not count. */
const char *text_nearest(const char *word, const char *const *candidates, size_t n);

/* Compares texts in natural order: "a2" before "a10". Runs of ASCII digits compare by value,
 * everything else by bytes. Returns 0 only for identical texts. */
int text_natural(const char *a, const char *b);

#endif
