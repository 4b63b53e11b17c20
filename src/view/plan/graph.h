/*
 * The graph of a plan as a drawing: text for Graphviz or for Mermaid.
 */
#ifndef VIEW_PLAN_GRAPH_H
#define VIEW_PLAN_GRAPH_H

#include "base/buf.h"
#include "project/plan_file.h"

void plan_graph_dot(const struct plan_file *pf, struct buf *out);
void plan_graph_mermaid(const struct plan_file *pf, struct buf *out);

/* Appends a text that is harmless already to a label in quotes. */
void plan_graph_mermaid_label(struct buf *out, const char *s);

#endif
