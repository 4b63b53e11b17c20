/*
 * Decides which webhook addresses a plan may use: https, and never a host that is this machine or
 * in a private network, in any spelling. A name that only resolves to such an address is refused by
 * the caller when it connects.
 */
#ifndef PLAN_WEBHOOK_URL_H
#define PLAN_WEBHOOK_URL_H

#include <stdbool.h>
#include <stdint.h>

/* NULL if the URL is allowed; otherwise the reason, as the end of a sentence that begins with the
 * URL: "is not https". */
const char *webhook_refusal(const char *url);

/* True if an IPv4 address (host byte order) is loopback, private, link-local, unspecified,
 * multicast or otherwise not a host of the public internet. */
bool webhook_private_v4(uint32_t addr);

/* The same for the 16 bytes of an IPv6 address, including embedded IPv4 addresses. */
bool webhook_private_v6(const unsigned char addr[16]);

#endif
