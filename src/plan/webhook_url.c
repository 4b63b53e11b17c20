#include "plan/webhook_url.h"

#include "base/mem.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

enum { URL_MAX = 2048, HOST_MAX = 253, PORT_MAX = 65535 };

bool webhook_private_v4(uint32_t addr)
{
    static const struct {
        uint32_t net;
        int bits;
    } refused[] = {
        {0x00000000, 8},  /* unspecified, "this network" */
        {0x0a000000, 8},  /* private */
        {0x64400000, 10}, /* carrier-grade NAT */
        {0x7f000000, 8},  /* loopback */
        {0xa9fe0000, 16}, /* link-local, cloud metadata */
        {0xac100000, 12}, /* private */
        {0xc0000000, 24}, /* protocol assignments */
        {0xc0a80000, 16}, /* private */
        {0xc6120000, 15}, /* benchmarking */
        {0xe0000000, 3},  /* multicast, reserved, broadcast */
    };
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        if ((addr ^ refused[i].net) >> (32 - refused[i].bits) == 0)
            return true;
    }
    return false;
}

bool webhook_private_v6(const unsigned char a[16])
{
    static const unsigned char zero[12];
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    static const unsigned char nat64[12] = {0x00, 0x64, 0xff, 0x9b};
    if (!memcmp(a, zero, 12) || !memcmp(a, mapped, 12) || !memcmp(a, nat64, 12)) {
        uint32_t v4;
        memcpy(&v4, a + 12, sizeof(v4));
        return webhook_private_v4(ntohl(v4));
    }
    if (a[0] == 0x20 && a[1] == 0x02) { /* 6to4 carries an IPv4 address */
        uint32_t v4;
        memcpy(&v4, a + 2, sizeof(v4));
        return webhook_private_v4(ntohl(v4));
    }
    /* Only 2000::/3 is the public internet; unique-local, link-local and multicast addresses are
     * outside it. */
    return (a[0] & 0xe0) != 0x20;
}

static bool is_this_machine(const char *host)
{
    static const char *const names[] = {"localhost",
                                        "localhost.localdomain",
                                        "localhost4",
                                        "localhost6",
                                        "ip6-localhost",
                                        "ip6-loopback",
                                        "localhost4.localdomain4",
                                        "localhost6.localdomain6"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (strcasecmp(host, names[i]) == 0)
            return true;
    }
    size_t len = strlen(host), suffix = strlen(".localhost");
    return len > suffix && strcasecmp(host + len - suffix, ".localhost") == 0;
}

static const char *refuse_v6(const char *host)
{
    struct in6_addr v6;
    if (inet_pton(AF_INET6, host, &v6) != 1)
        return "has a malformed IPv6 address";
    return webhook_private_v6(v6.s6_addr) ? "is an address of this machine or a private network"
                                          : NULL;
}

static const char *refuse_name(char *host)
{
    size_t len = strlen(host);
    if (len && host[len - 1] == '.') /* a final dot does not change the host */
        host[--len] = '\0';
    if (!len || host[strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789-_.")] != '\0')
        return "has a host name with other characters than letters, digits, '-', '_' and '.'";
    if (*host == '.' || strstr(host, ".."))
        return "has a host name with an empty part";
    if (is_this_machine(host))
        return "is an address of this machine";
    struct in_addr v4;
    /* inet_aton() accepts the same forms as the C library's resolver: also 127.1, 2130706433,
     * 0x7f.1. */
    if (inet_aton(host, &v4) && webhook_private_v4(ntohl(v4.s_addr)))
        return "is an address of this machine or a private network";
    return NULL;
}

/* True if the rest after the host is empty, a port, a path, a query or a fragment. */
static bool is_valid_rest(const char *rest)
{
    if (*rest == ':') {
        unsigned port = 0;
        for (rest++; *rest >= '0' && *rest <= '9' && port <= PORT_MAX; rest++)
            port = port * 10 + (unsigned)(*rest - '0');
        if (port < 1 || port > PORT_MAX)
            return false;
    }
    return *rest == '\0' || *rest == '/' || *rest == '?' || *rest == '#';
}

const char *webhook_refusal(const char *url)
{
    if (strlen(url) > URL_MAX)
        return "is longer than 2048 characters";
    for (const char *c = url; *c; c++) {
        if ((unsigned char)*c <= ' ' || (unsigned char)*c >= 0x7f || *c == '\\')
            return "has a character that an address cannot have";
    }
    if (strncasecmp(url, "https://", 8) != 0)
        return "is not https";
    const char *host = url + 8;
    size_t authority = strcspn(host, "/?#");
    if (memchr(host, '@', authority))
        return "has a user name or password in it";
    bool bracket = *host == '[';
    size_t len = bracket ? strcspn(++host, "]/?#") : strcspn(host, ":/?#");
    if (len == 0)
        return "has no host";
    if (len > HOST_MAX)
        return "has a host name longer than 253 characters";
    if (bracket && host[len] != ']')
        return "has a malformed IPv6 address";
    if (!is_valid_rest(host + len + (bracket ? 1 : 0)))
        return "has a malformed port";
    char name[HOST_MAX + 1];
    memcpy(name, host, len);
    name[len] = '\0';
    return bracket ? refuse_v6(name) : refuse_name(name);
}
