#include "data/doc_writer.h"

#include "data/doc.h"

#include <inttypes.h>

static void write_scalar(struct buf *out, const struct node *n)
{
    if (n->kind == NODE_NULL)
        buf_addstr(out, "null");
    else if (n->kind == NODE_BOOL)
        buf_addstr(out, n->truth ? "true" : "false");
    else if (n->kind == NODE_INT)
        buf_addf(out, "%" PRId64, n->integer);
    else if (n->kind == NODE_REAL)
        doc_write_real(out, n->real, "", "");
    else
        doc_write_quoted(out, n->text, n->len);
}

static void write_node(struct buf *out, const struct node *n, size_t indent)
{
    if (n->kind < NODE_LIST) {
        write_scalar(out, n);
        return;
    }
    bool map = n->kind == NODE_MAP;
    buf_addch(out, map ? '{' : '[');
    node_each (child, n) {
        buf_addstr(out, child == n->first ? "\n" : ",\n");
        buf_addrep(out, ' ', indent + 2);
        if (map) {
            doc_write_quoted(out, child->key, child->key_len);
            buf_addstr(out, ": ");
        }
        write_node(out, child, indent + 2);
    }
    if (n->first) {
        buf_addch(out, '\n');
        buf_addrep(out, ' ', indent);
    }
    buf_addch(out, map ? '}' : ']');
}

static void write_compact(struct buf *out, const struct node *n)
{
    if (n->kind < NODE_LIST) {
        write_scalar(out, n);
        return;
    }
    bool map = n->kind == NODE_MAP;
    buf_addch(out, map ? '{' : '[');
    node_each (child, n) {
        if (child != n->first)
            buf_addch(out, ',');
        if (map) {
            doc_write_quoted(out, child->key, child->key_len);
            buf_addch(out, ':');
        }
        write_compact(out, child);
    }
    buf_addch(out, map ? '}' : ']');
}

void doc_write_line(struct buf *out, const struct node *root)
{
    write_compact(out, root);
}

void doc_write_json(struct buf *out, const struct node *root)
{
    write_node(out, root, 0);
    buf_addch(out, '\n');
}
