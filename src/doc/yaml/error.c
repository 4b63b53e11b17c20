#include "doc/yaml/error.h"

#include "base/text/str.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { YAML_KEY_MAX = 1024 }; /* maximum length of a key, by the specification */

static const char a_tab[] = "a tab in the indentation";
static const char no_tabs[] = "YAML is indented with spaces only";
static const char no_escape[] = "not a YAML escape";
static const char write_backslash[] = "write a backslash in double quotes as \\\\";
static const char put_quotes[] = "put the text in quotes";
static const char add_comma[] = "commas separate values in brackets";
static const char close_quote[] = "close the quote; text over several lines is easier with |";
static const char add_colon[] =
    "put a colon and a space after a key; or is the line indented wrongly?";

/* Maps a problem of libyaml to our message and hint. We compare the beginning of libyaml's problem
 * and of its context. */
struct advice {
    const char *problem, *context, *message, *hint;
    bool at_context; /* the message is about the start of the context */
};

static const struct advice tab = {"", "", a_tab, no_tabs, false};
static const struct advice behind_value = {"", "", "text after the end of a value",
                                           "put the whole text in quotes", false};

static const struct advice advices[] = {
    {"found a tab character where", "", a_tab,
     "YAML is indented with spaces only; if the text begins with a tab, write |2 instead of |",
     false},
    {"found a tab", "", a_tab, no_tabs, false},
    {"found character that cannot", "", "a text cannot begin with this character", put_quotes,
     false},
    {"did not find expected node", "", "a text cannot begin with this character", put_quotes,
     false},
    {"block sequence entries are not", "", "a list item on the line of its key",
     "begin the list on the next line, or write [a, b]", false},
    {"mapping keys are not", "", "a text cannot begin with '? '", put_quotes, false},
    {"found unexpected ':'", "", "no space after this ':'",
     "put a colon and a space after a key; a text with a colon goes in quotes", false},
    {"could not find expected ':'", "", "a key without a colon", add_colon, true},
    {"found un", "while scanning a quoted", "this quote is not closed", close_quote, true},
    {"found unknown escape", "", no_escape, write_backslash, false},
    {"did not find expected hex", "", no_escape, write_backslash, false},
    {"found invalid Unicode", "", no_escape, write_backslash, false},
    {"", "while scanning an anchor", "a text cannot begin with '&'",
     "put the text in quotes; the name of an anchor has letters, digits, - and _ only", true},
    {"", "while scanning an alias", "a text cannot begin with '*'", put_quotes, true},
    {"", "while scanning a tag", "a text cannot begin with '!'", put_quotes, true},
    {"", "while parsing a tag", "a text cannot begin with '!'", put_quotes, true},
    {"found undefined tag", "", "a tag that is not YAML's own", "remove the tag", true},
    {"did not find expected comment", "while scanning a block", "text on the line of | or >",
     "begin the text on the next line", false},
    {"found incompatible YAML", "", "this is neither YAML 1.1 nor 1.2", "remove the line", false},
    {"did not find expected '-'", "", "this line is indented wrongly",
     "the keys of a list item begin in the same column", false},
    {"did not find expected key", "", "this line is indented wrongly",
     "the keys of one mapping begin in the same column", false},
    {"did not find expected <document", "", "neither a key nor part of the line above", add_colon,
     false},
    {"did not find expected ',' or ']'", "", "',' or ']' is missing before this", add_comma, false},
    {"did not find expected ',' or '}'", "", "',' or '}' is missing before this", add_comma, false},
};

/* The place of an error with its surroundings. */
struct spot {
    const yaml_parser_t *parser;
    struct text_pos c;
    size_t at;
    struct pos pos;
    const struct node *open;
    const struct yaml_scalar *last;
    bool behind_last; /* the error is on the line on which the last scalar ends */
    bool begins_line;
};

static int guard_directives(struct text_pos c, struct problems *ps)
{
    const char *end = c.text + c.len;
    for (const char *s = c.text; (s = memchr(s, '%', (size_t)(end - s))); s++) {
        bool inside = s > c.text && s[-1] != '\n' && s[-1] != '\r';
        if (inside || str_begins(s, "%YAML "))
            continue;
        problem_error_at(ps, RULE_SYNTAX, text_pos_seek(&c, (size_t)(s - c.text)),
                         "a line that begins with '%%' is a directive, and only %%YAML is read");
        return problem_hint(ps, "remove the line; a text that begins with %% goes in quotes");
    }
    return 0;
}

/* Refuses the Unicode line ends NEL, LS and PS. The text ends with a NUL. */
static int guard_line_ends(struct text_pos c, struct problems *ps)
{
    for (const char *s = c.text; (s = strpbrk(s, "\xc2\xe2")); s++) {
        if (!str_begins(s, "\xc2\x85") && !str_begins(s, "\xe2\x80\xa8") &&
            !str_begins(s, "\xe2\x80\xa9"))
            continue;
        size_t at = (size_t)(s - c.text);
        if (at >= c.len)
            break;
        problem_error_at(ps, RULE_SYNTAX, text_pos_seek(&c, at),
                         "a Unicode line separator, which YAML 1.1 and 1.2 read differently");
        return problem_hint(ps, "remove it, or write \\N, \\L or \\P in double quotes");
    }
    return 0;
}

int yaml_error_guard(struct text_pos c, struct problems *ps)
{
    if (!c.len)
        return 0;
    return guard_directives(c, ps) < 0 ? -1 : guard_line_ends(c, ps);
}

/* Returns the byte offset of a character. */
static size_t find_offset(const struct text_pos *c, size_t index)
{
    size_t at = 0;
    while (at < c->len && index--) {
        do
            at++;
        while (at < c->len && ((unsigned char)c->text[at] & 0xc0) == 0x80);
    }
    return at;
}

