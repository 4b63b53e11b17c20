#include "agent/output/json_lines.h"

#include "base/mem.h"
#include "base/text/text.h"

#include <string.h>

enum state {
    BEGIN,          /* of a line */
    KEY_OR_END,     /* behind '{' */
    KEY,            /* behind ',' in an object */
    IN_KEY,         /* */
    COLON,          /* */
    VALUE,          /* */
    VALUE_OR_END,   /* behind '[' */
    IN_STRING,      /* that is wanted */
    IN_WORD,        /* a number, true, false or null */
    AFTER,          /* a value */
    PASSING,        /* inside of an object or list that nobody wants */
    PASSING_STRING, /* in there */
    UNWANTED,       /* string */
    COMPLETE,       /* behind the object that is the line */
    JUNK,           /* until the line ends */
};

#define ELEMENT '['
#define ANY     '*'

enum { NOBODY = -1, ROOT = 0, KEY_MAX = 64, WORD_MAX = 64, ESCAPE_U = 4 };

/* A part of a path: children are a list. */
struct json_node {
    const char *key; /* begins with ELEMENT for those of a list */
    size_t len;
    int id;          /* or -1 */
    int child, next; /* or -1 */
    int any;         /* the child for all that no other is for, or -1 */
};

static int find_child(const struct json_lines *j, int node, const char *key, size_t len)
{
    if (node == NOBODY)
        return NOBODY;
    for (int c = j->nodes[node].child; c != NOBODY; c = j->nodes[c].next) {
        const struct json_node *n = &j->nodes[c];
        if (n->len == len && *n->key == *key && memcmp(n->key, key, len) == 0)
            return c;
    }
    return NOBODY;
}

static int find_member(const struct json_lines *j, int node, const char *key, size_t len)
{
    int found = *key == ELEMENT ? NOBODY : find_child(j, node, key, len);
    return found == NOBODY ? j->nodes[node].any : found;
}

static int find_element(const struct json_lines *j, int node)
{
    return find_child(j, node, (const char[]){ELEMENT}, 1);
}

static int add_child(struct json_lines *j, int *count, int node, const char *key, size_t len)
{
    int found = find_child(j, node, key, len);
    if (found != NOBODY)
        return found;
    j->nodes[*count] = (struct json_node){key, len, -1, NOBODY, j->nodes[node].child, NOBODY};
    j->nodes[node].child = *count;
    if (len == 1 && *key == ANY)
        j->nodes[node].any = *count;
    return (*count)++;
}

/* How many parts there are at most: every '.' and '[' begins one. */
static size_t count_parts(const char *path)
{
    size_t n = 1;
    for (; *path; path++)
        n += *path == '.' || *path == '[';
    return n;
}

static void add_path(struct json_lines *j, int *count, const struct json_field *field)
{
    int node = ROOT;
    for (const char *p = field->path; *p;) {
        size_t len = *p == ELEMENT ? 1 : strcspn(p, ".[");
        node = add_child(j, count, node, p, len);
        p += *p == ELEMENT ? strlen("[]") : len;
        p += *p == '.';
    }
    j->nodes[node].id = field->id;
}

void json_lines_init(struct json_lines *j, const struct json_field *fields, size_t n, json_fn *fn,
                     void *ctx)
{
    size_t parts = 1;
    int count = 1;
    for (size_t i = 0; i < n; i++)
        parts += count_parts(fields[i].path);
    *j = (struct json_lines){.fn = fn, .ctx = ctx, .text = BUF_INIT, .node = ROOT};
    j->nodes = mem_array(parts, sizeof(*j->nodes));
    j->nodes[ROOT] = (struct json_node){"", 0, -1, NOBODY, NOBODY, NOBODY};
    for (size_t i = 0; i < n; i++)
        add_path(j, &count, &fields[i]);
}

void json_lines_done(struct json_lines *j)
{
    free(j->nodes);
    buf_done(&j->text);
}

static void give(const struct json_lines *j, int node, enum json_kind kind)
{
    if (node != NOBODY && j->nodes[node].id >= 0)
        j->fn(j->ctx, j->nodes[node].id, kind, j->text.s, j->text.len);
}

static bool has_children(const struct json_lines *j, int node)
{
    return node != NOBODY && j->nodes[node].child != NOBODY;
}

static bool in_list(const struct json_lines *j)
{
    return j->open[j->depth - 1].list;
}

static int junk(struct json_lines *j)
{
    j->fn(j->ctx, -1, JSON_JUNK, "", 0);
    return JUNK;
}

