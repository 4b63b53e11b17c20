/*
 * The text of a block scalar (| or >), made from the file's own bytes. libfyaml's is not used: it
 * loses a line break of folded text in front of an indented line, cuts off or adds bytes, and takes
 * quadratic time over blank lines.
 */
#ifndef DOC_YAML_BLOCK_H
#define DOC_YAML_BLOCK_H

#include "base/buf.h"

/* Appends the text of the scalar whose | or > is at `header` and that ends before `end`; indent is
 * that of the list or mapping it is in, and counts only where the header has a digit. */
void yaml_block_text(struct buf *out, const char *text, size_t header, size_t end, size_t indent);

#endif
