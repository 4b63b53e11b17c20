/*
 * Writes YAML in block style. A text gets no quotes only if YAML 1.2 and YAML 1.1 both read it as
 * that text. A text becomes a literal block only if the block keeps every byte.
 */
#include "doc/tree/writer.h"

#include "base/mem.h"
#include "base/text/text.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* YAML limits a key to 1024 characters. */
enum { KEY_MAX = 1000 };

static bool is_word_of_yaml(const char *s)
{
    static const char *const words[] = {
        "null", "true", "false", "yes", "no", "on", "off", "y", "n", "~", "=", "<<", "inf", "nan",
    };
    if ((*s == '+' || *s == '-' || *s == '.') && s[1])
        s++;
    if (*s == '.' && s[1])
        s++;
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (strcasecmp(s, words[i]) == 0)
            return true;
    }
    return false;
}

/* Matches numbers in any base, 1:30 and dates: everything that YAML 1.1 or 1.2 reads as a number,
 * and more. */
static bool is_number_like(const char *s, size_t len)
{
    const char *digits = s + strspn(s, "+-.");
    return isdigit((unsigned char)*digits) &&
           strspn(s, "0123456789abcdefABCDEFxXoO_.,:+-TtZz ") == len;
}

/* True if the text has a character that YAML requires to be escaped, or treats as a line end. */
static bool has_special(const char *s, size_t len, const char *allowed)
{
    for (size_t at = 0, n; at < len; at += n) {
        uint32_t c = 0;
        n = text_decode(s + at, len - at, &c);
        if (c < 0x20 ? !c || !strchr(allowed, (int)c)
                     : (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || c == 0xfeff ||
                           c == 0xfffe || c == 0xffff)
            return true;
    }
    return false;
}

static bool can_be_plain(const char *s, size_t len)
{
    if (!len || s[0] == ' ' || s[len - 1] == ' ' || s[len - 1] == ':' || has_special(s, len, ""))
        return false;
    if (strchr("?:,[]{}#&*!|>'\"%@`", s[0]) || (s[0] == '-' && (len == 1 || s[1] == ' ')))
        return false;
    if (strncmp(s, "---", 3) == 0 || strncmp(s, "...", 3) == 0)
        return false;
    return !strstr(s, ": ") && !strstr(s, " #") && !is_word_of_yaml(s) && !is_number_like(s, len);
}

/* A text with a line of only white space, or without any text, gets quotes: editors and readers
 * treat it differently. */
static bool can_be_literal(const char *s, size_t len)
{
    bool text = false;
    if (has_special(s, len, "\t\n"))
        return false;
    for (const char *end = s + len, *lf; s < end; s = lf + 1) {
        lf = memchr(s, '\n', (size_t)(end - s));
        lf = lf ? lf : end;
        size_t blank = strspn(s, " \t");
        if (blank && s + blank >= lf)
            return false;
        text = text || lf > s;
    }
    return text;
}

static void write_literal(struct buf *out, const char *s, size_t len, size_t indent)
{
    buf_addch(out, '|');
    if (strchr(" \t\n", *s))
        buf_addch(out, '2');
    if (s[len - 1] != '\n')
        buf_addch(out, '-');
    else if (len > 1 && s[len - 2] == '\n')
        buf_addch(out, '+');
    for (const char *end = s + len, *lf; s < end; s = lf + 1) {
        lf = memchr(s, '\n', (size_t)(end - s));
        lf = lf ? lf : end;
        buf_addch(out, '\n');
        if (lf > s)
            buf_addrep(out, ' ', indent);
        buf_add(out, s, (size_t)(lf - s));
    }
}

static void write_text(struct buf *out, const char *s, size_t len)
{
    if (can_be_plain(s, len))
        buf_add(out, s, len);
    else
        doc_write_quoted(out, s, len);
}

static void write_scalar(struct buf *out, const struct node *n, size_t indent)
{
    if (doc_write_simple(out, n))
        return;
    if (n->kind == NODE_REAL)
        doc_write_real(out, n->real, ".inf", ".nan");
    else if (indent && memchr(n->text, '\n', n->len) && can_be_literal(n->text, n->len))
        write_literal(out, n->text, n->len, indent);
    else
        write_text(out, n->text, n->len);
}

static void write_key(struct buf *out, const struct node *n, size_t indent)
{
    size_t before = out->len;
    write_text(out, n->key, n->key_len);
    if (out->len - before > KEY_MAX) {
        buf_cut(out, before);
        buf_addstr(out, "? ");
        doc_write_quoted(out, n->key, n->key_len);
        buf_addch(out, '\n');
        buf_addrep(out, ' ', indent);
    }
    buf_addch(out, ':');
}

static void new_line(struct buf *out, size_t indent)
{
    buf_addch(out, '\n');
    buf_addrep(out, ' ', indent);
}

/* The output is already at column `indent`. Every level indents by two more columns. */
static void write_children(struct buf *out, const struct node *parent, size_t indent)
{
    bool list = parent->kind == NODE_LIST;
    node_each (n, parent) {
        if (n != parent->first)
            new_line(out, indent);
        if (list)
            buf_addch(out, '-');
        else
            write_key(out, n, indent);
        bool block = n->kind >= NODE_LIST && n->first;
        if (block && !list)
            new_line(out, indent + 2);
        else
            buf_addch(out, ' ');
        if (block)
            write_children(out, n, indent + 2);
        else if (n->kind >= NODE_LIST)
            buf_addstr(out, n->kind == NODE_MAP ? "{}" : "[]");
        else
            write_scalar(out, n, indent + 2);
    }
}

void doc_write_yaml(struct buf *out, const struct node *root)
{
    if (root->kind < NODE_LIST)
        write_scalar(out, root, 0);
    else if (!root->first)
        buf_addstr(out, root->kind == NODE_MAP ? "{}" : "[]");
    else
        write_children(out, root, 0);
    buf_addch(out, '\n');
}
