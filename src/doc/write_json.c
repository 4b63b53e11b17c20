#include "doc/tree/writer.h"

#include "doc/doc.h"

#include <stdint.h>

static void write_scalar(struct buf *out, const struct node *n)
{
    if (doc_write_simple(out, n))
        return;
    if (n->kind == NODE_REAL)
        doc_write_real(out, n->real, "", "");
    else
        doc_write_quoted(out, n->text, n->len);
}

/* An indent that means: on one line, without white space. */
#define ONE_LINE SIZE_MAX

static void begin_line(struct buf *out, size_t indent)
{
    if (indent == ONE_LINE)
        return;
    buf_addch(out, '\n');
    buf_addrep(out, ' ', indent);
}

static void write_node(struct buf *out, const struct node *n, size_t indent)
{
    if (n->kind < NODE_LIST) {
        write_scalar(out, n);
        return;
    }
    bool map = n->kind == NODE_MAP;
    size_t inner = indent == ONE_LINE ? ONE_LINE : indent + 2;
    buf_addch(out, map ? '{' : '[');
    node_each (child, n) {
        if (child != n->first)
            buf_addch(out, ',');
        begin_line(out, inner);
        if (map) {
            doc_write_quoted(out, child->key, child->key_len);
            buf_addstr(out, inner == ONE_LINE ? ":" : ": ");
        }
        write_node(out, child, inner);
    }
    if (n->first)
        begin_line(out, indent);
    buf_addch(out, map ? '}' : ']');
}

void doc_write_line(struct buf *out, const struct node *root)
{
    write_node(out, root, ONE_LINE);
}

void doc_write_whole_line(struct buf *out, const struct node *root)
{
    doc_write_line(out, root);
    buf_addch(out, '\n');
}

void doc_write_lines(struct buf *out, const struct node *root)
{
    write_node(out, root, 0);
    buf_addch(out, '\n');
}
