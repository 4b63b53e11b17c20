/*
 * Whether git writes files just as their objects are: line ends, keywords, filters and encodings
 * change content on its way out, as settings and attributes say.
 */
#ifndef DATA_VERBATIM_H
#define DATA_VERBATIM_H

#include "data/git.h"

#include <stdbool.h>
#include <stddef.h>

/* Whether it does so at a place, unless the project's own attributes say otherwise. */
bool verbatim_settings(const struct git_place *at);

/* Whether a file of attributes has nothing in it that changes content on its way out. What might
 * be a word of that kind counts as one. */
bool verbatim_attributes(const char *text, size_t len);

#endif
