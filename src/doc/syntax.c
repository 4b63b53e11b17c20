/*
 * Finds the syntax of a text, for standard input and for files whose name does not tell it.
 */
#include "doc/tree/reader.h"

#include "base/mem.h"

#include <string.h>
#include <strings.h>

struct line {
    const char *s;
    size_t len; /* without trailing white space */
};

/* Reads the next line; false at the end of the text. */
static bool next_line(const char **text, const char *end, struct line *line)
{
    if (*text == end)
        return false;
    const char *lf = memchr(*text, '\n', (size_t)(end - *text));
    line->s = *text;
    line->len = (size_t)((lf ? lf : end) - *text);
    *text = lf ? lf + 1 : end;
    while (line->len && strchr(" \t\r", line->s[line->len - 1]))
        line->len--;
    return true;
}

const char *doc_syntax_name(enum doc_syntax syntax)
{
    static const char *const names[] = {
        [DOC_AUTO] = "auto", [DOC_MARKDOWN] = "markdown", [DOC_YAML] = "yaml",
        [DOC_TOML] = "toml", [DOC_JSON] = "json",
    };
    return names[syntax];
}

static enum doc_syntax guess_syntax_by_name(const char *name)
{
    static const struct {
        const char *ending;
        enum doc_syntax syntax;
    } endings[] = {
        {".md", DOC_MARKDOWN}, {".markdown", DOC_MARKDOWN}, {".mdx", DOC_MARKDOWN},
        {".yaml", DOC_YAML},   {".yml", DOC_YAML},          {".toml", DOC_TOML},
        {".json", DOC_JSON},
    };
    const char *dot = name ? strrchr(name, '.') : NULL;
    for (size_t i = 0; dot && i < ARRAY_LEN(endings); i++) {
        if (strcasecmp(dot, endings[i].ending) == 0)
            return endings[i].syntax;
    }
    return DOC_AUTO;
}

bool doc_has_front_matter(const char *text, size_t len)
{
    const char *end = text + len;
    struct line line;
    if (!next_line(&text, end, &line) || line.len != 3 || memcmp(line.s, "---", 3) != 0)
        return false;
    while (next_line(&text, end, &line)) {
        if (line.len == 3 && memcmp(line.s, "---", 3) == 0)
            return true;
    }
    return false;
}

static size_t count_in_set(struct line line, size_t at, const char *set)
{
    size_t n = 0;
    while (at + n < line.len && strchr(set, line.s[at + n]))
        n++;
    return n;
}

/* Matches a fence with the info string `json dispatch`, also in a list or a quote. */
static bool is_dispatch_fence(struct line line)
{
    size_t at = count_in_set(line, 0, " \t>-*+0123456789.)");
    size_t ticks = count_in_set(line, at, "`"), tildes = count_in_set(line, at, "~");
    if (ticks < 3 && tildes < 3)
        return false;
    at += ticks + tildes;
    at += count_in_set(line, at, " \t");
    if (line.len - at < 4 || memcmp(line.s + at, "json", 4) != 0)
        return false;
    at += 4;
    size_t gap = count_in_set(line, at, " \t");
    at += gap;
    return gap && line.len - at >= 8 && memcmp(line.s + at, "dispatch", 8) == 0;
}

static bool has_dispatch_block(const char *text, const char *end)
{
    struct line line;
    while (next_line(&text, end, &line)) {
        if (is_dispatch_fence(line))
            return true;
    }
    return false;
}

static const char bare_key[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.\"'";

/* Matches `[a.b]` or `[[a]]` alone on its line. A list of JSON or YAML has a comma, begins with a
 * quote or a digit, or continues on the next line. Nobody writes a plan that is a list of one bare
 * word. */
static bool is_toml_header(struct line line)
{
    size_t at = count_in_set(line, 0, "[");
    if (at != 1 && at != 2)
        return false;
    at += count_in_set(line, at, " \t");
    size_t key = count_in_set(line, at, bare_key);
    if (!key || strchr("\"0123456789-", line.s[at]))
        return false;
    at += key;
    at += count_in_set(line, at, " \t");
    size_t closing = count_in_set(line, at, "]");
    at += closing;
    at += count_in_set(line, at, " \t");
    return closing == count_in_set(line, 0, "[") && (at == line.len || line.s[at] == '#');
}

static bool is_followed_by(struct line line, char c)
{
    size_t at = count_in_set(line, 0, bare_key);
    if (!at)
        return false;
    at += count_in_set(line, at, " \t");
    return at < line.len && line.s[at] == c;
}

/* It is TOML if a header or `key =` comes before any `key:`. */
static bool is_toml(const char *text, const char *end)
{
    struct line line;
    while (next_line(&text, end, &line)) {
        size_t indent = count_in_set(line, 0, " \t");
        line.s += indent;
        line.len -= indent < line.len ? indent : line.len;
        if (is_toml_header(line) || is_followed_by(line, '='))
            return true;
        if (is_followed_by(line, ':'))
            return false;
    }
    return false;
}

/* Returns the first line that is neither blank nor a comment. */
static struct line get_first_line(const char *text, const char *end)
{
    struct line line;
    while (next_line(&text, end, &line)) {
        size_t indent = count_in_set(line, 0, " \t");
        if (indent < line.len && line.s[indent] != '#')
            return (struct line){line.s + indent, line.len - indent};
    }
    return (struct line){"", 0};
}

static enum doc_syntax guess_syntax_by_text(const char *text, size_t len)
{
    const char *end = text + len;
    struct line first = get_first_line(text, end);
    if (first.len && (*first.s == '{' || (*first.s == '[' && !is_toml_header(first))))
        return DOC_JSON;
    if (doc_has_front_matter(text, len) || has_dispatch_block(text, end))
        return DOC_MARKDOWN;
    return is_toml(text, end) ? DOC_TOML : DOC_YAML;
}

enum doc_syntax doc_syntax_guess(const char *name, const char *text, size_t len)
{
    enum doc_syntax syntax = guess_syntax_by_name(name);
    return syntax == DOC_AUTO ? guess_syntax_by_text(text, len) : syntax;
}
