/*
 * SHA-1 by the instructions that a processor may have for it.
 */
#ifndef BASE_TEXT_SHA1_FAST_H
#define BASE_TEXT_SHA1_FAST_H

#include <stdbool.h>
#include <stdint.h>

/* Whether it has them. */
bool sha1_fast_there(void);

/* Adds a block of 64 bytes to the five words of a state; only where it has. */
void sha1_fast_add(uint32_t *state, const unsigned char *block);

#endif
