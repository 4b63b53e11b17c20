/* Decides if two patterns overlap, and if one covers the other. */
#include "base/text/glob.h"

#include "base/arena.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/text/glob_chain.h"
#include "base/vec.h"

#include <string.h>
#include <strings.h>

/* How far we are in the current component of a path. Everything that can follow PART_NEW, PART_DOT
 * or PART_DOTS can follow PART_NAME as well. The path or the component may end only after
 * PART_NAME. */
enum part { PART_NEW, PART_DOT, PART_DOTS, PART_NAME, PARTS };

static bool advance_part(enum part part, unsigned char b, enum part *ret)
{
    static const enum part after_dot[PARTS] = {PART_DOT, PART_DOTS, PART_NAME, PART_NAME};
    if (b == '/' && part != PART_NAME)
        return false;
    *ret = b == '/' ? PART_NEW : b == '.' ? after_dot[part] : PART_NAME;
    return true;
}

/* How we reached a place in the grid. MOVE_A: chain a steps while b loops. MOVE_B: b steps while a
 * loops. MOVE_BOTH: both step. MOVE_STAY: both loop. The fork moves consume no byte. */
enum move {
    MOVE_START,
    MOVE_A,
    MOVE_B,
    MOVE_BOTH,
    MOVE_STAY,
    MOVE_FORK_A,
    MOVE_FORK_A2,
    MOVE_FORK_B,
    MOVE_FORK_B2,
};

static const struct {
    unsigned char a, b, bytes;
} moves[] = {
    [MOVE_A] = {1, 0, 1},      [MOVE_B] = {0, 1, 1},       [MOVE_BOTH] = {1, 1, 1},
    [MOVE_STAY] = {0, 0, 1},   [MOVE_FORK_A] = {1, 0, 0},  [MOVE_FORK_A2] = {2, 0, 0},
    [MOVE_FORK_B] = {0, 1, 0}, [MOVE_FORK_B2] = {0, 2, 0},
};

/* A move leads at most two rows down. */
enum { ROWS = 3 };
static const uint32_t FAR = UINT32_MAX;

/* The least number of bytes that leads to each place of one row, and the range of places that we
 * reached. */
struct row {
    uint32_t (*dist)[PARTS];
    size_t first, end;
};

/* Both automata only move forward, so we find the least distances row by row. Only the way back
 * needs memory for the whole grid; a yes or no does not need it. */
struct grid {
    const struct chain *a, *b;
    struct row rows[ROWS];
    unsigned char *back; /* previous move and part, for every place and part; or NULL */
    size_t best_i, best_j;
    uint32_t best;
};

static void row_clear(struct row *row)
{
    if (row->first < row->end)
        memset(row->dist[row->first], 0xff, (row->end - row->first) * sizeof(*row->dist));
    row->first = SIZE_MAX;
    row->end = 0;
}

static size_t grid_place(const struct grid *g, size_t i, size_t j, enum part part)
{
    return (i * g->b->n + j) * PARTS + part;
}

static void grid_reach(struct grid *g, size_t i, size_t j, enum part part, uint32_t dist,
                       enum move move, enum part before)
{
    struct row *row = &g->rows[i % ROWS];
    if (dist >= row->dist[j][part])
        return;
    row->dist[j][part] = dist;
    if (j < row->first)
        row->first = j;
    if (j >= row->end)
        row->end = j + 1;
    if (g->back)
        g->back[grid_place(g, i, j, part)] = (unsigned char)(move * PARTS + before);
}

/* Steps by a byte of a set of this kind. We try only the most useful byte of the set: no other byte
 * leads anywhere else. */
static void grid_step(struct grid *g, size_t i, size_t j, enum move move, enum kind kind)
{
    static const unsigned char bytes[] = {[KIND_SLASH] = '/', [KIND_DOT] = '.', [KIND_OTHER] = 'a'};
    if (kind == KIND_NONE)
        return;
    const uint32_t *dist = g->rows[i % ROWS].dist[j];
    for (enum part part = 0; part < PARTS; part++) {
        enum part next;
        if (dist[part] != FAR && advance_part(part, bytes[kind], &next))
            grid_reach(g, i + moves[move].a, j + moves[move].b, next, dist[part] + 1, move, part);
    }
}

static void grid_fork(struct grid *g, size_t i, size_t j, enum move move)
{
    const uint32_t *dist = g->rows[i % ROWS].dist[j];
    for (enum part part = 0; part < PARTS; part++) {
        if (dist[part] != FAR)
            grid_reach(g, i + moves[move].a, j + moves[move].b, part, dist[part], move, part);
    }
}

