/*
 * struct glob: a set of paths, as git's `:(glob)` pathspec writes them, and questions about it.
 *
 *     *        any bytes but '/', also none
 *     ?        one byte but '/'
 *     [a-z_]   one of these but '/'; [!a-z] or [^a-z] one of the others; [[:alpha:]] classes
 *     \x       x itself, in brackets too
 *     **       as a whole component: any folders, also none; at the end everything below, so that
 *              "a/" and two stars has all that is below a, but not a itself
 *
 * Two stars elsewhere are like one, but for one case that git has: right behind the part of the
 * pattern that has no wildcards they need not begin a component ("lib" and two stars has lib/x/y
 * and library/z). A star or question mark takes a leading dot like any other byte.
 *
 * A pattern without any of *?[\ names that path and everything below it (it may be a file or a
 * folder; with a slash at its end it is a folder). git takes a pattern with wildcards in that way
 * too, as the name of a file or folder that has stars in it; this does not, or *.md would overlap
 * with every pattern for files in any folder, in a folder named "*.md".
 *
 * Paths are relative and not empty, with single slashes, without "." and ".." as components, of any
 * bytes but NUL. glob_match() is to be asked about such paths only.
 */
#ifndef BASE_TEXT_GLOB_H
#define BASE_TEXT_GLOB_H

#include "base/buf.h"
#include "base/own.h"

#include <stdbool.h>
#include <stddef.h>

struct glob;

/* Compiles a pattern. With fold, ASCII letters match in either case, in brackets too. The pattern
 * "" is every path. NULL where the pattern can match no path at all: a bracket is never closed or
 * holds an unknown class, the last byte is a lone backslash, a component is empty, "." or "..", a
 * slash ends a pattern with wildcards; and where it is longer than 4096 bytes. Freed with
 * glob_free(). */
struct glob *glob_new(const char *pattern, bool fold);
void glob_free(struct glob *g); /* NULL is fine */

/* Whether path is in the set. Time proportional to pattern times path at worst, no recursion. */
bool glob_match(const struct glob *g, const char *path);

/* The bytes that every path in the set begins with (in lower case with fold): the pattern up to its
 * first wildcard. Two sets are disjoint where neither prefix is a prefix of the other. Belongs to
 * the glob. */
const char *glob_prefix(const struct glob *g);

/* Whether some path is in both sets, decided exactly, on the product of the two automata;
 * ret_example (may be NULL; appended to) gets a shortest such path, made of letters where the
 * patterns leave a choice. Time and memory proportional to the product of the lengths at worst: 64
 * MiB and less than a second for two patterns of 4096 bytes, and for usual ones a microsecond or
 * so. */
bool glob_overlap(const struct glob *a, const struct glob *b, struct buf *ret_example);

/* Whether every path of `inner` is in `outer`. True is always right. Deciding it may take
 * exponential time, so that false is also the answer where some ten million steps did not settle
 * it, which no pattern does that a person would write. */
bool glob_covers(const struct glob *outer, const struct glob *inner);

#endif
