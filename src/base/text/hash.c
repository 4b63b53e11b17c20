#include "base/text/hash.h"

#include <nettle/version.h>

void hash_init(struct hash *h, size_t digits)
{
    h->digits = digits;
    if (digits == HASH_SHA1_DIGITS)
        sha1_init(&h->state.sha1);
    else
        sha256_init(&h->state.sha256);
}

void hash_add(struct hash *h, const void *bytes, size_t len)
{
    if (h->digits == HASH_SHA1_DIGITS)
        sha1_update(&h->state.sha1, len, bytes);
    else
        sha256_update(&h->state.sha256, len, bytes);
}

void hash_end(struct hash *h, unsigned char ret_bytes[HASH_SHA256_DIGITS / 2])
{
#if NETTLE_VERSION_MAJOR >= 4 /* version 4 dropped the length argument */
    if (h->digits == HASH_SHA1_DIGITS)
        sha1_digest(&h->state.sha1, ret_bytes);
    else
        sha256_digest(&h->state.sha256, ret_bytes);
#else
    if (h->digits == HASH_SHA1_DIGITS)
        sha1_digest(&h->state.sha1, SHA1_DIGEST_SIZE, ret_bytes);
    else
        sha256_digest(&h->state.sha256, SHA256_DIGEST_SIZE, ret_bytes);
#endif
}

void hash_end_hex(struct hash *h, char ret_hex[HASH_SHA256_DIGITS + 1])
{
    static const char hex[] = "0123456789abcdef";
    unsigned char bytes[HASH_SHA256_DIGITS / 2];
    hash_end(h, bytes);
    for (size_t i = 0; i < h->digits; i++)
        ret_hex[i] = hex[bytes[i / 2] >> (i % 2 ? 0 : 4) & 15];
    ret_hex[h->digits] = '\0';
}

void sha256_hex(const void *bytes, size_t len, char ret_hex[HASH_SHA256_DIGITS + 1])
{
    struct hash h;
    hash_init(&h, HASH_SHA256_DIGITS);
    hash_add(&h, bytes, len);
    hash_end_hex(&h, ret_hex);
}
