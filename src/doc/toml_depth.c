#include "doc/toml_depth.h"

#include "doc/doc.h"

#include <string.h>

/* An open list or inline table. The lowest level is the table of the last header. */
struct level {
    size_t start, depth;
    bool map;
};

struct scan {
    const char *text;
    size_t len, at, string; /* string: the first quote that is never closed, or len */
    struct level levels[DOC_MAX_DEPTH + 1];
    size_t top;
    size_t dots; /* dots in the current key, or in the key of the next value */
    bool key;    /* we are reading a key */
    bool fresh;  /* only white space on this line so far */
};

static bool starts_with(const struct scan *s, size_t at, const char *what)
{
    size_t n = strlen(what);
    return s->len - at >= n && memcmp(s->text + at, what, n) == 0;
}

/* Returns the offset behind the string that begins here. One or two quotes may come before the
 * closing three. */
static size_t find_string_end(struct scan *s)
{
    const char quote = s->text[s->at], triple[4] = {quote, quote, quote, '\0'};
    bool triple_quoted = starts_with(s, s->at, triple);
    for (size_t at = s->at + (triple_quoted ? 3 : 1); at < s->len; at++) {
        if (s->text[at] == '\\' && quote == '"') {
            at++;
        } else if (triple_quoted && s->text[at] == quote && starts_with(s, at, triple)) {
            at += 3;
            for (int extra = 0; extra < 2 && at < s->len && s->text[at] == quote; extra++)
                at++;
            return at;
        } else if (!triple_quoted && s->text[at] == quote) {
            return at + 1;
        } else if (!triple_quoted && s->text[at] == '\n') {
            s->string = s->string < s->at ? s->string : s->at;
            return at;
        }
    }
    s->string = s->string < s->at ? s->string : s->at;
    return s->len;
}

static size_t find_line_end(const struct scan *s)
{
    const char *lf = memchr(s->text + s->at, '\n', s->len - s->at);
    return lf ? (size_t)(lf - s->text) : s->len;
}

static size_t get_depth(const struct scan *s)
{
    return s->levels[s->top].depth + s->dots;
}

static void begin_header(struct scan *s)
{
    s->levels[0].depth = 2; /* the root and the first word */
    s->dots = 0;
    s->at += starts_with(s, s->at, "[[") ? 2 : 1;
    s->fresh = false;
}

static bool open_value(struct scan *s)
{
    size_t depth = get_depth(s) + 1;
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
        s->levels[0].depth +=
            s->key ? s->dots : 0; /* the words of a header; a key without value is an error */
        s->dots = 0;
        s->key = true;
    }
    s->fresh = true;
    s->at++;
}

static void read_char(struct scan *s, char c)
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

/* Reads a character outside of strings and comments. False if it is nested too deep. */
static bool read_token(struct scan *s)
{
    char c = s->text[s->at];
    if (!s->key && (c == '[' || c == '{'))
        return open_value(s);
    if (c == '\n')
        end_line(s);
    else if (c == '[' && s->fresh && s->top == 0)
        begin_header(s);
    else
        read_char(s, c);
    return get_depth(s) <= DOC_MAX_DEPTH;
}

struct toml_scan_result toml_scan(const char *text, size_t len)
{
    struct scan s = {.text = text, .len = len, .string = len, .key = true, .fresh = true};
    s.levels[0].depth = 1;
    while (s.at < len) {
        if (text[s.at] == '#') {
            s.at = find_line_end(&s);
        } else if (text[s.at] == '"' || text[s.at] == '\'') {
            s.at = find_string_end(&s);
            s.fresh = false;
        } else if (!read_token(&s)) {
            return (struct toml_scan_result){.deep = s.at < len ? s.at : len - 1, .open = len};
        }
    }
    size_t open = s.string < len ? s.string : s.top ? s.levels[s.top].start : len;
    return (struct toml_scan_result){.deep = len, .open = open};
}
