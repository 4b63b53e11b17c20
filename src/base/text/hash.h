/*
 * struct hash: the SHA-1 or SHA-256 of bytes, the two hashes of git's objects. We use SHA-1 only to
 * compare ids of git; nothing relies on its collision resistance.
 */
#ifndef BASE_TEXT_HASH_H
#define BASE_TEXT_HASH_H

#include <nettle/sha1.h>
#include <nettle/sha2.h>
#include <stddef.h>

enum { HASH_SHA1_DIGITS = 40, HASH_SHA256_DIGITS = 64 }; /* also the number that selects the hash */

struct hash {
    size_t digits;
    union {
        struct sha1_ctx sha1;
        struct sha256_ctx sha256;
    } state;
};

void hash_init(struct hash *h, size_t digits);
void hash_add(struct hash *h, const void *bytes, size_t len);

/* Write digits / 2 bytes, or all digits in lower case and a NUL. After that the hash cannot be
 * used. */
void hash_end(struct hash *h, unsigned char ret_bytes[HASH_SHA256_DIGITS / 2]);
void hash_end_hex(struct hash *h, char ret_hex[HASH_SHA256_DIGITS + 1]);

/* The SHA-256 of bytes in memory. */
void sha256_hex(const void *bytes, size_t len, char ret_hex[HASH_SHA256_DIGITS + 1]);

#endif
