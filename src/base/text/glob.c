#include "base/text/glob.h"

#include "base/mem.h"
#include "base/text/glob_chain.h"

#include <string.h>
#include <strings.h>

static void byteset_add(struct byteset *s, unsigned char b)
{
    s->bits[b / 64] |= UINT64_C(1) << b % 64;
}

static void byteset_add_range(struct byteset *s, unsigned first, unsigned last)
{
    for (unsigned b = first; b <= last; b++)
        byteset_add(s, (unsigned char)b);
}

static void byteset_fold(struct byteset *s)
{
    for (unsigned char c = 'a'; c <= 'z'; c++) {
        unsigned char upper = (unsigned char)(c - 'a' + 'A');
        if (byteset_has(s, c))
            byteset_add(s, upper);
        else if (byteset_has(s, upper))
            byteset_add(s, c);
    }
}

static void byteset_negate(struct byteset *s)
{
    for (size_t i = 0; i < 4; i++)
        s->bits[i] = ~s->bits[i];
}

static void byteset_remove(struct byteset *s, unsigned char b)
{
    s->bits[b / 64] &= ~(UINT64_C(1) << b % 64);
}

enum kind byteset_kind(const struct byteset *s)
{
    struct byteset rest = *s;
    byteset_remove(&rest, '.');
    byteset_remove(&rest, '/');
    if (rest.bits[0] | rest.bits[1] | rest.bits[2] | rest.bits[3])
        return KIND_OTHER;
    return byteset_has(s, '.') ? KIND_DOT : byteset_has(s, '/') ? KIND_SLASH : KIND_NONE;
}

size_t chain_words(const struct chain *c)
{
    return (c->n + 63) / 64;
}

void chain_enter(const struct chain *c, uint64_t *set, size_t i)
{
    if (c->steps[i].fork) {
        set[(i + 2) / 64] |= UINT64_C(1) << (i + 2) % 64;
        i++;
    }
    set[i / 64] |= UINT64_C(1) << i % 64;
}

void chain_step(const struct chain *c, const uint64_t *from, unsigned char b, uint64_t *to)
{
    for (size_t w = 0; w < chain_words(c); w++) {
        for (uint64_t left = from[w]; left; left &= left - 1) {
            size_t i = w * 64 + (size_t)__builtin_ctzll(left);
            if (loop_takes(c->steps[i].loop, b))
                chain_enter(c, to, i);
            if (byteset_has(&c->steps[i].set, b))
                chain_enter(c, to, i + 1);
        }
    }
}

bool chain_accepts(const struct chain *c, const uint64_t *set)
{
    for (size_t i = c->n; i-- > 0 && c->steps[i].accept;) {
        if (set[i / 64] >> i % 64 & 1)
            return true;
    }
    return false;
}

/* The accepting positions are the last ones of a chain, so chain_accepts() looks at those only. */
static bool match_chain(const struct chain *c, const char *path)
{
    size_t words = chain_words(c);
    uint64_t sets[2][(CHAIN_MAX + 63) / 64];
    memset(sets[0], 0, words * sizeof(uint64_t));
    chain_enter(c, sets[0], 0);
    size_t now = 0;
    for (; *path; path++, now = !now) {
        memset(sets[!now], 0, words * sizeof(uint64_t));
        chain_step(c, sets[now], (unsigned char)*path, sets[!now]);
        uint64_t alive = 0;
        for (size_t w = 0; w < words; w++)
            alive |= sets[!now][w];
        if (!alive)
            return false;
    }
    return chain_accepts(c, sets[now]);
}

/* A chain under construction; `at` is the position of the next token. */
struct chain_builder {
    struct chain *chain;
    size_t at;
    bool fold;
};

static void add_set(struct chain_builder *m, struct byteset set)
{
    struct step *step = &m->chain->steps[m->at++];
    step->set = set;
    step->kind = byteset_kind(&set);
}

static void add_byte(struct chain_builder *m, char c)
{
    struct byteset set = {0};
    byteset_add(&set, (unsigned char)c);
    if (m->fold)
        byteset_fold(&set);
    add_set(m, set);
}

static void set_loop(struct chain_builder *m, enum loop loop)
{
    m->chain->steps[m->at].loop = loop;
}

/* Matches any folders with a slash at the end, or nothing. A second one in a row would match
 * nothing new, and would make a fork lead to a fork, which glob_chain.h excludes. */
static void add_folders(struct chain_builder *m)
{
    if (m->at >= 2 && m->chain->steps[m->at - 2].fork)
        return;
    m->chain->steps[m->at++].fork = true;
    set_loop(m, LOOP_ANY);
    add_byte(m, '/');
}

