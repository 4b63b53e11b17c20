/*
 * SHA-1 of bytes in memory (FIPS 180-4): the checksum of git's index, and ids of objects that are
 * held against others. Nothing here relies on nobody being able to make two of the same.
 */
#ifndef BASE_TEXT_SHA1_H
#define BASE_TEXT_SHA1_H

#include <stddef.h>

/* Writes the 40 hexadecimal digits, in lower case, and a NUL. */
void sha1_hex(const void *bytes, size_t len, char ret_hex[41]);

/* The same on a processor without instructions for it. */
void sha1_hex_plain(const void *bytes, size_t len, char ret_hex[41]);

#endif
