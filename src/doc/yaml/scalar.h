/*
 * The core schema of YAML 1.2: what a scalar without quotes means.
 */
#ifndef DOC_YAML_SCALAR_H
#define DOC_YAML_SCALAR_H

#include "base/node/node.h"

/* Sets kind and value of a scalar node from its text: null, a boolean, an integer, a number, else a
 * string. An integer that does not fit into 64 bits becomes a NODE_REAL. */
void yaml_core_resolve(struct node *scalar);

#endif
