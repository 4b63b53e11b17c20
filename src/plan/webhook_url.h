/*
 * Which addresses a plan may have us call: https, and never a host that is this machine or a
 * private network, however it is spelt. Names that only resolve to such an address are for the
 * caller to refuse when it connects.
 */
#ifndef PLAN_WEBHOOK_URL_H
#define PLAN_WEBHOOK_URL_H

#include <stdbool.h>
#include <stdint.h>

/* NULL where the URL may be called; else what is wrong with it, as the end of a sentence that
 * begins with the URL: "is not https". */
const char *webhook_refusal(const char *url);

/* Whether an IPv4 address (host byte order) is loopback, private, link-local, unspecified,
 * multicast or otherwise not a host of the public internet. */
bool webhook_private_v4(uint32_t addr);

/* The same of the 16 bytes of an IPv6 address, including IPv4 ones in disguise. */
bool webhook_private_v6(const unsigned char addr[16]);

#endif
