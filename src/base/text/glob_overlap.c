/* What two patterns have in common, and whether one holds the other. */
#include "base/text/glob.h"

#include "base/arena.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/text/glob_chain.h"
#include "base/vec.h"

#include <string.h>
#include <strings.h>

/* How far the current component of a path has come. Whatever can follow PART_NEW, PART_DOT or
 * PART_DOTS can follow PART_NAME as well, and only there may the path or the component end. */
enum part { PART_NEW, PART_DOT, PART_DOTS, PART_NAME, PARTS };

static bool part_next(enum part part, unsigned char b, enum part *ret)
{
    static const enum part after_dot[PARTS] = {PART_DOT, PART_DOTS, PART_NAME, PART_NAME};
    if (b == '/' && part != PART_NAME)
        return false;
    *ret = b == '/' ? PART_NEW : b == '.' ? after_dot[part] : PART_NAME;
    return true;
}

/* How a place of the grid was reached. A step is made by the one automaton, the other one looping,
 * or by both; MOVE_STAY is both looping; a fork is left without any byte. */
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

/* The least number of bytes that leads to each place of one row, and the span of places reached. */
struct row {
    uint32_t (*dist)[PARTS];
    size_t first, end;
};

/* Both automata only ever go forward, so that the least distances are found row by row, and only
 * the way back, which a mere yes or no does not need, takes memory for the whole grid. */
struct grid {
    const struct chain *a, *b;
    struct row rows[ROWS];
    unsigned char *back; /* move and part before, for every place and part; or NULL */
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

/* Moves on by a byte of a set of this kind. Where an ordinary byte can be had, the others lead
 * nowhere that it does not. */
static void grid_step(struct grid *g, size_t i, size_t j, enum move move, enum kind kind)
{
    static const unsigned char bytes[] = {[KIND_SLASH] = '/', [KIND_DOT] = '.', [KIND_OTHER] = 'a'};
    if (kind == KIND_NONE)
        return;
    const uint32_t *dist = g->rows[i % ROWS].dist[j];
    for (enum part part = 0; part < PARTS; part++) {
        enum part next;
        if (dist[part] != FAR && part_next(part, bytes[kind], &next))
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

static struct byteset byteset_both(const struct byteset *a, const struct byteset *b)
{
    struct byteset both;
    for (size_t i = 0; i < 4; i++)
        both.bits[i] = a->bits[i] & b->bits[i];
    return both;
}

static enum kind kind_both(const struct step *a, const struct step *b)
{
    if (a->kind == KIND_NONE || b->kind == KIND_NONE)
        return KIND_NONE;
    struct byteset both = byteset_both(&a->set, &b->set);
    return byteset_kind(&both);
}

static enum kind kind_looping(const struct step *moving, const struct step *looping)
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
    grid_step(g, i, j, MOVE_A, kind_looping(a, b));
    grid_step(g, i, j, MOVE_B, kind_looping(b, a));
    grid_step(g, i, j, MOVE_BOTH, kind_both(a, b));
    uint32_t dist = g->rows[i % ROWS].dist[j][PART_NAME];
    if (a->accept && b->accept && dist < g->best) {
        g->best = dist;
        g->best_i = i;
        g->best_j = j;
    }
}

/* Fills the grid; returns whether some path leads to its end. */
static bool grid_walk(struct grid *g)
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

/* A letter if there is one, else a digit, a visible byte, any byte but the two special ones. */
static char byteset_pick(const struct byteset *s)
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

static char grid_byte(const struct grid *g, size_t i, size_t j, enum move move, enum part part)
{
    const struct byteset *a = &g->a->steps[i].set, *b = &g->b->steps[j].set;
    if (part != PART_NAME)
        return part == PART_NEW ? '/' : '.';
    if (move == MOVE_STAY)
        return 'a';
    struct byteset both = byteset_both(a, b);
    return byteset_pick(move == MOVE_A ? a : move == MOVE_B ? b : &both);
}

/* Appends the path that leads to the best end, which is found from its last byte to its first. */
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
            *--s = grid_byte(g, i, j, move, part);
        part = code % PARTS;
    }
}

bool chain_overlap(const struct chain *a, const struct chain *b, struct buf *ret_example)
{
    struct grid g = {.a = a, .b = b};
    if (!grid_walk(&g))
        return false;
    if (ret_example) {
        autofree unsigned char *back = mem_array(a->n * b->n, PARTS);
        g.back = back;
        (void)grid_walk(&g);
        grid_trace(&g, ret_example);
    }
    return true;
}

static size_t common_len(const struct glob *a, const struct glob *b)
{
    return a->prefix_len < b->prefix_len ? a->prefix_len : b->prefix_len;
}

static bool prefixes_agree(const struct glob *a, const struct glob *b)
{
    size_t n = common_len(a, b);
    return (a->fold || b->fold ? strncasecmp(a->prefix, b->prefix, n)
                               : memcmp(a->prefix, b->prefix, n)) == 0;
}

/* Of two names whose prefixes agree: whether the shorter one ends where a component does. */
static bool dir_names_overlap(const struct glob *a, const struct glob *b)
{
    size_t n = common_len(a, b);
    char next = a->prefix_len > n ? a->prefix[n] : b->prefix[n];
    return n == 0 || a->prefix[n - 1] == '/' || next == '/' || next == '\0';
}

/* False where the last bytes that the two ask for rule each other out, which tells most patterns
 * apart that begin with a wildcard. */
