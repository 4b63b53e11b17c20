/*
 * Texts that libfyaml takes quadratic time over, or reads wrongly. They are YAML, but nobody's
 * plan, and are refused.
 */
#ifndef DOC_YAML_REFUSE_H
#define DOC_YAML_REFUSE_H

#include "base/node/problem.h"
#include "base/node/text_pos.h"

/* Directives other than %YAML, and tags with very many escapes. c is at the start
 * of the text. Returns -1 with a problem. */
int yaml_guard_text(struct cursor c, struct problems *ps);

/* A scalar, at [start, end) of the text, that has very many blank lines in a row. Returns -1 with a
 * problem; c is then moved to them. */
int yaml_guard_scalar(struct cursor *c, size_t start, size_t end, struct problems *ps);

/* The text of | or >, at [start, end), that is no deeper than the list or mapping it is in, which
 * is indented by `indent`: by YAML's rules it is empty, but libfyaml takes the keys that follow for
 * it. Returns -1 with a problem; c is then moved. */
int yaml_guard_block(struct cursor *c, size_t start, size_t end, size_t indent,
                     struct problems *ps);

#endif
