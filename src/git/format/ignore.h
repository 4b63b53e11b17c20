/*
 * struct ignore: patterns of ignored files (gitignore(5)), and a check if a path matches.
 *
 * Add pattern files in the order of their precedence, the weakest first: the user's own, the
 * repository's, then those in folders from the root downwards. The last match decides. When you
 * leave a folder, remove its patterns with ignore_cut().
 */
#ifndef GIT_FORMAT_IGNORE_H
#define GIT_FORMAT_IGNORE_H

#include "base/own.h"
#include "base/text/glob.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>

struct ignore_pattern {
    struct glob *glob;
    char *literal;  /* used instead of `glob`: matches one path or name exactly */
    size_t base;    /* length of the path of its folder, with the slash */
    bool anywhere;  /* matches names at any depth */
    bool folders;   /* matches only folders */
    bool un_ignore; /* a match means: not ignored */
};

struct ignore {
    VEC(struct ignore_pattern) patterns;
};

void ignore_done(struct ignore *x);
#define autoignore own_cleanup(ignore_done)

/* Adds the patterns of a file; `base` is the length of its folder's path, with the slash. Returns
 * false if a pattern is too long or contains a NUL. */
bool ignore_add(struct ignore *x, size_t base, const char *text, size_t len);

/* The number of patterns; ignore_cut() keeps only the first n. */
size_t ignore_count(const struct ignore *x);
void ignore_cut(struct ignore *x, size_t n);

/* True if a path is ignored. Ask first about the folders above it: this function assumes that they
 * are not ignored. All patterns must be from folders above the path. */
bool ignore_has(const struct ignore *x, const char *path, bool is_folder);

#endif