/* An object or list begins: those in which nothing is wanted are passed over. */
static int open_value(struct json_lines *j, bool list)
{
    buf_cut(&j->text, 0);
    give(j, j->node, JSON_OPEN);
    if (!has_children(j, j->node) || j->depth == JSON_DEPTH_MAX) {
        j->passed = 1;
        return PASSING;
    }
    j->open[j->depth].node = j->node;
    j->open[j->depth].list = list;
    j->depth++;
    if (list)
        j->node = find_element(j, j->node);
    return list ? VALUE_OR_END : KEY_OR_END;
}

static int close_value(struct json_lines *j, bool list)
{
    if (in_list(j) != list)
        return junk(j);
    j->depth--;
    buf_cut(&j->text, 0);
    give(j, j->open[j->depth].node, JSON_CLOSE);
    return j->depth ? AFTER : COMPLETE;
}

/* One that was passed over is closed; what it was is still in j->node. */
static int close_passed(struct json_lines *j)
{
    if (--j->passed)
        return PASSING;
    buf_cut(&j->text, 0);
    give(j, j->node, JSON_CLOSE);
    return j->depth ? AFTER : COMPLETE;
}

static bool is_number(const struct buf *text)
{
    const char *p = text->s + (*text->s == '-');
    return *p >= '0' && *p <= '9' && strspn(p, "0123456789+-.eE") == strlen(p);
}

static int end_word(struct json_lines *j)
{
    static const char *const words[] = {
        [JSON_NULL] = "null", [JSON_FALSE] = "false", [JSON_TRUE] = "true"};
    for (int kind = JSON_NULL; kind <= JSON_TRUE; kind++) {
        if (strcmp(j->text.s, words[kind]) == 0) {
            give(j, j->node, (enum json_kind)kind);
            return AFTER;
        }
    }
    if (j->text.len >= WORD_MAX || !is_number(&j->text))
        return junk(j);
    give(j, j->node, JSON_NUMBER);
    return AFTER;
}

static void add(struct json_lines *j, const char *bytes, size_t n)
{
    size_t max = j->state == IN_KEY ? KEY_MAX : JSON_TEXT_MAX;
    size_t room = j->text.len < max ? max - j->text.len : 0;
    buf_add(&j->text, bytes, n < room ? n : room);
}

static void add_character(struct json_lines *j, uint32_t c)
{
    autobuf struct buf bytes = BUF_INIT;
    text_encode(&bytes, c);
    add(j, bytes.s, bytes.len);
}

enum { REPLACEMENT = 0xFFFD, HIGH = 0xD800, LOW = 0xDC00, NO_MORE = 0xE000 };

/* A unit of UTF-16: half a pair is kept until the other half comes, or something else does. */
static void add_unit(struct json_lines *j, unsigned unit)
{
    bool is_low = unit >= LOW && unit < NO_MORE;
    unsigned high = j->surrogate;
    j->surrogate = 0;
    if (high && is_low) {
        add_character(j, 0x10000 + ((high - HIGH) << 10) + (unit - LOW));
        return;
    }
    if (high || is_low)
        add_character(j, REPLACEMENT);
    if (unit >= HIGH && unit < LOW)
        j->surrogate = unit;
    else if (!is_low)
        add_character(j, unit);
}

static void lone(struct json_lines *j)
{
    if (j->surrogate)
        add_character(j, REPLACEMENT);
    j->surrogate = 0;
}

/* The character behind a backslash. */
static bool begin_escape(struct json_lines *j, char c)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *at = c ? strchr(from, c) : NULL;
    j->escape = 0;
    if (c == 'u') {
        j->escape = ESCAPE_U;
        j->unit = 0;
        return true;
    }
    lone(j);
    if (at)
        add(j, to + (at - from), 1);
    return at;
}

static bool escape_digit(struct json_lines *j, char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c) : NULL;
    if (!at)
        return false;
    j->unit = j->unit << 4 | (unsigned)(at - digits);
    if (--j->escape == 0)
        add_unit(j, j->unit);
    return true;
}

enum { ESCAPED = ESCAPE_U + 1 }; /* j->escape directly behind a backslash */

/* Takes as much of a string as there is; *p is then behind it. */
static int take_string(struct json_lines *j, const char **p, const char *end)
{
    while (*p < end) {
        if (j->escape) {
            char c = *(*p)++;
            if (!(j->escape == ESCAPED ? begin_escape(j, c) : escape_digit(j, c)))
                return junk(j);
            continue;
        }
        const char *from = *p;
        while (*p < end && **p != '"' && **p != '\\')
            (*p)++;
        if (*p > from) {
            lone(j);
            add(j, from, (size_t)(*p - from));
        }
        if (*p == end)
            break;
        if (*(*p)++ == '\\') {
            j->escape = ESCAPED;
            continue;
        }
        lone(j);
        if (j->state == IN_KEY)
            return COLON;
        give(j, j->node, JSON_STRING);
        return AFTER;
    }
    return j->state;
}

