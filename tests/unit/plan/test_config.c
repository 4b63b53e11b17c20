#include "plan/decode/config.h"

#include "base/node/node_build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void add_price(struct arena *a, struct node *prices, const char *model, double input,
                      double output)
{
    struct node *map = node_put_map(a, prices, model);
    node_put_real(a, map, "input", input);
    node_put_real(a, map, "output", output);
}

static struct node *tree(struct arena *a, const char *date, struct node **ret_prices)
{
    struct node *root = node_new_map(a);
    *ret_prices = node_put_map(a, root, "prices");
    node_put_string(a, *ret_prices, "date", date);
    return root;
}

static void assert_cost(const struct config *c, const char *model, struct tokens t, double usd,
                        const char *date)
{
    const char *got = "none";
    double cost = config_reckon(c, model, &t, &got);
    assert_true(cost > usd - 1e-9 && cost < usd + 1e-9);
    assert_string_equal(got, date);
}

/* The whole name goes before a beginning, a longer one before a shorter one, and of two that are
 * alike the later file. Without a price of their own, cached tokens cost as much as the others. */
static void test_prices(void **state)
{
    struct config c = {0};
    struct arena a = {0};
    struct node *prices, *root = tree(&a, "2026-01-01", &prices);
    struct problems ps;
    (void)state;
    problems_init(&ps, "user");
    add_price(&a, prices, "opus-4", 10, 100);
    add_price(&a, prices, "opus-*", 1, 1);
    add_price(&a, prices, "opus-4*", 2, 2);
    add_price(&a, prices, "free", 0, 0);
    assert_int_equal(config_decode(&c, root, &ps), 0);
    root = tree(&a, "2026-11-01", &prices);
    add_price(&a, prices, "opus-*", 3, 3);
    add_price(&a, prices, "cached", 10, 20);
    node_put_real(&a, node_get(prices, "cached"), "cache_read", 1);
    node_put_real(&a, node_get(prices, "cached"), "cache_write", 12.5);
    assert_int_equal(config_decode(&c, root, &ps), 0);

    struct tokens million = {1000000, 1000000, 0, 0}, all = {1000000, 1000000, 1000000, 1000000};
    assert_cost(&c, "opus-4", million, 110, "2026-01-01");
    assert_cost(&c, "opus-4", all, 130, "2026-01-01");
    assert_cost(&c, "opus-4-8", million, 4, "2026-01-01");
    assert_cost(&c, "opus-5", million, 6, "2026-11-01");
    assert_cost(&c, "cached", all, 43.5, "2026-11-01");
    assert_cost(&c, "free", all, 0, "2026-01-01");
    assert_cost(&c, "opus", million, -1, "none");
    assert_cost(&c, "Opus-4", million, -1, "none");
    assert_cost(&c, NULL, million, -1, "none");
    config_done(&c);
    arena_done(&a);
    problems_done(&ps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
