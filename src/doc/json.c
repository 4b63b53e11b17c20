/*
 * JSON: jansson validates the text and gives the values, but no positions. So we walk the text a
 * second time, token by token, in step with jansson's tree. The walk can trust the text, because
 * jansson has accepted it.
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
    size_t start, end; /* start == end: end of text */
};

struct scan {
    const char *text;
    size_t len, at;
};

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static size_t find_string_end(const struct scan *s, size_t at)
{
    for (at++; at < s->len && s->text[at] != '"'; at++) {
        if (s->text[at] == '\\' && at + 1 < s->len)
            at++;
    }
    return at < s->len ? at + 1 : at;
}

/* strchr() also finds the NUL. */
static bool is_word(char c)
{
    return !strchr(" \t\n\r{}[],:\"", c);
}

static struct token next_token(struct scan *s)
{
    while (s->at < s->len && is_space(s->text[s->at]))
        s->at++;
    struct token t = {s->at, s->at};
    if (t.start < s->len && s->text[t.start] == '"') {
        t.end = find_string_end(s, t.start);
    } else if (t.start < s->len) {
        do
            t.end++;
        while (is_word(s->text[t.start]) && t.end < s->len && is_word(s->text[t.end]));
    }
    s->at = t.end;
    return t;
}

static char get_first_char(const struct scan *s, struct token t)
{
    return t.start < t.end ? s->text[t.start] : '\0';
}

static bool is_opening(char c)
{
    return c == '{' || c == '[';
}

static bool is_closing(char c)
{
    return c == '}' || c == ']';
}

/* Returns the offset of the bracket that exceeds the depth limit, or len. We check this before
 * jansson, because jansson recurses. */
static size_t find_too_deep(const char *text, size_t len)
{
    struct scan s = {text, len, 0};
    size_t depth = 0;
    for (struct token t = next_token(&s); t.start < t.end; t = next_token(&s)) {
        if (is_opening(text[t.start]) && ++depth > DOC_MAX_DEPTH)
            return t.start;
        if (is_closing(text[t.start]) && depth)
            depth--;
    }
    return len;
}

/* The place where jansson stopped, as a person sees it: its token, the token before it, and the
 * innermost open bracket. */
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
        if (is_opening(text[spot.token.start]) && depth < DOC_MAX_DEPTH)
            open[++depth] = spot.token;
        if (is_closing(text[spot.token.start]) && depth)
            depth--;
        spot.before = spot.token;
        spot.token = next_token(&s);
    }
    spot.open = open[depth];
    return spot;
}

/* True if two tokens are the same string, even if they are written differently. */
static bool same_string(const char *text, struct token a, struct token b)
{
    size_t flags = JSON_DECODE_ANY | JSON_ALLOW_NUL;
    own_cleanup(own_json) json_t *x = json_loadb(text + a.start, a.end - a.start, flags, NULL);
    own_cleanup(own_json) json_t *y = json_loadb(text + b.start, b.end - b.start, flags, NULL);
    return x && y && json_equal(x, y);
}

