/*
 * Which files git writes just as their objects are: settings and attributes may have it change line
 * ends, keywords and encodings on the way, or run filters.
 */
#ifndef WORKSPACE_FILL_VERBATIM_H
#define WORKSPACE_FILL_VERBATIM_H

#include "git/git.h"

#include <stdbool.h>
#include <stddef.h>

/* Whether the settings at a place are such that it may. *ret_ask is true where attributes that are
 * not in the project may say otherwise of some. */
bool verbatim_settings(const struct git_place *at, bool *ret_ask);

/* Whether a file of attributes has nothing in it that changes content on its way out. What might
 * be a word of that kind counts as one. */
bool verbatim_attributes(const char *text, size_t len);

/* Asks git which of n paths (each with a NUL behind it) are written so, by the attributes of the
 * index that the place names. False where git cannot tell. */
bool verbatim_ask(const struct git_place *at, const struct buf *paths, size_t n, bool *ret_yes);

#endif
