#include "doc/toml_depth.h"

#include "doc/doc.h"

#include <string.h>

/* A list or inline table that is open; the lowest one is the table of the last header. */
struct level {
    size_t start, depth;
    bool map;
};

struct scan {
    const char *text;
    size_t len, at, string; /* string: the first quote that is never closed, or len */
    struct level levels[DOC_MAX_DEPTH + 1];
    size_t top;
    size_t dots; /* in the key that is being read, or was read for the coming value */
    bool key;    /* a key is being read */
    bool fresh;  /* nothing but white space was on this line so far */
};

static bool starts(const struct scan *s, size_t at, const char *what)
{
    size_t n = strlen(what);
    return s->len - at >= n && memcmp(s->text + at, what, n) == 0;
}

/* Offset behind the string that begins here; a quote or two may stand before the closing three. */
static size_t string_end(struct scan *s)
{
    const char quote = s->text[s->at], triple[4] = {quote, quote, quote, '\0'};
    bool parallel_for = starts(s, s->at, triple);
    for (size_t at = s->at + (parallel_for ? 3 : 1); at < s->len; at++) {
        if (s->text[at] == '\\' && quote == '"') {
            at++;
        } else if (parallel_for && s->text[at] == quote && starts(s, at, triple)) {
            at += 3;
            for (int extra = 0; extra < 2 && at < s->len && s->text[at] == quote; extra++)
                at++;
            return at;
        } else if (!parallel_for && s->text[at] == quote) {
            return at + 1;
        } else if (!parallel_for && s->text[at] == '\n') {
            s->string = s->string < s->at ? s->string : s->at;
            return at;
        }
    }
    s->string = s->string < s->at ? s->string : s->at;
    return s->len;
}

static size_t line_end(const struct scan *s)
{
    const char *lf = memchr(s->text + s->at, '\n', s->len - s->at);
    return lf ? (size_t)(lf - s->text) : s->len;
}

static size_t depth_here(const struct scan *s)
{
    return s->levels[s->top].depth + s->dots;
}

static void begin_header(struct scan *s)
{
    s->levels[0].depth = 2; /* the root and the first word */
    s->dots = 0;
    s->at += starts(s, s->at, "[[") ? 2 : 1;
    s->fresh = false;
}

static bool open_value(struct scan *s)
{
    size_t depth = depth_here(s) + 1;
    if (depth > DOC_MAX_DEPTH)
        return false;
    s->key = s->text[s->at] == '{';
    s->levels[++s->top] = (struct level){s->at, depth, s->key};
    s->dots = 0;
    s->at++;
    return true;
}

static void end_line(struct scan *s)
{
    if (s->top == 0) {
        s->levels[0].depth += s->key ? s->dots : 0; /* a header's words; a lone key is an error */
        s->dots = 0;
        s->key = true;
    }
    s->fresh = true;
    s->at++;
}

static void take_char(struct scan *s, char c)
{
    if (c == '.' && s->key) {
        s->dots++;
    } else if (c == '=') {
        s->key = false;
    } else if (c == ',') {
        s->dots = 0;
        s->key = s->levels[s->top].map;
    } else if ((c == ']' || c == '}') && s->top) {
        s->top--;
        s->key = false;
    }
    s->fresh = s->fresh && (c == ' ' || c == '\t');
    s->at++;
}

/* Takes a character that is in no string and no comment; false where it is too deep. */
static bool step(struct scan *s)
{
    char c = s->text[s->at];
    if (!s->key && (c == '[' || c == '{'))
        return open_value(s);
    if (c == '\n')
        end_line(s);
    else if (c == '[' && s->fresh && s->top == 0)
        begin_header(s);
    else
        take_char(s, c);
    return depth_here(s) <= DOC_MAX_DEPTH;
}

struct toml_scan_result toml_scan(const char *text, size_t len)
{
    struct scan s = {.text = text, .len = len, .string = len, .key = true, .fresh = true};
    s.levels[0].depth = 1;
    while (s.at < len) {
        if (text[s.at] == '#') {
            s.at = line_end(&s);
        } else if (text[s.at] == '"' || text[s.at] == '\'') {
            s.at = string_end(&s);
            s.fresh = false;
        } else if (!step(&s)) {
            return (struct toml_scan_result){.deep = s.at < len ? s.at : len - 1, .open = len};
        }
    }
    size_t open = s.string < len ? s.string : s.top ? s.levels[s.top].start : len;
    return (struct toml_scan_result){.deep = len, .open = open};
}
