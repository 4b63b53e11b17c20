/*
 * Finds out which files git checks out exactly as their objects are. Settings and attributes may
 * make git change line ends, keywords and encodings, or run filters.
 */
#ifndef WORKSPACE_FILL_VERBATIM_H
#define WORKSPACE_FILL_VERBATIM_H

#include "git/git.h"

#include <stdbool.h>
#include <stddef.h>

/* True if the settings at a place leave contents unchanged. *ret_ask is true if attributes outside
 * the project may still change some files. */
bool verbatim_settings(const struct git_place *at, bool *ret_ask);

/* True if a file of attributes does not change content at checkout. A word that only might do so
 * counts as one that does. */
bool verbatim_attributes(const char *text, size_t len);

/* Asks git which of n paths (each followed by a NUL) it checks out unchanged, by the attributes in
 * the index of `at`. False if git cannot tell. */
bool verbatim_ask(const struct git_place *at, const struct buf *paths, size_t n, bool *ret_yes);

#endif
