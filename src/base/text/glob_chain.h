/*
 * struct chain: a pattern as a row of positions, the automaton behind struct glob. Private to
 * glob.c and glob_overlap.c.
 *
 * At a position, a byte of `set` leads to the next position, and a byte that the loop takes stays.
 * A fork is left at once for each of the two positions behind it; the second is never a fork. So
 * positions only ever go up, and what can be asked of two chains is a walk over a grid.
 */
#ifndef BASE_TEXT_GLOB_CHAIN_H
#define BASE_TEXT_GLOB_CHAIN_H

#include "base/text/glob.h"

#include <stdint.h>

enum { PATTERN_MAX = 4096, CHAIN_MAX = PATTERN_MAX + 2 };

enum loop {
    LOOP_NONE,
    LOOP_SEGMENT, /* any byte but '/' */
    LOOP_ANY,
};

/* What a path can get from a set of bytes, in view of the components that no path has: "", "." and
 * "..". The sets of patterns hold '/' alone or not at all. */
enum kind { KIND_NONE, KIND_SLASH, KIND_DOT, KIND_OTHER };

struct byteset {
    uint64_t bits[4];
};

struct step {
    struct byteset set;
    enum kind kind; /* of the set */
    enum loop loop;
    bool fork, accept;
};

struct chain {
    struct step *steps;
    size_t n;    /* at least one */
    size_t tail; /* so many of the last bytes of every path are one each of the last sets */
};

/* A pattern without wildcards is a name, and is all prefix. Plans have thousands of them, so that
 * questions about names are answered without a chain, and only others keep theirs. */
struct glob {
    struct chain chain; /* not of a name */
    char *prefix;
    size_t prefix_len;
    bool fold, name;
};

static inline bool byteset_has(const struct byteset *s, unsigned char b)
{
    return s->bits[b / 64] >> b % 64 & 1;
}

static inline bool loop_takes(enum loop loop, unsigned char b)
{
    return loop == LOOP_ANY || (loop == LOOP_SEGMENT && b != '/');
}

enum kind byteset_kind(const struct byteset *s);

/* The chain of a glob; that of a name is made in *made. The latter is to be zero before, and to be
 * released in every case. */
const struct chain *glob_chain(const struct glob *g, struct chain *made);
void chain_done(struct chain *c);
#define autochain own_cleanup(chain_done)

/* Sets of positions as bitmaps of chain_words() words. chain_enter() adds a position, chain_step()
 * adds to `to` what the positions in `from` become by one byte. */
size_t chain_words(const struct chain *c);
void chain_enter(const struct chain *c, uint64_t *set, size_t i);
void chain_step(const struct chain *c, const uint64_t *from, unsigned char b, uint64_t *to);
bool chain_accepts(const struct chain *c, const uint64_t *set);

/* Whether some path is taken by both; ret_example (may be NULL) gets a shortest one. */
bool chain_overlap(const struct chain *a, const struct chain *b, struct buf *ret_example);

#endif