static bool tails_agree(const struct chain *a, const struct chain *b)
{
    const struct step *x = &a->steps[a->n - 1], *y = &b->steps[b->n - 1];
    for (size_t left = a->tail < b->tail ? a->tail : b->tail; left; left--) {
        struct byteset both = byteset_both(&(--x)->set, &(--y)->set);
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
        return dir_names_overlap(a, b);
    if (!a->name && !b->name && !tails_agree(&a->chain, &b->chain))
        return false;
    autochain struct chain made_a = {0}, made_b = {0};
    return chain_overlap(glob_chain(a, &made_a), glob_chain(b, &made_b), ret_example);
}

/* In words touched; what is kept is among them, so that memory is bounded to 64 MiB as well. */
enum { WORK_MAX = 1 << 23 };

/* The positions of the outer pattern that some beginnings of paths lead to; interned, so that a set
 * is stepped once per class of bytes. */
struct subset {
    uint64_t *positions;
    uint64_t *seen; /* positions and parts of the inner chain that were met together with it */
    struct subset **next;
    bool accepts, everything; /* everything: whatever comes behind is accepted as well */
};

struct visit {
    struct subset *subset;
    size_t i;
    enum part part;
};

struct cover {
    const struct chain *outer, *inner;
    size_t words, seen_words;
    unsigned char bytes[256]; /* one byte of each class that no set of either tells apart */
    size_t classes, work;
    struct arena arena;
    struct map subsets;
    VEC(struct visit) todo;
    uint64_t *scratch;
};

static void cover_done(struct cover *c)
{
    free(c->scratch);
    vec_done(&c->todo);
    map_done(&c->subsets);
    arena_done(&c->arena);
}

/* Splits every class that a set cuts in two. */
static void classes_split(unsigned char class_of[256], size_t *n, const struct byteset *set)
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

static void classes_of_chain(unsigned char class_of[256], size_t *n, const struct chain *c)
{
    for (size_t i = 0; i < c->n; i++) {
        if (c->steps[i].kind != KIND_NONE &&
            (i == 0 ||
             memcmp(&c->steps[i].set, &c->steps[i - 1].set, sizeof(c->steps[i].set)) != 0))
            classes_split(class_of, n, &c->steps[i].set);
    }
}

static void cover_classes(struct cover *c)
{
    static const struct byteset slash = {{UINT64_C(1) << '/'}}, dot = {{UINT64_C(1) << '.'}};
    unsigned char class_of[256] = {0};
    c->classes = 1;
    classes_split(class_of, &c->classes, &slash);
    classes_split(class_of, &c->classes, &dot);
    classes_of_chain(class_of, &c->classes, c->outer);
    classes_of_chain(class_of, &c->classes, c->inner);
    for (unsigned b = 1; b < 256; b++)
        c->bytes[class_of[b]] = (unsigned char)b;
}

static bool accepts_all(const struct chain *c, const uint64_t *set)
{
    size_t last = c->n - 1;
    return c->steps[last].loop == LOOP_ANY && (set[last / 64] >> last % 64 & 1);
}

/* The subset that holds what is in c->scratch. */
static struct subset *cover_intern(struct cover *c)
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

static struct subset *cover_next(struct cover *c, struct subset *s, size_t class)
{
    if (s->next[class])
        return s->next[class];
    memset(c->scratch, 0, c->words * sizeof(uint64_t));
    chain_step(c->outer, s->positions, c->bytes[class], c->scratch);
    c->work += c->words * 8;
    return s->next[class] = cover_intern(c);
}

static void cover_meet(struct cover *c, struct subset *s, size_t i, enum part part)
{
    if (s->everything)
        return;
    if (c->inner->steps[i].fork) {
        cover_meet(c, s, i + 2, part); /* is no fork, so this goes no deeper */
        i++;
    }
    size_t bit = i * PARTS + part;
    if (s->seen[bit / 64] >> bit % 64 & 1)
        return;
    s->seen[bit / 64] |= UINT64_C(1) << bit % 64;
    vec_push(&c->todo, (struct visit){s, i, part});
}

static void cover_expand(struct cover *c, struct visit v)
{
    const struct step *step = &c->inner->steps[v.i];
    c->work += c->classes;
    for (size_t class = 0; class < c->classes; class ++) {
        unsigned char b = c->bytes[class];
        bool stays = loop_takes(step->loop, b), goes = byteset_has(&step->set, b);
        enum part part;
        if ((!stays && !goes) || !part_next(v.part, b, &part))
            continue;
        struct subset *next = cover_next(c, v.subset, class);
        if (stays)
            cover_meet(c, next, v.i, part);
        if (goes)
            cover_meet(c, next, v.i + 1, part);
    }
}

/* Looks for a path that the inner chain takes and the outer one does not. */
bool glob_covers(const struct glob *outer, const struct glob *inner)
{
    autochain struct chain made_outer = {0}, made_inner = {0};
    own_cleanup(cover_done) struct cover c = {.outer = glob_chain(outer, &made_outer),
                                              .inner = glob_chain(inner, &made_inner)};
    c.words = chain_words(c.outer);
    c.seen_words = (c.inner->n * PARTS + 63) / 64;
    c.scratch = mem_array(c.words, sizeof(*c.scratch));
    cover_classes(&c);
    chain_enter(c.outer, c.scratch, 0);
    cover_meet(&c, cover_intern(&c), 0, PART_NEW);
    while (c.todo.n && c.work < WORK_MAX) {
        struct visit v = c.todo.v[--c.todo.n];
        if (c.inner->steps[v.i].accept && v.part == PART_NAME && !v.subset->accepts)
            return false;
        cover_expand(&c, v);
    }
    return c.todo.n == 0;
}
