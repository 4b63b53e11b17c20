#include "agent/output/json_lines.h"

#include "base/mem.h"
#include "base/text/text.h"

#include <string.h>

enum state {
    BEGIN,      /* at the beginning of a line */
    KEY_OR_END, /* after '{' */
    KEY,        /* after ',' in an object */
    IN_KEY,
    COLON,
    VALUE,
    VALUE_OR_END,    /* after '[' */
    IN_STRING,       /* in a wanted string */
    IN_WORD,         /* a number, true, false or null */
    AFTER,           /* after a value */
    SKIPPING,        /* inside an object or list that we skip */
    SKIPPING_STRING, /* in a string inside it */
    UNWANTED_STRING, /* in a string that we skip */
    COMPLETE,        /* after the object that is the line */
    JUNK,            /* until the line ends */
};

#define ELEMENT '['
#define ANY     '*'

enum { NO_NODE = -1, ROOT = 0, KEY_MAX = 64, WORD_MAX = 64, ESCAPE_U = 4 };

/* A part of a path; the children are a linked list. */
struct json_node {
    const char *key; /* begins with ELEMENT for the elements of a list */
    size_t len;
    int id;          /* or -1 */
    int child, next; /* or -1 */
    int any;         /* the child for all other keys, or -1 */
};

static int find_child(const struct json_lines *j, int node, const char *key, size_t len)
{
    if (node == NO_NODE)
        return NO_NODE;
    for (int c = j->nodes[node].child; c != NO_NODE; c = j->nodes[c].next) {
        const struct json_node *n = &j->nodes[c];
        if (n->len == len && *n->key == *key && memcmp(n->key, key, len) == 0)
            return c;
    }
    return NO_NODE;
}

static int find_member(const struct json_lines *j, int node, const char *key, size_t len)
{
    int found = *key == ELEMENT ? NO_NODE : find_child(j, node, key, len);
    return found == NO_NODE ? j->nodes[node].any : found;
}

static int find_element(const struct json_lines *j, int node)
{
    return find_child(j, node, (const char[]){ELEMENT}, 1);
}

static int add_child(struct json_lines *j, int *count, int node, const char *key, size_t len)
{
    int found = find_child(j, node, key, len);
    if (found != NO_NODE)
        return found;
    j->nodes[*count] = (struct json_node){key, len, -1, NO_NODE, j->nodes[node].child, NO_NODE};
    j->nodes[node].child = *count;
    if (len == 1 && *key == ANY)
        j->nodes[node].any = *count;
    return (*count)++;
}

/* The maximum number of parts: every '.' and '[' begins one. */
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
    j->nodes[ROOT] = (struct json_node){"", 0, -1, NO_NODE, NO_NODE, NO_NODE};
    for (size_t i = 0; i < n; i++)
        add_path(j, &count, &fields[i]);
}

void json_lines_done(struct json_lines *j)
{
    free(j->nodes);
    buf_done(&j->text);
}

static void report_value(const struct json_lines *j, int node, enum json_kind kind)
{
    if (node != NO_NODE && j->nodes[node].id >= 0)
        j->fn(j->ctx, j->nodes[node].id, kind, j->text.s, j->text.len);
}

static bool has_children(const struct json_lines *j, int node)
{
    return node != NO_NODE && j->nodes[node].child != NO_NODE;
}

static bool in_list(const struct json_lines *j)
{
    return j->open[j->depth - 1].list;
}

static int reject_line(struct json_lines *j)
{
    j->fn(j->ctx, -1, JSON_JUNK, "", 0);
    return JUNK;
}

/* Begins an object or list; skips it if we want nothing in it. */
static int open_value(struct json_lines *j, bool list)
{
    buf_cut(&j->text, 0);
    report_value(j, j->node, JSON_OPEN);
    if (!has_children(j, j->node) || j->depth == JSON_DEPTH_MAX) {
        j->skipped = 1;
        return SKIPPING;
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
        return reject_line(j);
    j->depth--;
    buf_cut(&j->text, 0);
    report_value(j, j->open[j->depth].node, JSON_CLOSE);
    return j->depth ? AFTER : COMPLETE;
}

/* Closes a skipped object or list; j->node is still its node. */
static int close_skipped(struct json_lines *j)
{
    if (--j->skipped)
        return SKIPPING;
    buf_cut(&j->text, 0);
    report_value(j, j->node, JSON_CLOSE);
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
            report_value(j, j->node, (enum json_kind)kind);
            return AFTER;
        }
    }
    if (j->text.len >= WORD_MAX || !is_number(&j->text))
        return reject_line(j);
    report_value(j, j->node, JSON_NUMBER);
    return AFTER;
}

static void add_bytes(struct json_lines *j, const char *bytes, size_t n)
{
    size_t max = j->state == IN_KEY ? KEY_MAX : JSON_TEXT_MAX;
    size_t room = j->text.len < max ? max - j->text.len : 0;
    buf_add(&j->text, bytes, n < room ? n : room);
}

static void add_character(struct json_lines *j, uint32_t c)
{
    autobuf struct buf bytes = BUF_INIT;
    text_encode(&bytes, c);
    add_bytes(j, bytes.s, bytes.len);
}

enum { REPLACEMENT = 0xFFFD, HIGH = 0xD800, LOW = 0xDC00, NO_MORE = 0xE000 };

/* Adds a UTF-16 unit. Keeps the first half of a surrogate pair until the next unit. */
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

