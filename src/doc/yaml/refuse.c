#include "doc/yaml/refuse.h"

#include <string.h>

enum { BLANK_LINES_MAX = 100, DIRECTIVE_MAX = 100, TAG_ESCAPES_MAX = 1000 };

static bool begins_line(const struct cursor *c, size_t at)
{
    return at == 0 || c->text[at - 1] == '\n' || c->text[at - 1] == '\r';
}

static bool is_version(const char *s, size_t len)
{
    size_t line = 0;
    while (line < len && line <= DIRECTIVE_MAX && s[line] != '\n' && s[line] != '\r')
        line++;
    return line <= DIRECTIVE_MAX && line > 5 && memcmp(s, "%YAML", 5) == 0 &&
           (s[5] == ' ' || s[5] == '\t');
}

static int guard_directives(struct cursor c, struct problems *ps)
{
    const char *end = c.text + c.len;
    for (const char *s = c.text; (s = memchr(s, '%', (size_t)(end - s))); s++) {
        size_t at = (size_t)(s - c.text);
        if (!begins_line(&c, at) || is_version(s, c.len - at))
            continue;
        problem_error_at(ps, RULE_SYNTAX, cursor_seek(&c, at),
                         "a line that begins with '%%' is a directive, and only %%YAML is read");
        return problem_hint(ps, "take the line out; a text that begins with %% goes in quotes");
    }
    return 0;
}

/* Offset behind the word that begins at `at`; *ret_escapes is how many %NN there may be in it. */
static size_t word_end(const struct cursor *c, size_t at, size_t *ret_escapes)
{
    size_t escapes = 0;
    for (; at < c->len && !strchr(" \t\r\n", c->text[at]); at++)
        escapes += c->text[at] == '%';
    *ret_escapes = escapes;
    return at;
}

static int guard_tags(struct cursor c, struct problems *ps)
{
    const char *s = c.text, *end = c.text + c.len;
    while ((s = memchr(s, '!', (size_t)(end - s)))) {
        size_t escapes, at = (size_t)(s - c.text);
        s = c.text + word_end(&c, at, &escapes);
        if (escapes <= TAG_ESCAPES_MAX)
            continue;
        problem_error_at(ps, RULE_SYNTAX, cursor_seek(&c, at),
                         "a '!' with more than %d '%%' in one word", TAG_ESCAPES_MAX);
        return problem_hint(ps, "a text of this kind is better kept in a file of its own");
    }
    return 0;
}

int yaml_guard_text(struct cursor c, struct problems *ps)
{
    if (!c.len || !memchr(c.text, '%', c.len))
        return 0;
    return guard_directives(c, ps) < 0 ? -1 : guard_tags(c, ps);
}

static bool ends_line(const struct cursor *c, size_t at)
{
    return c->text[at] == '\n' ||
           (c->text[at] == '\r' && (at + 1 == c->len || c->text[at + 1] != '\n'));
}

int yaml_guard_scalar(struct cursor *c, size_t start, size_t end, struct problems *ps)
{
    size_t blank = 0;
    for (size_t at = start; at < end && at < c->len; at++) {
        if (ends_line(c, at))
            blank++;
        else if (!strchr(" \t\r", c->text[at]))
            blank = 0;
        if (blank <= BLANK_LINES_MAX)
            continue;
        problem_error_at(ps, RULE_SYNTAX, cursor_seek(c, at),
                         "more than %d blank lines in a row in one text", BLANK_LINES_MAX);
        return problem_hint(ps, "take some out");
    }
    return 0;
}

int yaml_guard_block(struct cursor *c, size_t start, size_t end, size_t indent, struct problems *ps)
{
    size_t at = start, line = start;
    for (; at < end && strchr(" \t\r\n", c->text[at]); at++) {
        if (ends_line(c, at))
            line = at + 1;
    }
    if (at >= end || at - line > indent)
        return 0;
    problem_error_at(ps, RULE_SYNTAX, cursor_seek(c, at),
                     "the text of | or > is indented deeper than what it belongs to");
    return problem_hint(ps, "indent this line, or write \"\" above it for a text that is empty");
}
