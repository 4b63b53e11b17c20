#include "plan/webhook_url.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void public_hosts_pass(void **state)
{
    (void)state;
    static const char *const good[] = {
        "https://example.com",          "https://example.com/hook?x=1#y",
        "HTTPS://Example.COM:8443/",    "https://8.8.8.8/",
        "https://[2606:4700::1]/x",     "https://localhost.example.com/",
        "https://my-host.example.org.", "https://172.32.0.1/",
        "https://example.com?next=@x",
    };
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        if (webhook_refusal(good[i]))
            fail_msg("%s %s", good[i], webhook_refusal(good[i]));
    }
}

/* PO-41: every spelling of this machine and of private networks. */
static void private_hosts_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "http://example.com",
        "ftp://example.com",
        "https://",
        "https:///path",
        "https://localhost",
        "https://LOCALHOST.",
        "https://a.localhost/",
        "https://127.0.0.1",
        "https://127.1/",
        "https://2130706433/",
        "https://0x7f.1/",
        "https://0177.0.0.1/",
        "https://0/",
        "https://0.0.0.0/",
        "https://10.1.2.3/",
        "https://192.168.0.1/",
        "https://172.16.0.1/",
        "https://172.31.255.255/",
        "https://169.254.1.1/",
        "https://100.64.0.1/",
        "https://224.0.0.1/",
        "https://[::1]/",
        "https://[::]/",
        "https://[::ffff:127.0.0.1]/",
        "https://[fe80::1]/",
        "https://[fc00::1]/",
        "https://[64:ff9b::7f00:1]/",
        "https://[2002:7f00:1::]/",
        "https://[::1",
        "https://[nonsense]/",
        "https://u:p@example.com/",
        "https://example.com:/x",
        "https://example.com:123456/",
        "https://example.com:8a/",
        "https://exa mple.com/",
        "https://ex%61mple.com/",
        "https://exämple.com/",
        "https://example.com\\@x/",
        "https://ip6-localhost/",
        "https://.",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        if (!webhook_refusal(bad[i]))
            fail_msg("%s passed", bad[i]);
    }
}

static void long_addresses_are_refused(void **state)
{
    (void)state;
    char url[2200] = "https://example.com/";
    memset(url + strlen(url), 'a', 2048 - strlen(url));
    url[2048] = '\0';
    assert_null(webhook_refusal(url));
    url[2048] = 'a';
    url[2049] = '\0';
    assert_non_null(webhook_refusal(url));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(public_hosts_pass),
        cmocka_unit_test(private_hosts_are_refused),
        cmocka_unit_test(long_addresses_are_refused),
    };
    return cmocka_run_group_tests_name("webhook", tests, NULL, NULL);
}