static size_t find_line(const struct text_pos *c, size_t at)
{
    while (at && c->text[at - 1] != '\n')
        at--;
    return at;
}

static size_t find_indent(const struct text_pos *c, size_t at)
{
    return strspn(c->text + find_line(c, at), " ");
}

static size_t find_backslash(const struct text_pos *c, size_t at)
{
    while (at && (at >= c->len || c->text[at] != '\\'))
        at--;
    return at;
}

static bool is_blank_from(const struct text_pos *c, size_t at)
{
    while (at < c->len && strchr(" \t\r\n", c->text[at]))
        at++;
    return at >= c->len;
}

static const struct advice *find_advice(const yaml_parser_t *parser)
{
    const char *context = parser->context ? parser->context : "";
    for (size_t i = 0; i < ARRAY_LEN(advices); i++) {
        const struct advice *a = &advices[i];
        if (str_begins(parser->problem, a->problem) && str_begins(context, a->context))
            return a;
    }
    return NULL;
}

static int report_character(const yaml_parser_t *parser, struct text_pos c, struct problems *ps)
{
    unsigned code = (unsigned)parser->problem_value;
    problem_error_at(ps, RULE_SYNTAX, text_pos_seek(&c, parser->problem_offset),
                     "the control character U+%04X", code);
    return problem_hint(ps, "remove it, or write it as \\%s%0*X in double quotes",
                        code > 0xff ? "u" : "x", code > 0xff ? 4 : 2, code);
}

int yaml_error_quote(struct pos pos, struct problems *ps)
{
    problem_error_at(ps, RULE_SYNTAX, pos, "this quote is not closed");
    return problem_hint(ps, "%s", close_quote);
}

/* Reports text after a quoted text: a quote was not closed lines above, or there is a quote within
 * the quotes. */
static int report_quote(const struct spot *s, struct problems *ps)
{
    if (s->last->lines)
        return yaml_error_quote(s->last->pos, ps);
    bool twice = s->last->quote == '"';
    problem_error_at(ps, RULE_SYNTAX, s->pos, "text after the closing quote");
    return problem_hint(ps, "write a quote inside of %s quotes as %s", twice ? "double" : "single",
                        twice ? "\\\"" : "''");
}

/* Reports a ':' where no key can be. */
static int report_colon(const struct spot *s, struct problems *ps)
{
    if (s->behind_last && s->last->lines) {
        problem_error_at(ps, RULE_SYNTAX, s->last->pos, "text over several lines cannot be a key");
        return problem_hint(ps, "is the next line indented too far?");
    }
    if (s->last->key_line != s->pos.line && s->pos.col > YAML_KEY_MAX)
        return problem_error_at(ps, RULE_SYNTAX, s->pos, "a key has more than %d characters",
                                YAML_KEY_MAX);
    problem_error_at(ps, RULE_SYNTAX, s->pos, "a second ': ' on one line");
    return problem_hint(ps, "put the text after the first colon in quotes");
}

/* True if a bracket is never closed: the text ends, or a key begins that is indented no deeper than
 * the line of the bracket. */
static bool is_never_closed(const struct spot *s, bool comma)
{
    if (!s->open || is_blank_from(&s->c, s->at))
        return s->open;
    size_t from = find_offset(&s->c, s->parser->context_mark.index);
    return comma && s->c.text[s->at] == ':' && find_line(&s->c, s->at) > from &&
           find_indent(&s->c, s->at) <= find_indent(&s->c, from);
}

static int report_advice(struct spot *s, const struct advice *a, struct problems *ps)
{
    if (str_begins(s->parser->problem, "found character") && s->c.text[s->at] == '\t')
        a = &tab;
    if (a && a->message == no_escape)
        s->pos = text_pos_seek(&s->c, find_backslash(&s->c, s->at));
    if (a && !s->begins_line && str_begins(s->parser->problem, "did not find expected key"))
        a = &behind_value;
    problem_error_at(ps, RULE_SYNTAX, s->pos, "%s", a ? a->message : s->parser->problem);
    return a ? problem_hint(ps, "%s", a->hint) : -1;
}

static int report_spot(struct spot *s, const struct advice *a, struct problems *ps)
{
    const char *problem = s->parser->problem;
    if (is_never_closed(s, str_begins(problem, "did not find expected ','")))
        return problem_error_at(ps, RULE_SYNTAX, s->open->pos, "this '%c' is never closed",
                                s->open->kind == NODE_LIST ? '[' : '{');
    if (str_begins(problem, "mapping values are not"))
        return report_colon(s, ps);
    if (s->last->quote && s->behind_last && str_begins(problem, "did not find expected"))
        return report_quote(s, ps);
    return report_advice(s, a, ps);
}

int yaml_error_report(const yaml_parser_t *parser, struct text_pos c, const struct node *open,
                      const struct yaml_scalar *last, struct problems *ps)
{
    if (parser->error == YAML_MEMORY_ERROR || !parser->problem)
        abort();
    if (parser->error == YAML_READER_ERROR)
        return report_character(parser, c, ps);
    const struct advice *a = find_advice(parser);
    bool context = a && a->at_context;
    size_t end = find_offset(&c, last->end);
    struct spot s = {.parser = parser, .c = c, .open = open, .last = last};
    s.at = find_offset(&c, context ? parser->context_mark.index : parser->problem_mark.index);
    s.behind_last = end <= s.at && !memchr(c.text + end, '\n', s.at - end);
    s.begins_line = s.at - find_line(&c, s.at) == find_indent(&c, s.at);
    struct text_pos seek = c;
    s.pos = text_pos_seek(&seek, s.at);
    return report_spot(&s, a, ps);
}
