/*
 * Small string tests that the C library lacks.
 */
#ifndef BASE_TEXT_STR_H
#define BASE_TEXT_STR_H

#include <stdbool.h>

bool str_begins(const char *s, const char *prefix);
bool str_ends(const char *s, const char *suffix);
bool str_same(const char *a, const char *b);   /* both may be NULL */
int str_compare(const void *a, const void *b); /* compares two char * by bytes, for qsort() */

#endif
