/*
 * SHA-256 of bytes in memory (FIPS 180-4).
 */
#ifndef BASE_TEXT_SHA256_H
#define BASE_TEXT_SHA256_H

#include <stddef.h>

/* Writes the 64 hexadecimal digits, in lower case, and a NUL. */
void sha256_hex(const void *bytes, size_t len, char ret_hex[65]);

#endif
