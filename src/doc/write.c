#include "doc/tree/writer.h"

#include "base/text/text.h"
#include "doc/doc.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *escape_code(uint32_t c, char buf[static 8])
{
    switch (c) {
    case '"':
        return "\\\"";
    case '\\':
        return "\\\\";
    case '\b':
        return "\\b";
    case '\t':
        return "\\t";
    case '\n':
        return "\\n";
    case '\f':
        return "\\f";
    case '\r':
        return "\\r";
    default:
        (void)snprintf(buf, 8, "\\u%04X", (unsigned)(c & 0xffff));
        return buf;
    }
}

static bool needs_escape(uint32_t c)
{
    return c < 0x20 || c == '"' || c == '\\' || (c >= 0x7f && c < 0xa0) || c == 0x2028 ||
           c == 0x2029 || c == 0xfeff || c == 0xfffe || c == 0xffff;
}

void doc_write_escaped(struct buf *out, const char *s, size_t len)
{
    for (size_t at = 0, n; at < len; at += n) {
        uint32_t c = 0;
        char code[8];
        n = text_decode(s + at, len - at, &c);
        if (!n) { /* file names may have any bytes, but no syntax can express them */
            n = 1;
            buf_addstr(out, "\xEF\xBF\xBD");
            continue;
        }
        if (needs_escape(c))
            buf_addstr(out, escape_code(c, code));
        else
            buf_add(out, s + at, n);
    }
}

void doc_write_quoted(struct buf *out, const char *s, size_t len)
{
    buf_addch(out, '"');
    doc_write_escaped(out, s, len);
    buf_addch(out, '"');
}

/* Adds ".0" before an exponent: YAML 1.1 requires a point in such a number. */
static void add_point(struct buf *out, const char *digits)
{
    size_t whole = strcspn(digits, ".e");
    buf_add(out, digits, whole);
    if (digits[whole] != '.')
        buf_addstr(out, ".0");
    buf_addstr(out, digits + whole);
}

bool doc_write_simple(struct buf *out, const struct node *n)
{
    if (n->kind == NODE_NULL)
        buf_addstr(out, "null");
    else if (n->kind == NODE_BOOL)
        buf_addstr(out, n->truth ? "true" : "false");
    else if (n->kind == NODE_INT)
        buf_addf(out, "%" PRId64, n->integer);
    else
        return false;
    return true;
}

void doc_write_real(struct buf *out, double value, const char *infinity, const char *nan)
{
    if (isnan(value)) {
        buf_addstr(out, nan);
    } else if (isinf(value)) {
        buf_addf(out, "%s%s", value < 0 ? "-" : "", infinity);
    } else {
        char digits[40];
        int precision = 1;
        do
            (void)snprintf(digits, sizeof(digits), "%.*g", precision, value);
        while (strtod(digits, NULL) != value && ++precision <= 17);
        if (strchr(digits, '+') && fabs(value) < 1e15) /* "20", not "2e+01" */
            (void)snprintf(digits, sizeof(digits), "%.0f", value);
        add_point(out, digits);
    }
}

static const char *find_value_error(const struct node *n, enum doc_syntax syntax)
{
    if (n->kind == NODE_NULL && syntax == DOC_TOML)
        return "TOML has no null";
    if (n->kind == NODE_TIME && syntax != DOC_TOML)
        return "only TOML has dates and times";
    if (n->kind == NODE_REAL && !isfinite(n->real) && syntax == DOC_JSON)
        return "JSON has no infinity and no NaN";
    if (n->kind == NODE_STRING && text_valid(n->text, n->len) < n->len)
        return "the text is not valid UTF-8";
    if (!n->parent && n->kind != NODE_MAP && syntax == DOC_TOML)
        return "a TOML document is a mapping";
    return NULL;
}

static const char *find_key_error(const struct node *n, enum doc_syntax syntax)
{
    if (n->key && text_valid(n->key, n->key_len) < n->key_len)
        return "the key is not valid UTF-8";
    if (n->key && syntax == DOC_JSON && memchr(n->key, '\0', n->key_len))
        return "a JSON key cannot contain a NUL character";
    return NULL;
}

static int check_node(const struct node *n, enum doc_syntax syntax, size_t depth,
                      struct problems *ps)
{
    const char *value = find_value_error(n, syntax), *key = find_key_error(n, syntax);
    if (value)
        return problem_error(ps, RULE_SYNTAX, n, "%s", value);
    if (key)
        return problem_error_key(ps, RULE_SYNTAX, n, "%s", key);
    if (n->kind >= NODE_LIST && depth >= DOC_MAX_DEPTH)
        return problem_error(ps, RULE_SYNTAX, n, "nested deeper than %d levels", DOC_MAX_DEPTH);
    return 0;
}

/* Reports every node that the syntax cannot express. Does not descend into nodes that are too
 * deep. */
static int check_tree(const struct node *root, enum doc_syntax syntax, struct problems *ps)
{
    size_t before = ps->errors, depth = 0;
    for (const struct node *n = root; n;) {
        bool fine = check_node(n, syntax, depth, ps) == 0;
        if (fine && n->kind >= NODE_LIST && n->first) {
            n = n->first;
            depth++;
            continue;
        }
        for (; n != root && !n->next; depth--)
            n = n->parent;
        n = n == root ? NULL : n->next;
    }
    return ps->errors == before ? 0 : -1;
}

int doc_write(struct buf *out, const struct node *root, enum doc_syntax syntax, struct problems *ps)
{
    if (check_tree(root, syntax, ps) < 0)
        return -1;
    if (syntax == DOC_TOML)
        doc_write_toml(out, root);
    else if (syntax == DOC_JSON)
        doc_write_lines(out, root);
    else
        doc_write_yaml(out, root);
    return 0;
}