static struct byteset intersect_sets(const struct byteset *a, const struct byteset *b)
{
    struct byteset both;
    for (size_t i = 0; i < 4; i++)
        both.bits[i] = a->bits[i] & b->bits[i];
    return both;
}

static enum kind get_common_kind(const struct step *a, const struct step *b)
{
    if (a->kind == KIND_NONE || b->kind == KIND_NONE)
        return KIND_NONE;
    struct byteset both = intersect_sets(&a->set, &b->set);
    return byteset_kind(&both);
}

static enum kind get_kind_for_loop(const struct step *moving, const struct step *looping)
{
    if (looping->loop == LOOP_NONE)
        return KIND_NONE;
    return moving->kind == KIND_SLASH && looping->loop != LOOP_ANY ? KIND_NONE : moving->kind;
}

static void grid_visit(struct grid *g, size_t i, size_t j)
{
    const struct step *a = &g->a->steps[i], *b = &g->b->steps[j];
    if (a->fork || b->fork) {
        grid_fork(g, i, j, a->fork ? MOVE_FORK_A : MOVE_FORK_B);
        grid_fork(g, i, j, a->fork ? MOVE_FORK_A2 : MOVE_FORK_B2);
        return;
    }
    if (a->loop && b->loop)
        grid_step(g, i, j, MOVE_STAY, KIND_OTHER);
    grid_step(g, i, j, MOVE_A, get_kind_for_loop(a, b));
    grid_step(g, i, j, MOVE_B, get_kind_for_loop(b, a));
    grid_step(g, i, j, MOVE_BOTH, get_common_kind(a, b));
    uint32_t dist = g->rows[i % ROWS].dist[j][PART_NAME];
    if (a->accept && b->accept && dist < g->best) {
        g->best = dist;
        g->best_i = i;
        g->best_j = j;
    }
}

/* Fills the grid. Returns true if a path leads to its end. */
static bool fill_grid(struct grid *g)
{
    autofree uint32_t(*dist)[PARTS] = mem_array(g->b->n * ROWS, sizeof(*dist));
    for (size_t r = 0; r < ROWS; r++) {
        g->rows[r] = (struct row){.dist = dist + r * g->b->n, .end = g->b->n};
        row_clear(&g->rows[r]);
    }
    g->best = FAR;
    grid_reach(g, 0, 0, PART_NEW, 0, MOVE_START, PART_NEW);
    for (size_t i = 0; i < g->a->n; i++) {
        struct row *row = &g->rows[i % ROWS];
        for (size_t j = row->first; j < row->end; j++)
            grid_visit(g, i, j);
        row_clear(row);
    }
    return g->best != FAR;
}

/* Picks a letter if the set has one, else a digit, else a visible byte, else any byte except '.'
 * and '/'. */
static char pick_byte(const struct byteset *s)
{
    for (const char *c = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"; *c;
         c++) {
        if (byteset_has(s, (unsigned char)*c))
            return *c;
    }
    for (unsigned n = 0; n < 256; n++) {
        unsigned char b = (unsigned char)('!' + n);
        if (b && b != '.' && b != '/' && byteset_has(s, b))
            return (char)b;
    }
    return '.';
}

static char get_byte_of_move(const struct grid *g, size_t i, size_t j, enum move move,
                             enum part part)
{
    const struct byteset *a = &g->a->steps[i].set, *b = &g->b->steps[j].set;
    if (part != PART_NAME)
        return part == PART_NEW ? '/' : '.';
    if (move == MOVE_STAY)
        return 'a';
    struct byteset both = intersect_sets(a, b);
    return pick_byte(move == MOVE_A ? a : move == MOVE_B ? b : &both);
}

/* Appends the path that leads to the best end. We find it from its last byte to its first. */
static void grid_trace(const struct grid *g, struct buf *out)
{
    buf_addrep(out, 'a', g->best);
    char *s = out->s + out->len;
    size_t i = g->best_i, j = g->best_j;
    for (enum part part = PART_NAME;;) {
        unsigned code = g->back[grid_place(g, i, j, part)];
        enum move move = code / PARTS;
        if (move == MOVE_START)
            return;
        i -= moves[move].a;
        j -= moves[move].b;
        if (moves[move].bytes)
            *--s = get_byte_of_move(g, i, j, move, part);
        part = code % PARTS;
    }
}

