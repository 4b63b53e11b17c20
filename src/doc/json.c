/*
 * JSON: jansson decides what is valid and gives the values; it does not keep positions. So the text
 * is walked a second time, token by token, in lock step with jansson's tree. The walk may trust the
 * text, because jansson has read it already.
 */
#include "base/node/text_pos.h"
#include "doc/tree/reader.h"

#include <jansson.h>
#include <string.h>

static void own_json(json_t **value)
{
    json_decref(*value);
}

struct token {
    size_t start, end; /* start == end: the text has ended */
};

struct scan {
    const char *text;
    size_t len, at;
};

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static size_t string_end(const struct scan *s, size_t at)
{
    for (at++; at < s->len && s->text[at] != '"'; at++) {
        if (s->text[at] == '\\' && at + 1 < s->len)
            at++;
    }
    return at < s->len ? at + 1 : at;
}

static bool is_word(char c)
{
    switch (c) {
    case '\0':
    case ' ':
    case '\t':
    case '\n':
    case '\r':
    case '{':
    case '}':
    case '[':
    case ']':
    case ',':
    case ':':
    case '"':
        return false;
    default:
        return true;
    }
}

static struct token next_token(struct scan *s)
{
    while (s->at < s->len && is_space(s->text[s->at]))
        s->at++;
    struct token t = {s->at, s->at};
    if (t.start < s->len && s->text[t.start] == '"') {
        t.end = string_end(s, t.start);
    } else if (t.start < s->len) {
        do
            t.end++;
        while (is_word(s->text[t.start]) && t.end < s->len && is_word(s->text[t.end]));
    }
    s->at = t.end;
    return t;
}

static char first(const struct scan *s, struct token t)
{
    return t.start < t.end ? s->text[t.start] : '\0';
}

static bool opens(char c)
{
    return c == '{' || c == '[';
}

static bool closes(char c)
{
    return c == '}' || c == ']';
}

/* Offset of the bracket that opens one level too many, or len. jansson recurses, so this comes
 * before it. */
static size_t too_deep(const char *text, size_t len)
{
    struct scan s = {text, len, 0};
    size_t depth = 0;
    for (struct token t = next_token(&s); t.start < t.end; t = next_token(&s)) {
        if (opens(text[t.start]) && ++depth > DOC_MAX_DEPTH)
            return t.start;
        if (closes(text[t.start]) && depth)
            depth--;
    }
    return len;
}

/* Where jansson stopped, seen by a person: the token it stopped at, the one before, and the
 * innermost bracket that was open. */
struct spot {
    struct token token, before, open;
};

static struct spot find_spot(const char *text, size_t len, size_t offset)
{
    struct scan s = {text, len, 0};
    struct token open[DOC_MAX_DEPTH + 1] = {{0}};
    struct spot spot = {.token = next_token(&s)};
    size_t depth = 0;
    while (spot.token.start < spot.token.end && spot.token.end < offset) {
        if (opens(text[spot.token.start]) && depth < DOC_MAX_DEPTH)
            open[++depth] = spot.token;
        if (closes(text[spot.token.start]) && depth)
            depth--;
        spot.before = spot.token;
        spot.token = next_token(&s);
    }
    spot.open = open[depth];
    return spot;
}

/* Whether two tokens are the same string, however it is written. */
static bool same_string(const char *text, struct token a, struct token b)
{
    size_t flags = JSON_DECODE_ANY | JSON_ALLOW_NUL;
    own_cleanup(own_json) json_t *x = json_loadb(text + a.start, a.end - a.start, flags, NULL);
    own_cleanup(own_json) json_t *y = json_loadb(text + b.start, b.end - b.start, flags, NULL);
    return x && y && json_equal(x, y);
}

/* The first member of the object at spot->open with the key at spot->token. */
static struct token first_of(const char *text, size_t len, const struct spot *spot)
{
    struct scan s = {text, len, spot->open.end};
    size_t depth = 0;
    bool key = true;
    for (struct token t = next_token(&s); t.start < spot->token.start; t = next_token(&s)) {
        if (depth == 0 && key && same_string(text, t, spot->token))
            return t;
        if (opens(text[t.start]))
            depth++;
        if (closes(text[t.start]))
            depth--;
        key = text[t.start] == ',';
    }
    return spot->token;
}