/* Finds the first key of the object at spot->open that equals the key at spot->token. */
static struct token find_first_key(const char *text, size_t len, const struct spot *spot)
{
    struct scan s = {text, len, spot->open.end};
    size_t depth = 0;
    bool key = true;
    for (struct token t = next_token(&s); t.start < spot->token.start; t = next_token(&s)) {
        if (depth == 0 && key && same_string(text, t, spot->token))
            return t;
        if (is_opening(text[t.start]))
            depth++;
        if (is_closing(text[t.start]))
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

static int report_duplicate(struct reader *r, const struct spot *spot)
{
    struct token a = find_first_key(r->scan.text, r->scan.len, spot);
    uint32_t line = text_pos_seek(&r->cursor, a.start).line;
    problem_error_at(r->ps, RULE_SYNTAX, text_pos_seek(&r->cursor, spot->token.start),
                     "duplicate key %.*s, first on line %u",
                     (int)(spot->token.end - spot->token.start), r->scan.text + spot->token.start,
                     line);
    return problem_hint(r->ps, "rename or remove one of the two");
}

static int report_end(struct reader *r, const struct spot *spot)
{
    if (spot->before.end == 0)
        return problem_error_at(r->ps, RULE_SYNTAX, r->cursor.pos, "the JSON text is empty");
    char c = get_first_char(&r->scan, spot->open);
    return problem_error_at(r->ps, RULE_SYNTAX, text_pos_seek(&r->cursor, spot->open.start),
                            "this '%c' is never closed", c ? c : '{');
}

/* Reports an error inside a string; jansson stopped at `offset`. */
static int report_string(struct reader *r, const struct spot *spot, size_t offset,
                         const char *message)
{
    const char *text = r->scan.text;
    size_t at = offset < r->scan.len ? offset : r->scan.len - 1;
    if (strncmp(message, "control character", 17) == 0)
        return problem_error_at(r->ps, RULE_SYNTAX, text_pos_seek(&r->cursor, at),
                                "a control character in a string must be escaped");
    if (strncmp(message, "invalid escape", 14) == 0) {
        for (at = offset - 1; at > spot->token.start && text[at] != '\\';)
            at--;
        return problem_error_at(r->ps, RULE_SYNTAX, text_pos_seek(&r->cursor, at),
                                "not a JSON escape: write a backslash as two");
    }
    bool whole = strncmp(message, "invalid", 7) == 0;
    return problem_error_at(r->ps, RULE_SYNTAX, text_pos_seek(&r->cursor, spot->token.start), "%s",
                            whole ? message : "this string is not closed");
}

/* Explains the usual mistakes; otherwise repeats jansson's message. */
static int report_token(struct reader *r, const struct spot *spot, const char *message)
{
    char c = get_first_char(&r->scan, spot->token), before = get_first_char(&r->scan, spot->before);
    if (before == ',' && is_closing(c)) {
        problem_error_at(r->ps, RULE_SYNTAX, text_pos_seek(&r->cursor, spot->before.start),
                         "a comma before '%c'", c);
        return problem_hint(r->ps, "JSON has no comma after the last item: remove it");
    }
    struct pos pos = text_pos_seek(&r->cursor, spot->token.start);
    if (c == '/' || c == '#') {
        problem_error_at(r->ps, RULE_SYNTAX, pos, "JSON has no comments");
        return problem_hint(r->ps, "remove the comment, or write the plan in YAML or TOML");
    }
    problem_error_at(r->ps, RULE_SYNTAX, pos, "%s", message);
    if (c == '\'')
        return problem_hint(r->ps, "write strings in double quotes");
    if (strncmp(message, "'}' expected", 12) == 0 || strncmp(message, "']' expected", 12) == 0)
        return problem_hint(r->ps, "is a comma missing before it?");
    if (strncmp(message, "string or", 9) == 0)
        return problem_hint(r->ps, "write keys in double quotes");
    return -1;
}

static int report_error(struct reader *r, const json_error_t *error)
{
    /* jansson stops at the end of the last token, or after the white space behind it. */
    bool end = strstr(error->text, "near end of file");
    size_t offset = end ? r->scan.len + 1 : error->position > 0 ? (size_t)error->position : 0;
    struct spot spot = find_spot(r->scan.text, r->scan.len, offset);
    if (json_error_code(error) == json_error_duplicate_key)
        return report_duplicate(r, &spot);
    if (spot.token.start == spot.token.end)
        return report_end(r, &spot);
    bool string = get_first_char(&r->scan, spot.token) == '"';
    if (string && (offset < spot.token.end || spot.token.end == r->scan.len ||
                   strncmp(error->text, "invalid Unicode", 15) == 0))
        return report_string(r, &spot, offset, error->text);
    return report_token(r, &spot, error->text);
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

/* An open list or map: jansson's value and our position in it. */
struct frame {
    json_t *value;
    void *iter; /* position in a map */
    size_t n;   /* position in a list */
    struct node *node;
};

static json_t *next_member(struct reader *r, struct frame *f, struct token key, struct node **ret)
{
    json_t *value = json_object_iter_value(f->iter);
    const char *name = json_object_iter_key(f->iter);
    struct pos pos = text_pos_seek(&r->cursor, key.start);
    (void)next_token(&r->scan); /* skip the colon */
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

static void build_tree(struct reader *r, json_t *value)
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
        if (is_closing(get_first_char(&r->scan, t)))
            depth--;
        else if (get_first_char(&r->scan, t) != ',')
            value = top->node->kind == NODE_MAP ? next_member(r, top, t, &node)
                                                : next_item(r, top, t, &node);
    }
}

int doc_read_json(struct doc *doc, const char *text, size_t len, struct pos start,
                  struct problems *ps)
{
    struct reader r = {doc, {text, len, 0}, {text, len, 0, start}, ps};
    doc->syntax = DOC_JSON;
    size_t deep = find_too_deep(text, len);
    if (deep < len)
        return doc_too_deep(ps, text_pos_seek(&r.cursor, deep));
    json_error_t error;
    size_t flags = JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL;
    own_cleanup(own_json) json_t *value = json_loadb(text, len, flags, &error);
    if (!value)
        return report_error(&r, &error);
    build_tree(&r, value);
    return 0;
}
