/*
 * glob_match() against a matcher that tries everything. The first line of the input is the pattern
 * ('~' before it: ignore the case of letters); each further line is a path.
 */
#include "base/mem.h"
#include "fuzz.h"

#include "base/text/glob.h"

#include <ctype.h>
#include <string.h>

enum { TRIES_MAX = 100000 };

struct oracle {
    const char *wild; /* where the part with wildcards begins */
    bool fold;
    int tries;
};

static bool same_byte(const struct oracle *o, char a, char b)
{
    return a == b || (o->fold && tolower((unsigned char)a) == tolower((unsigned char)b));
}

static bool in_range(const struct oracle *o, unsigned char b, unsigned char lo, unsigned char hi)
{
    if (b >= lo && b <= hi)
        return true;
    unsigned char other = (unsigned char)(islower(b) ? toupper(b) : tolower(b));
    return o->fold && other >= lo && other <= hi;
}

static int is_space_of_git(int c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* 1: in it, 0: not in it, -1: there is no such class. */
static int in_class(const struct oracle *o, const char *name, size_t len, unsigned char b)
{
    static const struct {
        const char *name;
        int (*has)(int);
    } classes[] = {
        {"alnum", isalnum}, {"alpha", isalpha}, {"blank", isblank},         {"cntrl", iscntrl},
        {"digit", isdigit}, {"graph", isgraph}, {"lower", islower},         {"print", isprint},
        {"punct", ispunct}, {"upper", isupper}, {"space", is_space_of_git}, {"xdigit", isxdigit},
    };
    for (size_t i = 0; i < ARRAY_LEN(classes); i++) {
        if (strlen(classes[i].name) == len && strncmp(classes[i].name, name, len) == 0)
            return classes[i].has(b) ||
                   (o->fold && (classes[i].has(toupper(b)) || classes[i].has(tolower(b))));
    }
    return -1;
}

/* True if the bracket whose inside begins at p contains b. *end is behind it; NULL if it is
 * malformed.
 */
static bool in_bracket(const struct oracle *o, const char *p, unsigned char b, const char **end)
{
    bool negated = *p == '!' || *p == '^', found = false;
    unsigned char before = 0;
    *end = NULL;
    p += negated;
    do {
        const char *close = p[0] == '[' && p[1] == ':' ? strchr(p + 2, ']') : NULL;
        bool range = *p == '-' && before && p[1] && p[1] != ']';
        if (p[0] == '[' && p[1] == ':' && !close && !range)
            return false;
        if (!range && close && close > p + 2 && close[-1] == ':') {
            int in = in_class(o, p + 2, (size_t)(close - 1 - (p + 2)), b);
            if (in < 0)
                return false;
            found = found || in;
            before = 0;
            p = close + 1;
            continue;
        }
        p += range;
        p += *p == '\\';
        if (!*p)
            return false;
        unsigned char last = (unsigned char)*p++;
        found = found || in_range(o, b, range ? before : last, last);
        before = range ? 0 : last;
    } while (*p != ']');
    *end = p + 1;
    return found != negated && b != '/';
}

static bool match(struct oracle *o, const char *p, const char *s);

/* Two stars or more that fill a component, or stand where the wildcards begin, cross slashes. */
static bool match_stars(struct oracle *o, const char *p, const char *s)
{
    const char *next = p + strspn(p, "*");
    bool fills = next - p > 1 && (p == o->wild || p[-1] == '/') &&
                 (!*next || *next == '/' || (next[0] == '\\' && next[1] == '/'));
    bool folders = fills && *next == '/';
    if (match(o, next + folders, s))
        return true;
    for (; *s && (fills || *s != '/'); s++) {
        if ((!folders || *s == '/') && match(o, next + folders, s + 1))
            return true;
    }
    return false;
}

static bool match(struct oracle *o, const char *p, const char *s)
{
    if (o->tries++ > TRIES_MAX)
        return false;
    if (*p == '*')
        return match_stars(o, p, s);
    if (!*p || !*s)
        return !*p && !*s;
    const char *next = p + 1;
    bool takes;
    if (*p == '[') {
        takes = in_bracket(o, p + 1, (unsigned char)*s, &next);
    } else if (*p == '?') {
        takes = *s != '/';
    } else {
        next += *p == '\\';
        takes = next[-1] && same_byte(o, next[-1], *s);
    }
    return takes && next && match(o, next, s + 1);
}

static bool starts_with(const struct oracle *o, const char *s, const char *start)
{
    while (*start && same_byte(o, *start, *s))
        start++, s++;
    return !*start;
}

static bool expected(struct oracle *o, const char *pattern, const char *path)
{
    size_t plain = strcspn(pattern, "*?[\\");
    o->wild = pattern + plain;
    if (pattern[plain])
        return match(o, pattern, path);
    bool folder = !plain || pattern[plain - 1] == '/';
    return starts_with(o, path, pattern) && (folder || !path[plain] || path[plain] == '/');
}

static void check_path(const struct glob *g, const char *pattern, const char *path, bool fold)
{
    struct oracle o = {.fold = fold};
    if (!fuzz_is_path(path))
        return;
    bool right = expected(&o, pattern, path);
    if (o.tries > TRIES_MAX)
        return;
    fuzz_check((g && glob_match(g, path)) == right);
    fuzz_check(!right || starts_with(&(struct oracle){.fold = fold}, path, glob_prefix(g)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    autofree char *line = fuzz_line(&in);
    bool fold = *line == '~';
    const char *pattern = line + fold;
    if (strlen(pattern) > 4096)
        return 0;
    struct glob *g = glob_new(pattern, fold);
    for (unsigned variant = 0; variant < FUZZ_VARIANTS; variant++) {
        autofree char *path = fuzz_path_like(pattern, variant);
        check_path(g, pattern, path, fold);
    }
    while (in.size) {
        autofree char *path = fuzz_line(&in);
        check_path(g, pattern, path, fold);
    }
    glob_free(g);
    return 0;
}
