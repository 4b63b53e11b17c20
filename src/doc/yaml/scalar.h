/*
 * The core schema of YAML 1.2: types of scalars without quotes.
 */
#ifndef DOC_YAML_SCALAR_H
#define DOC_YAML_SCALAR_H

#include "base/node/node.h"

/* Sets kind and value of a scalar node from its text: null, a boolean, an integer, a number, or
 * else a string. An integer that exceeds 64 bits becomes a NODE_REAL. */
void yaml_core_resolve(struct node *scalar);

#endif