static void end_chain(struct chain_builder *m)
{
    m->chain->steps[m->at++].accept = true;
    m->chain->n = m->at;
}

/* Adds the characters of [:name:]; the table lists pairs of first and last. These are git's
 * classes, independent of the locale. */
static int add_class(struct byteset *set, const char *name, size_t len)
{
    static const char *const classes[][2] = {
        {"alnum", "azAZ09"},   {"alpha", "azAZ"},
        {"blank", "  \t\t"},   {"cntrl", "\1\37\177\177"},
        {"digit", "09"},       {"graph", "!~"},
        {"lower", "az"},       {"print", " ~"},
        {"punct", "!/:@[`{~"}, {"space", "  \t\t\n\n\r\r"},
        {"upper", "AZ"},       {"xdigit", "09afAF"},
    };
    for (size_t i = 0; i < ARRAY_LEN(classes); i++) {
        if (strlen(classes[i][0]) != len || memcmp(classes[i][0], name, len) != 0)
            continue;
        for (const char *pair = classes[i][1]; *pair; pair += 2)
            byteset_add_range(set, (unsigned char)pair[0], (unsigned char)pair[1]);
        return 0;
    }
    return -1;
}

/* A bracket while we parse it. Each item is a class, the end of a range, or a byte that may begin a
 * range. */
struct bracket {
    const char *p; /* the rest of the pattern */
    struct byteset set;
    unsigned char range_start; /* the byte at which a '-' would begin a range, or 0 */
};

static int read_byte(struct bracket *bracket, unsigned char *ret)
{
    if (*bracket->p == '\\')
        bracket->p++;
    if (!*bracket->p)
        return -1;
    *ret = (unsigned char)*bracket->p++;
    return 0;
}

/* Reads "[:name:]". Returns 1 if the bytes are no class, so that '[' stands for itself. */
static int read_class(struct bracket *bracket)
{
    if (bracket->p[0] != '[' || bracket->p[1] != ':')
        return 1;
    const char *name = bracket->p + 2, *end = strchr(name, ']');
    if (!end)
        return -1;
    if (end == name || end[-1] != ':')
        return 1;
    bracket->p = end + 1;
    bracket->range_start = 0;
    return add_class(&bracket->set, name, (size_t)(end - 1 - name));
}

static int read_item(struct bracket *bracket)
{
    unsigned char b;
    if (bracket->p[0] == '-' && bracket->range_start && bracket->p[1] && bracket->p[1] != ']') {
        bracket->p++;
        if (read_byte(bracket, &b) != 0)
            return -1;
        byteset_add_range(&bracket->set, bracket->range_start, b);
        bracket->range_start = 0;
        return 0;
    }
    int class = read_class(bracket);
    if (class <= 0)
        return class;
    if (read_byte(bracket, &b) != 0)
        return -1;
    byteset_add(&bracket->set, b);
    bracket->range_start = b;
    return 0;
}

/* *p points behind the '['; we move it behind the ']'. */
static int parse_bracket(struct chain_builder *m, const char **p)
{
    struct bracket bracket = {.p = *p};
    bool negated = *bracket.p == '!' || *bracket.p == '^';
    if (negated)
        bracket.p++;
    do {
        if (read_item(&bracket) != 0)
            return -1;
    } while (*bracket.p != ']');
    if (m->fold)
        byteset_fold(&bracket.set);
    if (negated)
        byteset_negate(&bracket.set);
    byteset_remove(&bracket.set, '/');
    byteset_remove(&bracket.set, '\0');
    add_set(m, bracket.set);
    *p = bracket.p + 1;
    return 0;
}

/* *p points behind the first star. Two or more stars mean folders if they fill a component. git
 * checks that only in the part of the pattern after the plain prefix, so for git `first` begins a
 * component. */
static void parse_stars(struct chain_builder *m, const char **p, const char *first)
{
    const char *star = *p - 1;
    bool several = **p == '*';
    *p += strspn(*p, "*");
    const char *next = *p;
    bool begins = star == first || star[-1] == '/';
    bool ends = !*next || *next == '/' || (next[0] == '\\' && next[1] == '/');
    if (!several || !begins || !ends) {
        set_loop(m, LOOP_SEGMENT);
    } else if (*next == '/') {
        add_folders(m);
        ++*p;
    } else {
        set_loop(m, LOOP_ANY);
    }
}