static void end_surrogate(struct json_lines *j)
{
    if (j->surrogate)
        add_character(j, REPLACEMENT);
    j->surrogate = 0;
}

/* Reads the character after a backslash. */
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
    end_surrogate(j);
    if (at)
        add_bytes(j, to + (at - from), 1);
    return at;
}

static bool add_escape_digit(struct json_lines *j, char c)
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

enum { ESCAPED = ESCAPE_U + 1 }; /* j->escape directly after a backslash */

/* Reads as much of a string as there is and moves *p behind it. */
static int read_string(struct json_lines *j, const char **p, const char *end)
{
    while (*p < end) {
        if (j->escape) {
            char c = *(*p)++;
            if (!(j->escape == ESCAPED ? begin_escape(j, c) : add_escape_digit(j, c)))
                return reject_line(j);
            continue;
        }
        const char *from = *p;
        while (*p < end && **p != '"' && **p != '\\')
            (*p)++;
        if (*p > from) {
            end_surrogate(j);
            add_bytes(j, from, (size_t)(*p - from));
        }
        if (*p == end)
            break;
        if (*(*p)++ == '\\') {
            j->escape = ESCAPED;
            continue;
        }
        end_surrogate(j);
        if (j->state == IN_KEY)
            return COLON;
        report_value(j, j->node, JSON_STRING);
        return AFTER;
    }
    return j->state;
}

/* The same for a string that we skip. */
static int skip_string(struct json_lines *j, const char **p, const char *end)
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
            return j->state == UNWANTED_STRING ? AFTER : SKIPPING;
        j->escape = 1;
    }
    return j->state;
}

static int skip_value(struct json_lines *j, const char **p, const char *end)
{
    for (int next; *p < end;) {
        switch (*(*p)++) {
        case '"':
            return SKIPPING_STRING;
        case '{':
        case '[':
            j->skipped++;
            break;
        case '}':
        case ']':
            if ((next = close_skipped(j)) != SKIPPING)
                return next;
            break;
        default:
            break;
        }
    }
    return SKIPPING;
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
    return j->node != NO_NODE && j->nodes[j->node].id >= 0 ? IN_STRING : UNWANTED_STRING;
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
    return strchr("-0123456789tfn", c) && c ? IN_WORD : reject_line(j);
}

static int begin_key(struct json_lines *j, char c)
{
    if (c == '}' && j->state == KEY_OR_END)
        return close_value(j, false);
    if (c != '"')
        return reject_line(j);
    (void)begin_string(j);
    return IN_KEY;
}

static int read_separator(struct json_lines *j, char c)
{
    if (c == '}' || c == ']')
        return close_value(j, c == ']');
    if (c != ',')
        return reject_line(j);
    if (in_list(j))
        j->node = find_element(j, j->open[j->depth - 1].node);
    return in_list(j) ? VALUE : KEY;
}

static int read_colon(struct json_lines *j, char c)
{
    if (c != ':')
        return reject_line(j);
    j->node = find_member(j, j->open[j->depth - 1].node, j->text.s, j->text.len);
    return VALUE;
}

/* Reads a character outside of a string. */
static int read_character(struct json_lines *j, char c)
{
    switch (j->state) {
    case BEGIN:
        j->node = ROOT;
        return c == '{' ? open_value(j, false) : JUNK;
    case KEY_OR_END:
    case KEY:
        return begin_key(j, c);
    case COLON:
        return read_colon(j, c);
    case VALUE:
    case VALUE_OR_END:
        return begin_value(j, c);
    case AFTER:
        return read_separator(j, c);
    default: /* COMPLETE */
        return reject_line(j);
    }
}

/* Reads a character of a word. The character that ends it is left for the next state. */
static int read_word(struct json_lines *j, const char **p)
{
    char c = **p;
    if (is_blank(c) || c == ',' || c == '}' || c == ']')
        return end_word(j);
    if (j->text.len < WORD_MAX)
        buf_addch(&j->text, c);
    (*p)++;
    return IN_WORD;
}

static void read_bytes(struct json_lines *j, const char *p, const char *end)
{
    while (p < end && j->state != JUNK) {
        if (j->state == IN_STRING || j->state == IN_KEY)
            j->state = read_string(j, &p, end);
        else if (j->state == UNWANTED_STRING || j->state == SKIPPING_STRING)
            j->state = skip_string(j, &p, end);
        else if (j->state == SKIPPING)
            j->state = skip_value(j, &p, end);
        else if (j->state == IN_WORD)
            j->state = read_word(j, &p);
        else if (is_blank(*p))
            p++;
        else
            j->state = read_character(j, *p++);
    }
}

static void end_line(struct json_lines *j)
{
    if (j->state == COMPLETE)
        j->fn(j->ctx, -1, JSON_LINE, "", 0);
    else if (j->state != BEGIN && j->state != JUNK)
        (void)reject_line(j);
    j->state = BEGIN;
    j->depth = 0;
    j->skipped = 0;
    j->escape = 0;
}

void json_lines_feed(struct json_lines *j, const char *bytes, size_t n)
{
    for (const char *end = bytes + n, *lf; bytes < end; bytes = lf + 1) {
        lf = memchr(bytes, '\n', (size_t)(end - bytes));
        read_bytes(j, bytes, lf ? lf : end);
        if (!lf)
            return;
        end_line(j);
    }
}

void json_lines_end(struct json_lines *j)
{
    end_line(j);
}
