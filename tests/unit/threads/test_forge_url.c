#include "threads/converge/forge_url.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_addresses(void **state)
{
    static const struct {
        const char *address, *repo, *owner;
    } known[] = {
        {"https://github.com/acme/widget.git", "github.com/acme/widget", "acme"},
        {"https://me:secret@github.com/acme/widget", "github.com/acme/widget", "acme"},
        {"https://forge.example:8443/acme/widget/", "forge.example/acme/widget", "acme"},
        {"ssh://git@github.com:22/acme/widget.git", "github.com/acme/widget", "acme"},
        {"git@github.com:acme/widget.git", "github.com/acme/widget", "acme"},
        {"github.com:/acme/widget", "github.com/acme/widget", "acme"},
        {"git@gitlab.example:group/sub/widget.git", "gitlab.example/group/sub/widget", "group/sub"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        autoplace struct forge_url p = {0};
        assert_true(forge_url_parse(&p, known[i].address));
        assert_string_equal(p.repo, known[i].repo);
        assert_string_equal(p.owner, known[i].owner);
    }
}

static void test_no_forge(void **state)
{
    static const char *const addresses[] = {
        "",       "/srv/widget.git",       "../widget", "file:///srv/acme/widget.git",
        "widget", "https://github.com/",   "host:",     "https://github.com/widget",
        "a/b:c",  "git@github.com:widget", "://",       "https:///acme/widget",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(addresses); i++) {
        autoplace struct forge_url p = {0};
        assert_false(forge_url_parse(&p, addresses[i]));
        assert_null(p.repo);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_no_forge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
