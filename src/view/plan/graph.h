/*
 * The graph of a plan as text for Graphviz or Mermaid.
 */
#ifndef VIEW_PLAN_GRAPH_H
#define VIEW_PLAN_GRAPH_H

#include "base/buf.h"
#include "project/plan_file.h"

void plan_graph_dot(const struct plan_file *pf, struct buf *out);
void plan_graph_mermaid(const struct plan_file *pf, struct buf *out);

/* Appends a harmless text to a quoted label. */
void plan_graph_mermaid_label(struct buf *out, const char *s);

#endif
