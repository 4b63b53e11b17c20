/*
 * Turns an error of libyaml into one problem for people.
 */
#ifndef DOC_YAML_ERROR_H
#define DOC_YAML_ERROR_H

#include "base/node/problem.h"
#include "base/node/text_pos.h"

#include <yaml.h>

/* The last scalar before an error. */
struct yaml_scalar {
    struct pos pos;
    uint32_t key_line; /* the line of its key; 0: it is no value of a key */
    bool lines;        /* it spans several lines */
    size_t end;        /* index of the character behind it */
    char quote;        /* ' or ", or NUL for none */
};

/* Refuses text that libyaml would read wrongly or in quadratic time: line ends of YAML 1.1 that are
 * text in YAML 1.2, and directives except %YAML. c is at the start of the text. Returns -1 with a
 * problem. */
int yaml_error_guard(struct text_pos c, struct problems *ps);

/* Reports the error at which the parser stopped. c is at the start of the text. `open` is the
 * innermost list or mapping in brackets at that place, or NULL. Returns -1. */
int yaml_error_report(const yaml_parser_t *parser, struct text_pos c, const struct node *open,
                      const struct yaml_scalar *last, struct problems *ps);

/* Reports that the quote at pos is not closed. Returns -1. */
int yaml_error_quote(struct pos pos, struct problems *ps);

#endif
