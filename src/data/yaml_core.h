/*
 * The core schema of YAML 1.2: what a scalar without quotes means.
 */
#ifndef DATA_YAML_CORE_H
#define DATA_YAML_CORE_H

#include "base/node.h"

/* Sets kind and value of a scalar node from its text: null, a boolean, an integer, a number, else a
 * string. An integer that does not fit into 64 bits becomes a NODE_REAL. */
void yaml_core_resolve(struct node *scalar);

#endif
