/*
 * The graph of a plan as a drawing: text for Graphviz or for Mermaid.
 */
#ifndef FRONT_PLAN_DRAW_H
#define FRONT_PLAN_DRAW_H

#include "base/buf.h"
#include "run/plan_file.h"

void plan_draw_dot(const struct plan_file *pf, struct buf *out);
void plan_draw_mermaid(const struct plan_file *pf, struct buf *out);

/* Appends a text that is harmless already to a label in quotes. */
void plan_draw_mermaid_label(struct buf *out, const char *s);

#endif
