/*
 * The writers behind doc_write(), one file each. They cannot fail: doc_write() has looked at the
 * tree before, and has refused what the syntax cannot express and what is nested deeper than
 * DOC_MAX_DEPTH. So their recursion is bounded by that.
 */
#ifndef DOC_TREE_WRITER_H
#define DOC_TREE_WRITER_H

#include "base/buf.h"
#include "base/node/node.h"

#include <stdbool.h>

void doc_write_yaml(struct buf *out, const struct node *root);
void doc_write_toml(struct buf *out, const struct node *root);
void doc_write_json(struct buf *out, const struct node *root);

/* What all of them write alike: null, a boolean, an integer. False where it is none of these. */
bool doc_write_simple(struct buf *out, const struct node *n);

/* A string in double quotes, with escapes that JSON, TOML and YAML have in common. */
void doc_write_quoted(struct buf *out, const char *s, size_t len);

/* The same without the quotes, for the characters that no syntax takes as they are: quote,
 * backslash and controls, line ends and tabs too, and what YAML 1.1 takes for a line end. */
void doc_write_escaped(struct buf *out, const char *s, size_t len);

/* The shortest decimal that reads back as the same number, and as a real: "1.0", not "1". */
void doc_write_real(struct buf *out, double value, const char *infinity, const char *nan);

#endif
