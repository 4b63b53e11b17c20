/*
 * Writes TOML. In each table we write the values before the tables, because a key after a header
 * belongs to that header. If a small table comes before a value, we write it inline and so keep the
 * order of the file. We move a large one to the end.
 */
#include "doc/tree/writer.h"

#include <string.h>

enum { LINE_LONG = 90, INLINE_MAX = 6 };

static void write_key(struct buf *out, const struct node *n)
{
    static const char bare[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    if (n->key_len && strspn(n->key, bare) == n->key_len)
        buf_add(out, n->key, n->key_len);
    else
        doc_write_quoted(out, n->key, n->key_len);
}

/* Writes a multi-line string. Line ends and tabs stay as they are. We escape a quote that could
 * become part of three quotes. */
static void write_multiline(struct buf *out, const char *s, size_t len)
{
    buf_addstr(out, "\"\"\"\n");
    for (size_t at = 0; at < len;) {
        size_t n = 0;
        while (at + n < len && !strchr("\n\t\"", s[at + n]))
            n++;
        doc_write_escaped(out, s + at, n);
        at += n;
        if (at == len)
            break;
        bool risky = s[at] == '"' && (at + 1 == len || (n == 0 && at && s[at - 1] == '"'));
        if (risky || !s[at])
            doc_write_escaped(out, s + at, 1);
        else
            buf_addch(out, s[at]);
        at++;
    }
    buf_addstr(out, "\"\"\"");
}

static void write_scalar(struct buf *out, const struct node *n)
{
    if (doc_write_simple(out, n))
        return;
    if (n->kind == NODE_REAL)
        doc_write_real(out, n->real, "inf", "nan");
    else if (n->kind == NODE_TIME)
        buf_add(out, n->text, n->len);
    else
        doc_write_quoted(out, n->text, n->len);
}

static void write_inline(struct buf *out, const struct node *n)
{
    if (n->kind < NODE_LIST) {
        write_scalar(out, n);
        return;
    }
    bool map = n->kind == NODE_MAP;
    buf_addstr(out, !map ? "[" : n->first ? "{ " : "{");
    node_each (child, n) {
        if (child != n->first)
            buf_addstr(out, ", ");
        if (map) {
            write_key(out, child);
            buf_addstr(out, " = ");
        }
        write_inline(out, child);
    }
    buf_addstr(out, !map ? "]" : n->first ? " }" : "}");
}

static void write_long_list(struct buf *out, const struct node *list)
{
    buf_addstr(out, "[\n");
    node_each (item, list) {
        buf_addstr(out, "  ");
        write_inline(out, item);
        buf_addstr(out, ",\n");
    }
    buf_addch(out, ']');
}

static void write_pair(struct buf *out, const struct node *n)
{
    write_key(out, n);
    buf_addstr(out, " = ");
    size_t before = out->len;
    if (n->kind == NODE_STRING && memchr(n->text, '\n', n->len))
        write_multiline(out, n->text, n->len);
    else
        write_inline(out, n);
    if (n->kind == NODE_LIST && n->n > 1 && out->len - before > LINE_LONG) {
        buf_cut(out, before);
        write_long_list(out, n);
    }
    buf_addch(out, '\n');
}

/* True if TOML can write the node under its own header: a map, or a list that has only maps. */
static bool can_be_section(const struct node *n)
{
    if (n->kind != NODE_LIST)
        return n->kind == NODE_MAP;
    node_each (item, n) {
        if (item->kind != NODE_MAP)
            return false;
    }
    return n->first;
}

static bool is_small(const struct node *map)
{
    if (map->kind != NODE_MAP || map->n > INLINE_MAX)
        return false;
    size_t len = 0;
    node_each (m, map) {
        if (m->kind >= NODE_LIST)
            return false;
        len += m->key_len + m->len;
    }
    return len < LINE_LONG;
}

static void write_table(struct buf *out, const struct node *map, struct buf *path);

static void write_header(struct buf *out, const char *open, const struct buf *path,
                         const char *close)
{
    if (out->len)
        buf_addch(out, '\n');
    buf_addf(out, "%s%s%s\n", open, path->s, close);
}

static void write_section(struct buf *out, const struct node *n, struct buf *path)
{
    size_t before = path->len;
    if (path->len)
        buf_addch(path, '.');
    write_key(path, n);
    if (n->kind == NODE_MAP) {
        write_header(out, "[", path, "]");
        write_table(out, n, path);
    } else {
        node_each (item, n) {
            write_header(out, "[[", path, "]]");
            write_table(out, item, path);
        }
    }
    buf_cut(path, before);
}

static void write_table(struct buf *out, const struct node *map, struct buf *path)
{
    const struct node *last = NULL; /* the last value: only tables follow it */
    node_each (n, map) {
        if (!can_be_section(n))
            last = n;
    }
    struct node *tables = last ? last->next : map->first;
    bool moved = false;
    for (struct node *n = map->first; n != tables; n = n->next) {
        if (!can_be_section(n) || is_small(n))
            write_pair(out, n);
        else
            moved = true;
    }
    for (struct node *n = moved ? map->first : tables; n != tables; n = n->next) {
        if (can_be_section(n) && !is_small(n))
            write_section(out, n, path);
    }
    for (struct node *n = tables; n; n = n->next)
        write_section(out, n, path);
}

void doc_write_toml(struct buf *out, const struct node *root)
{
    autobuf struct buf path = BUF_INIT;
    write_table(out, root, &path);
}
