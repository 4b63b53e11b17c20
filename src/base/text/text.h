/*
 * Text as people see it: UTF-8, width on a terminal, harmless printing, durations, sizes, and the
 * word that was meant.
 */
#ifndef BASE_TEXT_TEXT_H
#define BASE_TEXT_TEXT_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decodes the first character of s (len bytes, at least one). Returns the bytes it takes, or 0
 * where s does not begin with valid UTF-8 (overlong forms, surrogates, beyond U+10FFFF are not). */
size_t text_decode(const char *s, size_t len, uint32_t *ret_char);
void text_encode(struct buf *out, uint32_t c); /* U+FFFD for what is no character */

/* Length of the longest valid UTF-8 prefix: equals len when all of it is valid. */
size_t text_valid(const char *s, size_t len);

/* Columns that s takes on a terminal: 0 for combining, 2 for wide characters; a byte that is not
 * UTF-8 counts as one, and so does what the C library knows no width of. s is taken to be harmless
 * already. */
size_t text_width(const char *s, size_t len);

/* Bytes of the longest prefix of whole characters of s that fits into `columns`; combining
 * characters stay with the one before them. */
size_t text_fit(const char *s, size_t len, size_t columns);

/* Appends s with everything made visible that could act on a terminal, a page or a reader's eye:
 * C0 and C1 controls, DEL, bidirectional controls, zero-width and other invisible format
 * characters, line and paragraph separators, and bytes that are not UTF-8. They appear as \n, \t,
 * \r, \e, \xNN (a byte or a character of ASCII) or \u{NNNN}. A backslash stays as it is, so the way
 * back is lost. The result is one line of valid UTF-8. */
void text_harmless(struct buf *out, const char *s, size_t len);

/* The same of a string. */
void text_add_harmless(struct buf *out, const char *s);

/* The same but for tabs, which stay: they indent code. */
void text_harmless_tabs(struct buf *out, const char *s, size_t len);

/* "90s", "15m", "2h", "1h30m", "500ms", "1.5h", "2d", or a bare whole number of seconds. Several
 * units go from large to small, each once, and only the last may have a fraction, of at most nine
 * digits, that comes out at whole milliseconds. No signs, no spaces, digits on both sides of a
 * point. Milliseconds; -1 where s is none of these or does not fit. */
int64_t text_parse_duration(const char *s, size_t len);

/* The two largest units, cut off rather than rounded, without a zero: "500ms", "3.2s", "45s",
 * "1m 30s", "1h 5m", "2d". */
void text_format_duration(struct buf *out, int64_t ms);

void text_format_seconds(struct buf *out, int64_t ms); /* the same without parts of a second */

/* Appends blanks up to a column of so many that began at `start`. */
void text_pad(struct buf *out, size_t start, size_t width);

/* "200", "64k" or "64K", "1.5M", "2G" (decimal, for tokens) or "64KiB", "1.5MiB", "2GiB" (binary).
 * Fractions need a unit and come out at a whole number, as above; -1 otherwise. */
int64_t text_parse_count(const char *s, size_t len);
void text_format_count(struct buf *out, int64_t n); /* "950", "12.3k", "4.0M"; cut off */
void text_format_bytes(struct buf *out, int64_t n); /* "950 B", "12.3 KiB" */

/* Number of edits (insert, delete, replace, swap of neighbours) between two words, or limit + 1
 * where it is more than limit. Linear space; words longer than 64 bytes are never close. */
unsigned text_distance(const char *a, const char *b, unsigned limit);

/* The candidate that a misspelt word was probably meant to be, or NULL: the nearest one within a
 * third of the word's length (at least one edit), the first of equals. A difference in the case of
 * ASCII letters is no edit here. */
const char *text_nearest(const char *word, const char *const *candidates, size_t n);

/* Orders texts as people number things: "a2" before "a10". Runs of ASCII digits compare by value,
 * all else bytewise; 0 only for texts that are the same. */
int text_natural(const char *a, const char *b);

#endif
