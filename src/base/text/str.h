/*
 * Small string tests that the C library lacks.
 */
#ifndef BASE_TEXT_STR_H
#define BASE_TEXT_STR_H

#include <stdbool.h>

bool str_begins(const char *s, const char *prefix);
bool str_ends(const char *s, const char *suffix);
bool str_same(const char *a, const char *b);   /* both may be NULL */
bool str_is_dots(const char *name);            /* "." or "..", which every folder has */
int str_compare(const void *a, const void *b); /* compares two char * by bytes, for qsort() */

/* The part of a path after its last slash. */
const char *str_last_part(const char *path);

/* The part of a path below a folder; NULL if the path is not below it. */
const char *str_below(const char *path, const char *folder);
bool str_is_in(const char *path, const char *folder); /* below it, or the folder itself */

/* Compares paths in the order of a walk: a folder, then its contents, then its next sibling. */
int str_compare_paths(const char *a, const char *b);

#endif
