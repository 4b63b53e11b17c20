#include "plan/cause.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct sample {
    int64_t status;
    const char *text;
    enum failure failure;
};

static void check(const struct sample *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        enum failure got = cause_of(cases[i].status, cases[i].text);
        if (got != cases[i].failure)
            fail_msg("%d '%s' is %s", (int)cases[i].status, cases[i].text, failure_names[got]);
    }
}
#define CHECK(cases) check(cases, ARRAY_LEN(cases))

/* In the words of the servers and the agents that we know. */
static void test_context(void **state)
{
    (void)state;
    static const struct sample cases[] = {
        {400, "prompt is too long: 210000 tokens > 200000 maximum", FAILURE_CONTEXT},
        {400, "Prompt is too long", FAILURE_CONTEXT},
        {400, "This model's maximum context length is 128000 tokens.", FAILURE_CONTEXT},
        {400, "{\"code\":\"context_length_exceeded\"}", FAILURE_CONTEXT},
        {0, "Codex ran out of room in the model's context window.", FAILURE_CONTEXT},
        {400,
         "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).",
         FAILURE_CONTEXT},
        {0, "ContextOverflowError", FAILURE_CONTEXT},
        {413, "Request exceeds the maximum size", FAILURE_CONTEXT},
    };
    CHECK(cases);
}

static void test_money(void **state)
{
    (void)state;
    static const struct sample cases[] = {
        {400, "Your credit balance is too low to access the Anthropic API.", FAILURE_AUTH},
        {429, "You exceeded your current quota, please check your plan and billing details.",
         FAILURE_AUTH},
        {0, "Quota exceeded. Check your plan and billing details.", FAILURE_AUTH},
        {429, "insufficient_quota", FAILURE_AUTH},
        {402, "Insufficient Balance", FAILURE_AUTH},
        {402, "", FAILURE_AUTH},
    };
    CHECK(cases);
}

static void test_limit(void **state)
{
    (void)state;
    static const struct sample cases[] = {
        {429, "", FAILURE_LIMIT},
        {0,
         "You've hit your usage limit. Visit https://x to purchase more credits or try again at "
         "6:41 PM.",
         FAILURE_LIMIT},
        {0, "Rate limit reached: add a payment method at https://x/account/billing", FAILURE_LIMIT},
        {0, "rate_limit_error", FAILURE_LIMIT},
        {0, "Quota exhausted: try again tomorrow", FAILURE_LIMIT},
        {0, "exceeded retry limit, last status: 429 Too Many Requests", FAILURE_LIMIT},
    };
    CHECK(cases);
}

static void test_statuses(void **state)
{
    (void)state;
    static const struct sample cases[] = {
        {401, "Incorrect API key provided", FAILURE_AUTH},
        {403, "", FAILURE_AUTH},
        {404, "no such model", FAILURE_SETUP},
        {400, "messages: at least one message is required", FAILURE_REFUSED},
        {422, "", FAILURE_REFUSED},
        {408, "", FAILURE_TRANSIENT},
        {500, "", FAILURE_TRANSIENT},
        {503, "", FAILURE_OVERLOADED},
        {529, "", FAILURE_OVERLOADED},
        {0, "", FAILURE_TRANSIENT},
        {0, "the connection was lost", FAILURE_TRANSIENT},
    };
    CHECK(cases);
}

static void test_mentions(void **state)
{
    (void)state;
    assert_true(cause_mentions("a Rate-Limit", "rate limit"));
    assert_true(cause_mentions("ratelimit", "rate limit"));
    assert_true(cause_mentions("RATE_LIMIT", "rate limit"));
    assert_false(cause_mentions("rate  limit", "rate limit"));
    assert_false(cause_mentions("rat", "rate limit"));
    assert_false(cause_mentions("", "rate limit"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_context),  cmocka_unit_test(test_money),
        cmocka_unit_test(test_limit),    cmocka_unit_test(test_statuses),
        cmocka_unit_test(test_mentions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