static int parse_token(struct chain_builder *m, const char **p, const char *first)
{
    char c = *(*p)++;
    switch (c) {
    case '*':
        parse_stars(m, p, first);
        return 0;
    case '?': {
        struct byteset set = {0};
        byteset_add_range(&set, 1, 255);
        byteset_remove(&set, '/');
        add_set(m, set);
        return 0;
    }
    case '[':
        return parse_bracket(m, p);
    case '\\':
        if (!**p)
            return -1;
        c = *(*p)++;
        /* fallthrough */
    default:
        add_byte(m, c);
        return 0;
    }
}

/* True if only a byte at the previous position leads to this one. */
static bool is_fixed(const struct chain *c, size_t i)
{
    return i > 0 && c->steps[i].loop == LOOP_NONE && !c->steps[i - 1].fork &&
           (i == 1 || !c->steps[i - 2].fork);
}

static int parse_wildcards(struct chain_builder *m, const char *p)
{
    for (const char *first = p; *p;) {
        if (parse_token(m, &p, first) != 0)
            return -1;
    }
    end_chain(m);
    struct chain *c = m->chain;
    while (is_fixed(c, c->n - 1 - c->tail))
        c->tail++;
    return 0;
}

/* Ends a plain name: it matches the path itself and everything below it. */
static void end_name(struct chain_builder *m, bool slash)
{
    if (!slash) {
        m->chain->steps[m->at].accept = true;
        add_byte(m, '/');
    }
    set_loop(m, LOOP_ANY);
    end_chain(m);
}

/* Returns -1 if the chain matches no path. */
static int build_chain(struct chain *c, const char *pattern, size_t plain, bool fold)
{
    struct chain_builder m = {.chain = c, .fold = fold};
    c->steps = mem_array(strlen(pattern) + 2, sizeof(*c->steps));
    for (size_t i = 0; i < plain; i++)
        add_byte(&m, pattern[i]);
    if (!pattern[plain])
        end_name(&m, !plain || pattern[plain - 1] == '/');
    else if (parse_wildcards(&m, pattern + plain) != 0)
        return -1;
    struct step any = {.loop = LOOP_ANY, .accept = true};
    const struct chain everything = {.steps = &any, .n = 1};
    return chain_overlap(c, &everything, NULL) ? 0 : -1;
}

void chain_done(struct chain *c)
{
    free(c->steps);
}

const struct chain *glob_chain(const struct glob *g, struct chain *made)
{
    if (!g->name)
        return &g->chain;
    (void)build_chain(made, g->prefix, g->prefix_len, g->fold);
    return made;
}

/* True if a path can have this name. */
static bool is_valid_path(const char *name)
{
    while (*name) {
        size_t len = strcspn(name, "/");
        if (len == 0 || (name[0] == '.' && (len == 1 || (len == 2 && name[1] == '.'))))
            return false;
        name += len + (name[len] == '/');
    }
    return true;
}

static char *copy_prefix(const char *pattern, size_t plain, bool fold)
{
    char *prefix = mem_dup(pattern, plain);
    for (char *s = prefix; fold && *s; s++) {
        if (*s >= 'A' && *s <= 'Z')
            *s = (char)(*s - 'A' + 'a');
    }
    return prefix;
}

struct glob *glob_new(const char *pattern, bool fold)
{
    size_t plain = strcspn(pattern, "*?[\\");
    if (strnlen(pattern, PATTERN_MAX + 1) > PATTERN_MAX)
        return NULL;
    struct glob *g = mem_alloc(sizeof(*g));
    g->fold = fold;
    g->name = !pattern[plain];
    g->prefix = copy_prefix(pattern, plain, fold);
    g->prefix_len = plain;
    if (g->name ? is_valid_path(pattern) : build_chain(&g->chain, pattern, plain, fold) == 0)
        return g;
    glob_free(g);
    return NULL;
}

void glob_free(struct glob *g)
{
    if (!g)
        return;
    chain_done(&g->chain);
    free(g->prefix);
    free(g);
}

/* Matches the path itself and everything below it. If the name ends with a slash, only what is
 * below. */
static bool match_name(const struct glob *g, const char *path)
{
    size_t len = g->prefix_len;
    if ((g->fold ? strncasecmp(path, g->prefix, len) : strncmp(path, g->prefix, len)) != 0)
        return false;
    if (len == 0 || g->prefix[len - 1] == '/')
        return path[len] != '\0';
    return path[len] == '\0' || path[len] == '/';
}

bool glob_match(const struct glob *g, const char *path)
{
    return g->name ? match_name(g, path) : match_chain(&g->chain, path);
}

const char *glob_prefix(const struct glob *g)
{
    return g->prefix;
}