struct reader {
    struct doc *doc;
    struct scan scan;
    struct text_pos cursor;
    struct problems *ps;
};

static int duplicate(struct reader *r, const struct spot *spot)
{
    struct token a = first_of(r->scan.text, r->scan.len, spot);
    uint32_t line = text_pos_seek(&r->cursor, a.start).line;
    problem_error_at(r->ps, RULE_SYNTAX, text_pos_seek(&r->cursor, spot->token.start),
                     "the key %.*s is there twice, first in line %u",
                     (int)(spot->token.end - spot->token.start), r->scan.text + spot->token.start,
                     line);
    return problem_hint(r->ps, "rename or remove one of the two");
}

static int at_end(struct reader *r, const struct spot *spot)
{
    if (spot->before.end == 0)
        return problem_error_at(r->ps, RULE_SYNTAX, r->cursor.pos, "the JSON text is empty");
    char c = first(&r->scan, spot->open);
    return problem_error_at(r->ps, RULE_SYNTAX, text_pos_seek(&r->cursor, spot->open.start),
                            "this '%c' is never closed", c ? c : '{');
}

/* Mistakes inside a string: jansson stopped at `offset`. */
static int in_string(struct reader *r, const struct spot *spot, size_t offset, const char *message)
{
    const char *text = r->scan.text;
    size_t at = offset < r->scan.len ? offset : r->scan.len - 1;
    if (strncmp(message, "control character", 17) == 0)
        return problem_error_at(r->ps, RULE_SYNTAX, text_pos_seek(&r->cursor, at),
                                "a control character in a string has to be written as an escape");
    if (strncmp(message, "invalid escape", 14) == 0) {
        for (at = offset - 1; at > spot->token.start && text[at] != '\\';)
            at--;
        return problem_error_at(r->ps, RULE_SYNTAX, text_pos_seek(&r->cursor, at),
                                "no escape of JSON: a backslash itself is written as two");
    }
    bool whole = strncmp(message, "invalid", 7) == 0;
    return problem_error_at(r->ps, RULE_SYNTAX, text_pos_seek(&r->cursor, spot->token.start), "%s",
                            whole ? message : "this string is not closed");
}

/* Adds what helps with the mistakes that people make; else what jansson says. */
static int at_token(struct reader *r, const struct spot *spot, const char *message)
{
    char c = first(&r->scan, spot->token), before = first(&r->scan, spot->before);
    if (before == ',' && closes(c)) {
        problem_error_at(r->ps, RULE_SYNTAX, text_pos_seek(&r->cursor, spot->before.start),
                         "a comma in front of '%c'", c);
        return problem_hint(r->ps, "JSON has no comma after the last item: take it out");
    }
    struct pos pos = text_pos_seek(&r->cursor, spot->token.start);
    if (c == '/' || c == '#') {
        problem_error_at(r->ps, RULE_SYNTAX, pos, "JSON has no comments");
        return problem_hint(r->ps, "take the comment out, or write the plan in YAML or TOML");
    }
    problem_error_at(r->ps, RULE_SYNTAX, pos, "%s", message);
    if (c == '\'')
        return problem_hint(r->ps, "strings are written in double quotes");
    if (strncmp(message, "'}' expected", 12) == 0 || strncmp(message, "']' expected", 12) == 0)
        return problem_hint(r->ps, "is there a comma missing in front of it?");
    if (strncmp(message, "string or", 9) == 0)
        return problem_hint(r->ps, "keys are written in double quotes");
    return -1;
}

static int refuse(struct reader *r, const json_error_t *error)
{
    /* jansson may stop at the end of the last token, or behind the white space that follows it. */
    bool end = strstr(error->text, "near end of file");
    size_t offset = end ? r->scan.len + 1 : error->position > 0 ? (size_t)error->position : 0;
    struct spot spot = find_spot(r->scan.text, r->scan.len, offset);
    if (json_error_code(error) == json_error_duplicate_key)
        return duplicate(r, &spot);
    if (spot.token.start == spot.token.end)
        return at_end(r, &spot);
    bool string = first(&r->scan, spot.token) == '"';
    if (string && (offset < spot.token.end || spot.token.end == r->scan.len ||
                   strncmp(error->text, "invalid Unicode", 15) == 0))
        return in_string(r, &spot, offset, error->text);
    return at_token(r, &spot, error->text);
}