bool chain_overlap(const struct chain *a, const struct chain *b, struct buf *ret_example)
{
    struct grid g = {.a = a, .b = b};
    if (!fill_grid(&g))
        return false;
    if (ret_example) {
        autofree unsigned char *back = mem_array(a->n * b->n, PARTS);
        g.back = back;
        (void)fill_grid(&g);
        grid_trace(&g, ret_example);
    }
    return true;
}

static size_t measure_common_prefix(const struct glob *a, const struct glob *b)
{
    return a->prefix_len < b->prefix_len ? a->prefix_len : b->prefix_len;
}

static bool prefixes_agree(const struct glob *a, const struct glob *b)
{
    size_t n = measure_common_prefix(a, b);
    return (a->fold || b->fold ? strncasecmp(a->prefix, b->prefix, n)
                               : memcmp(a->prefix, b->prefix, n)) == 0;
}

/* For two names whose prefixes agree: true if the shorter one ends at the end of a component. */
static bool plain_names_overlap(const struct glob *a, const struct glob *b)
{
    size_t n = measure_common_prefix(a, b);
    char next = a->prefix_len > n ? a->prefix[n] : b->prefix[n];
    return n == 0 || a->prefix[n - 1] == '/' || next == '/' || next == '\0';
}

/* False if the last bytes of the two patterns exclude each other. This separates most patterns that
 * begin with a wildcard. */
static bool tails_agree(const struct chain *a, const struct chain *b)
{
    const struct step *x = &a->steps[a->n - 1], *y = &b->steps[b->n - 1];
    for (size_t left = a->tail < b->tail ? a->tail : b->tail; left; left--) {
        struct byteset both = intersect_sets(&(--x)->set, &(--y)->set);
        if (!(both.bits[0] | both.bits[1] | both.bits[2] | both.bits[3]))
            return false;
    }
    return true;
}

bool glob_overlap(const struct glob *a, const struct glob *b, struct buf *ret_example)
{
    if (!prefixes_agree(a, b))
        return false;
    if (a->name && b->name && !ret_example)
        return plain_names_overlap(a, b);
    if (!a->name && !b->name && !tails_agree(&a->chain, &b->chain))
        return false;
    autochain struct chain made_a = {0}, made_b = {0};
    return chain_overlap(glob_chain(a, &made_a), glob_chain(b, &made_b), ret_example);
}

/* Counts the words that we touch. It includes the words that we store, so memory stays below 64 MiB
 * too. */
enum { WORK_MAX = 1 << 23 };

/* The positions of the outer pattern that some beginnings of paths reach. We intern subsets, so
 * that we step each one once per class of bytes. */
struct subset {
    uint64_t *positions;
    uint64_t *seen; /* positions and parts of the inner chain that occurred with this subset */
    struct subset **next;
    bool accepts, everything; /* everything: every continuation is accepted as well */
};

struct visit {
    struct subset *subset;
    size_t i;
    enum part part;
};

struct cover_search {
    const struct chain *outer, *inner;
    size_t words, seen_words;
    unsigned char bytes[256]; /* one byte of each class: no set separates bytes of a class */
    size_t classes, work;
    struct arena arena;
    struct map subsets;
    VEC(struct visit) todo;
    uint64_t *scratch;
};

static void cover_done(struct cover_search *c)
{
    free(c->scratch);
    vec_done(&c->todo);
    map_done(&c->subsets);
    arena_done(&c->arena);
}

/* Splits every class that the set cuts in two. */
static void split_classes(unsigned char class_of[256], size_t *n, const struct byteset *set)
{
    unsigned in[256] = {0}, all[256] = {0}, twin[256] = {0};
    for (unsigned b = 1; b < 256; b++) {
        all[class_of[b]]++;
        in[class_of[b]] += byteset_has(set, (unsigned char)b);
    }
    for (unsigned b = 1; b < 256; b++) {
        unsigned class = class_of[b];
        if (!byteset_has(set, (unsigned char)b) || in[class] == all[class])
            continue;
        if (!twin[class])
            twin[class] = (unsigned)(*n)++;
        class_of[b] = (unsigned char)twin[class];
    }
}

static void split_by_chain(unsigned char class_of[256], size_t *n, const struct chain *c)
{
    for (size_t i = 0; i < c->n; i++) {
        if (c->steps[i].kind != KIND_NONE &&
            (i == 0 ||
             memcmp(&c->steps[i].set, &c->steps[i - 1].set, sizeof(c->steps[i].set)) != 0))
            split_classes(class_of, n, &c->steps[i].set);
    }
}

