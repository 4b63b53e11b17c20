/*
 * Questions about strings that the C library does not answer in one call.
 */
#ifndef BASE_TEXT_STR_H
#define BASE_TEXT_STR_H

#include <stdbool.h>

bool str_begins(const char *s, const char *prefix);
bool str_ends(const char *s, const char *suffix);
bool str_same(const char *a, const char *b);   /* both may be NULL */
int str_compare(const void *a, const void *b); /* of two char *, by bytes, for qsort() */

#endif
