/*
 * What libfyaml says about a text that is not YAML, turned into one problem for people.
 */
#ifndef DOC_YAML_ERROR_H
#define DOC_YAML_ERROR_H

#include "base/node/problem.h"
#include "base/node/text_pos.h"

#include <libfyaml.h>

/* A diagnostic object that collects and never prints. */
struct fy_diag *yaml_error_collector(void);

/* Adds the first error that was collected. c is at the start of the text; `open` is the innermost
 * list or mapping in brackets that the parser was in, or NULL. Returns -1. */
int yaml_error_report(struct fy_diag *diag, struct cursor c, const struct node *open,
                      struct problems *ps);

/* Whether one of the errors leaves libfyaml 0.7 with the same memory twice in its free lists, as
 * "? a:<tab>- b" does: a parser that met it must not be destroyed. */
bool yaml_error_is_fatal(struct fy_diag *diag);

#endif