static void find_byte_classes(struct cover_search *c)
{
    static const struct byteset slash = {{UINT64_C(1) << '/'}}, dot = {{UINT64_C(1) << '.'}};
    unsigned char class_of[256] = {0};
    c->classes = 1;
    split_classes(class_of, &c->classes, &slash);
    split_classes(class_of, &c->classes, &dot);
    split_by_chain(class_of, &c->classes, c->outer);
    split_by_chain(class_of, &c->classes, c->inner);
    for (unsigned b = 1; b < 256; b++)
        c->bytes[class_of[b]] = (unsigned char)b;
}

static bool accepts_all(const struct chain *c, const uint64_t *set)
{
    size_t last = c->n - 1;
    return c->steps[last].loop == LOOP_ANY && (set[last / 64] >> last % 64 & 1);
}

/* Returns the subset with the positions in c->scratch. */
static struct subset *intern_subset(struct cover_search *c)
{
    size_t size = c->words * sizeof(uint64_t);
    struct subset *s = map_get(&c->subsets, (const char *)c->scratch, size);
    if (s)
        return s;
    s = arena_alloc(&c->arena, sizeof(*s));
    s->accepts = chain_accepts(c->outer, c->scratch);
    s->everything = accepts_all(c->outer, c->scratch);
    s->positions = arena_alloc(&c->arena, size);
    memcpy(s->positions, c->scratch, size);
    s->seen = arena_array(&c->arena, c->seen_words, sizeof(*s->seen));
    s->next = arena_array(&c->arena, c->classes, sizeof(*s->next));
    c->work += c->words + c->seen_words + c->classes;
    (void)map_put(&c->subsets, (const char *)s->positions, size, s);
    return s;
}

static struct subset *next_subset(struct cover_search *c, struct subset *s, size_t class)
{
    if (s->next[class])
        return s->next[class];
    memset(c->scratch, 0, c->words * sizeof(uint64_t));
    chain_step(c->outer, s->positions, c->bytes[class], c->scratch);
    c->work += c->words * 8;
    return s->next[class] = intern_subset(c);
}

static void add_visit(struct cover_search *c, struct subset *s, size_t i, enum part part)
{
    if (s->everything)
        return;
    if (c->inner->steps[i].fork) {
        add_visit(c, s, i + 2, part); /* i + 2 is no fork, so this recurses once */
        i++;
    }
    size_t bit = i * PARTS + part;
    if (s->seen[bit / 64] >> bit % 64 & 1)
        return;
    s->seen[bit / 64] |= UINT64_C(1) << bit % 64;
    vec_push(&c->todo, (struct visit){s, i, part});
}

static void expand_visit(struct cover_search *c, struct visit v)
{
    const struct step *step = &c->inner->steps[v.i];
    c->work += c->classes;
    for (size_t class = 0; class < c->classes; class ++) {
        unsigned char b = c->bytes[class];
        bool stays = loop_takes(step->loop, b), goes = byteset_has(&step->set, b);
        enum part part;
        if ((!stays && !goes) || !advance_part(v.part, b, &part))
            continue;
        struct subset *next = next_subset(c, v.subset, class);
        if (stays)
            add_visit(c, next, v.i, part);
        if (goes)
            add_visit(c, next, v.i + 1, part);
    }
}

/* Searches for a path that the inner chain accepts and the outer one does not. */
bool glob_covers(const struct glob *outer, const struct glob *inner)
{
    autochain struct chain made_outer = {0}, made_inner = {0};
    own_cleanup(cover_done) struct cover_search c = {.outer = glob_chain(outer, &made_outer),
                                                     .inner = glob_chain(inner, &made_inner)};
    c.words = chain_words(c.outer);
    c.seen_words = (c.inner->n * PARTS + 63) / 64;
    c.scratch = mem_array(c.words, sizeof(*c.scratch));
    find_byte_classes(&c);
    chain_enter(c.outer, c.scratch, 0);
    add_visit(&c, intern_subset(&c), 0, PART_NEW);
    while (c.todo.n && c.work < WORK_MAX) {
        struct visit v = c.todo.v[--c.todo.n];
        if (c.inner->steps[v.i].accept && v.part == PART_NAME && !v.subset->accepts)
            return false;
        expand_visit(&c, v);
    }
    return c.todo.n == 0;
}
