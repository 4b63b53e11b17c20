/*
 * struct ignore: patterns of files that git leaves alone (gitignore(5)), and whether a path is one
 * of them.
 *
 * Files of patterns are added in the order of their weight, the lightest first: the user's own, the
 * repository's, those in folders from the root downwards. What matches last decides. Those of a
 * folder are taken away again with ignore_cut() when it is left.
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
    char *literal;  /* instead of that: it is about one path, and nothing below it */
    size_t base;    /* length of the path, with the slash, of the folder that it is for */
    bool anywhere;  /* it is about names, wherever they are */
    bool folders;   /* it is about folders alone */
    bool un_ignore; /* what it is about is not ignored */
};

struct ignore {
    VEC(struct ignore_pattern) patterns;
};

void ignore_done(struct ignore *x);
#define autoignore own_cleanup(ignore_done)

/* Adds the patterns of a file that is in the folder whose path, with the slash, has that length.
 * False where one of them is longer than is understood here. */
bool ignore_add(struct ignore *x, size_t base, const char *text, size_t len);

/* The number of patterns, and a return to so many. */
size_t ignore_count(const struct ignore *x);
void ignore_cut(struct ignore *x, size_t n);

/* Whether a path is ignored, if the folders that it is in are not: these are to be asked about
 * first. All patterns must be of folders that it is in. */
bool ignore_has(const struct ignore *x, const char *path, bool is_folder);

#endif
