/*
 * struct glob: a set of paths, written as git's `:(glob)` pathspec, and tests on it.
 *
 *
 *     *        any bytes except '/', also none
 *     ?        one byte except '/'
 *     [a-z_]   one of these except '/'; [!a-z] or [^a-z] one of the others; [[:alpha:]] classes
 *     \x       x itself, in brackets too
 *     **       as a whole component: any folders, also none; at the end everything below, so that
 *              "a/" and two stars matches everything below a, but not a itself
 *
 * Two stars elsewhere are like one, with one exception that git has too: right after the part of
 * the pattern without wildcards they need not begin a component ("lib" and two stars matches
 * lib/x/y and library/z). A star or question mark matches a leading dot like any other byte.
 *
 * A pattern without any of *?[\ names that path and everything below it (a file or a folder; with a
 * slash at its end a folder). git also takes a pattern with wildcards as such a name, for a file or
 * folder with stars in its name. We do not: otherwise *.md would overlap with every pattern for
 * files in any folder, because of a folder named "*.md".
 *
 * Paths are relative and not empty, with single slashes, without "." and ".." as components, of any
 * bytes except NUL. Call glob_match() with such paths only.
 */
#ifndef BASE_TEXT_GLOB_H
#define BASE_TEXT_GLOB_H

#include "base/buf.h"
#include "base/own.h"

#include <stdbool.h>

#define GLOB_SPECIAL "*?[\\" /* a backslash before one of these makes it an ordinary character */
#include <stddef.h>

struct glob;

/* Compiles a pattern. With fold, ASCII letters match in either case, in brackets too. The pattern
 * "" matches every path. Returns NULL if the pattern is longer than 4096 bytes or cannot match any
 * path: a bracket is never closed or has an unknown class, the last byte is a lone backslash, a
 * component is empty, "." or "..", or a slash ends a pattern with wildcards. Free it with
 * glob_free(). */
struct glob *glob_new(const char *pattern, bool fold);
void glob_free(struct glob *g); /* NULL is fine */

/* True if path is in the set. At worst the time is proportional to pattern length times path
 * length. No recursion. */
bool glob_match(const struct glob *g, const char *path);

/* Returns the bytes that every path in the set begins with: the pattern up to its first wildcard,
 * in lower case with fold. Two sets are disjoint if neither prefix is a prefix of the other. The
 * glob owns the string. */
const char *glob_prefix(const struct glob *g);

/* True if some path is in both sets. The answer is exact: we search the product of the two
 * automata. ret_example (may be NULL) gets a shortest such path appended, made of letters if the
 * patterns leave a choice. At worst, time and memory are proportional to the product of the
 * lengths: 64 MiB and less than a second for two patterns of 4096 bytes. Usual patterns take about
 * a microsecond. */
bool glob_overlap(const struct glob *a, const struct glob *b, struct buf *ret_example);

/* True if every path of `inner` is in `outer`. True is always right. The decision can take
 * exponential time, so we give up and return false after about ten million steps. No pattern that a
 * person would write needs so many. */
bool glob_covers(const struct glob *outer, const struct glob *inner);

#endif