/* The same for one that nobody wants. */
static int pass_string(struct json_lines *j, const char **p, const char *end)
{
    while (*p < end) {
        if (j->escape) {
            (*p)++;
            j->escape = 0;
            continue;
        }
        while (*p < end && **p != '"' && **p != '\\')
            (*p)++;
        if (*p == end)
            break;
        if (*(*p)++ == '"')
            return j->state == UNWANTED ? AFTER : PASSING;
        j->escape = 1;
    }
    return j->state;
}

static int pass(struct json_lines *j, const char **p, const char *end)
{
    for (int next; *p < end;) {
        switch (*(*p)++) {
        case '"':
            return PASSING_STRING;
        case '{':
        case '[':
            j->passed++;
            break;
        case '}':
        case ']':
            if ((next = close_passed(j)) != PASSING)
                return next;
            break;
        default:
            break;
        }
    }
    return PASSING;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static int begin_string(struct json_lines *j)
{
    buf_cut(&j->text, 0);
    j->escape = 0;
    j->surrogate = 0;
    return j->node != NOBODY && j->nodes[j->node].id >= 0 ? IN_STRING : UNWANTED;
}

static int begin_value(struct json_lines *j, char c)
{
    if (c == '"')
        return begin_string(j);
    if (c == '{' || c == '[')
        return open_value(j, c == '[');
    if (c == ']' && j->state == VALUE_OR_END)
        return close_value(j, true);
    buf_cut(&j->text, 0);
    buf_addch(&j->text, c);
    return strchr("-0123456789tfn", c) && c ? IN_WORD : junk(j);
}

static int begin_key(struct json_lines *j, char c)
{
    if (c == '}' && j->state == KEY_OR_END)
        return close_value(j, false);
    if (c != '"')
        return junk(j);
    (void)begin_string(j);
    return IN_KEY;
}

static int go_on(struct json_lines *j, char c)
{
    if (c == '}' || c == ']')
        return close_value(j, c == ']');
    if (c != ',')
        return junk(j);
    if (in_list(j))
        j->node = find_element(j, j->open[j->depth - 1].node);
    return in_list(j) ? VALUE : KEY;
}

static int find_value(struct json_lines *j, char c)
{
    if (c != ':')
        return junk(j);
    j->node = find_member(j, j->open[j->depth - 1].node, j->text.s, j->text.len);
    return VALUE;
}

/* One character that is not inside of a string. */
static int take_character(struct json_lines *j, char c)
{
    switch (j->state) {
    case BEGIN:
        j->node = ROOT;
        return c == '{' ? open_value(j, false) : JUNK;
    case KEY_OR_END:
    case KEY:
        return begin_key(j, c);
    case COLON:
        return find_value(j, c);
    case VALUE:
    case VALUE_OR_END:
        return begin_value(j, c);
    case AFTER:
        return go_on(j, c);
    default: /* COMPLETE */
        return junk(j);
    }
}

/* A word ends where something else begins, which is then to be looked at. */
static int take_word(struct json_lines *j, const char **p)
{
    char c = **p;
    if (is_blank(c) || c == ',' || c == '}' || c == ']')
        return end_word(j);
    if (j->text.len < WORD_MAX)
        buf_addch(&j->text, c);
    (*p)++;
    return IN_WORD;
}

static void take(struct json_lines *j, const char *p, const char *end)
{
    while (p < end && j->state != JUNK) {
        if (j->state == IN_STRING || j->state == IN_KEY)
            j->state = take_string(j, &p, end);
        else if (j->state == UNWANTED || j->state == PASSING_STRING)
            j->state = pass_string(j, &p, end);
        else if (j->state == PASSING)
            j->state = pass(j, &p, end);
        else if (j->state == IN_WORD)
            j->state = take_word(j, &p);
        else if (is_blank(*p))
            p++;
        else
            j->state = take_character(j, *p++);
    }
}

static void end_line(struct json_lines *j)
{
    if (j->state == COMPLETE)
        j->fn(j->ctx, -1, JSON_LINE, "", 0);
    else if (j->state != BEGIN && j->state != JUNK)
        (void)junk(j);
    j->state = BEGIN;
    j->depth = 0;
    j->passed = 0;
    j->escape = 0;
}

void json_lines_feed(struct json_lines *j, const char *bytes, size_t n)
{
    for (const char *end = bytes + n, *lf; bytes < end; bytes = lf + 1) {
        lf = memchr(bytes, '\n', (size_t)(end - bytes));
        take(j, bytes, lf ? lf : end);
        if (!lf)
            return;
        end_line(j);
    }
}

void json_lines_end(struct json_lines *j)
{
    end_line(j);
}
