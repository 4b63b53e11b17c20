/*
 * struct chain: a pattern as a row of positions, the automaton behind struct glob. Private to
 * glob.c and glob_overlap.c.
 *
 * At a position, a byte in `set` leads to the next position, and a byte in the loop stays at this
 * one. A fork consumes no byte: it leads to both of the next two positions. The second of them is
 * never a fork. So positions only increase, and we answer each question about two chains by walking
 * a grid.
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

/* The most useful byte in a set. No path has the components "", "." and "..", so '/' and '.' are
 * special. The set of a pattern contains '/' alone or not at all. */
enum kind { KIND_NONE, KIND_SLASH, KIND_DOT, KIND_OTHER };

struct byteset {
    uint64_t bits[4];
};

struct step {
    struct byteset set;
    enum kind kind; /* kind of `set` */
    enum loop loop;
    bool fork, accept;
};

struct chain {
    struct step *steps;
    size_t n;    /* at least one */
    size_t tail; /* the last `tail` bytes of every path match the last `tail` sets, one each */
};

/* A pattern without wildcards is a name: all of it is prefix. Plans have thousands of names. So we
 * answer questions about names without a chain, and only other patterns store one. */
struct glob {
    struct chain chain; /* unused for a name */
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

/* Returns the chain of a glob. For a name we build it in *made, which must be zero before. Release
 * *made in every case. */
const struct chain *glob_chain(const struct glob *g, struct chain *made);
void chain_done(struct chain *c);
#define autochain own_cleanup(chain_done)

/* Sets of positions, as bitmaps of chain_words() words. chain_enter() adds a position. chain_step()
 * adds to `to` all positions that byte b reaches from `from`. */
size_t chain_words(const struct chain *c);
void chain_enter(const struct chain *c, uint64_t *set, size_t i);
void chain_step(const struct chain *c, const uint64_t *from, unsigned char b, uint64_t *to);
bool chain_accepts(const struct chain *c, const uint64_t *set);

/* True if a path matches both. ret_example (may be NULL) gets a shortest such path. */
bool chain_overlap(const struct chain *a, const struct chain *b, struct buf *ret_example);

#endif