static struct node *make_scalar(struct reader *r, json_t *value, struct token t)
{
    static const enum node_kind kinds[] = {
        [JSON_STRING] = NODE_STRING, [JSON_INTEGER] = NODE_INT, [JSON_REAL] = NODE_REAL,
        [JSON_TRUE] = NODE_BOOL,     [JSON_FALSE] = NODE_BOOL,  [JSON_NULL] = NODE_NULL,
    };
    struct pos pos = text_pos_seek(&r->cursor, t.start);
    if (json_is_string(value))
        return node_string(&r->doc->arena, json_string_value(value), json_string_length(value),
                           pos);
    struct node *n = node_string(&r->doc->arena, r->scan.text + t.start, t.end - t.start, pos);
    n->kind = kinds[json_typeof(value)];
    if (json_is_integer(value))
        n->integer = json_integer_value(value);
    else if (json_is_real(value))
        n->real = json_real_value(value);
    else
        n->truth = json_is_true(value);
    return n;
}

static struct node *make_node(struct reader *r, json_t *value, struct token t)
{
    if (!json_is_object(value) && !json_is_array(value))
        return make_scalar(r, value, t);
    return node_new(&r->doc->arena, json_is_object(value) ? NODE_MAP : NODE_LIST,
                    text_pos_seek(&r->cursor, t.start));
}

/* A list or map that is open: what jansson holds of it, and how far we are. */
struct frame {
    json_t *value;
    void *iter; /* of a map */
    size_t n;   /* of a list */
    struct node *node;
};

static json_t *next_member(struct reader *r, struct frame *f, struct token key, struct node **ret)
{
    json_t *value = json_object_iter_value(f->iter);
    const char *name = json_object_iter_key(f->iter);
    struct pos pos = text_pos_seek(&r->cursor, key.start);
    (void)next_token(&r->scan); /* the colon */
    *ret = make_node(r, value, next_token(&r->scan));
    node_put(&r->doc->arena, f->node, name, strlen(name), pos, *ret);
    f->iter = json_object_iter_next(f->value, f->iter);
    return value;
}

static json_t *next_item(struct reader *r, struct frame *f, struct token t, struct node **ret)
{
    json_t *value = json_array_get(f->value, f->n++);
    *ret = make_node(r, value, t);
    node_append(f->node, *ret);
    return value;
}

static void build(struct reader *r, json_t *value)
{
    struct frame stack[DOC_MAX_DEPTH + 1];
    size_t depth = 0;
    struct node *node = r->doc->root = make_node(r, value, next_token(&r->scan));
    for (;;) {
        if (node && node->kind >= NODE_LIST)
            stack[depth++] = (struct frame){value, json_object_iter(value), 0, node};
        if (!depth)
            return;
        node = NULL;
        struct token t = next_token(&r->scan);
        struct frame *top = &stack[depth - 1];
        if (closes(first(&r->scan, t)))
            depth--;
        else if (first(&r->scan, t) != ',')
            value = top->node->kind == NODE_MAP ? next_member(r, top, t, &node)
                                                : next_item(r, top, t, &node);
    }
}

int doc_read_json(struct doc *doc, const char *text, size_t len, struct pos start,
                  struct problems *ps)
{
    struct reader r = {doc, {text, len, 0}, {text, len, 0, start}, ps};
    doc->syntax = DOC_JSON;
    size_t deep = too_deep(text, len);
    if (deep < len)
        return doc_too_deep(ps, text_pos_seek(&r.cursor, deep));
    json_error_t error;
    size_t flags = JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL;
    own_cleanup(own_json) json_t *value = json_loadb(text, len, flags, &error);
    if (!value)
        return refuse(&r, &error);
    build(&r, value);
    return 0;
}
