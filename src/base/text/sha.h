/*
 * What SHA-1 and SHA-256 have in common (FIPS 180-4): words of 32 bits, blocks of 64 bytes, and how
 * the last block is filled up.
 */
#ifndef BASE_TEXT_SHA_H
#define BASE_TEXT_SHA_H

#include <stddef.h>
#include <stdint.h>

typedef void sha_add_fn(uint32_t *state, const unsigned char *block);

/* Adds all blocks of the bytes to the state, and their end. */
void sha_blocks(uint32_t *state, sha_add_fn *add, const void *bytes, size_t len);

/* The sixteen words of a block. */
void sha_words(const unsigned char *block, uint32_t *ret_words);

/* Eight hexadecimal digits for each word, in lower case, and a NUL. */
void sha_hex(const uint32_t *state, size_t words, char *ret_hex);

#endif
