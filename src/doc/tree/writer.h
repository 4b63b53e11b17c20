/*
 * The writers behind doc_write(), one file each. They cannot fail: doc_write() has checked the tree
 * and refused everything that the syntax cannot express, and any nesting deeper than DOC_MAX_DEPTH.
 * That also limits their recursion.
 */
#ifndef DOC_TREE_WRITER_H
#define DOC_TREE_WRITER_H

#include "base/buf.h"
#include "base/node/node.h"

#include <stdbool.h>

void doc_write_yaml(struct buf *out, const struct node *root);
void doc_write_toml(struct buf *out, const struct node *root);

/* Writes null, a boolean or an integer, which look the same in all syntaxes. False for other
 * nodes. */
bool doc_write_simple(struct buf *out, const struct node *n);

/* Writes a string in double quotes, with the escapes that JSON, TOML and YAML share. */
void doc_write_quoted(struct buf *out, const char *s, size_t len);

/* The same without the quotes. Escapes quotes, backslashes and controls, with line ends and tabs,
 * and the line ends of YAML 1.1. */
void doc_write_escaped(struct buf *out, const char *s, size_t len);

/* Writes the shortest decimal that reads back as the same number, and as a real: "1.0", not "1". */
void doc_write_real(struct buf *out, double value, const char *infinity, const char *nan);

#endif
