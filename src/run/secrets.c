#include "run/secrets.h"

#include "base/build.h"
#include "base/map.h"
#include "base/text.h"
#include "data/doc.h"

#include <string.h>

enum { SHORTEST = 4 };

static const char masked[] = "[MASKED]";

static void add(struct secrets *secrets, const char *value)
{
    size_t len = strlen(value);
    if (len < SHORTEST)
        return;
    strv_push(&secrets->values, value);
    secrets->begins[(unsigned char)*value] = true;
    secrets->longest = len > secrets->longest ? len : secrets->longest;
}

/* Agents that speak JSON print a value with quotes, backslashes or line ends in another form. */
static void add_value(struct secrets *secrets, const char *value)
{
    struct arena a = {0};
    autobuf struct buf json = BUF_INIT;
    add(secrets, value);
    if (!strpbrk(value, "\"\\\n\r\t") || text_valid(value, strlen(value)) < strlen(value))
        return;
    struct node *list = build_list(&a);
    build_add_string(&a, list, value);
    doc_write_line(&json, list);
    arena_done(&a);
    buf_cut(&json, json.len - strlen("\"]"));
    add(secrets, json.s + strlen("[\""));
}

static int longest_first(const void *a, const void *b)
{
    size_t la = strlen(*(char *const *)a), lb = strlen(*(char *const *)b);
    return la < lb ? 1 : la > lb ? -1 : 0;
}

/* Tasks share most of what the plan sets for all: each value is taken once. */
static void add_once(struct secrets *secrets, struct map *seen, const char *value)
{
    if (value && !map_put(seen, value, strlen(value), secrets))
        add_value(secrets, value);
}

void secrets_collect(struct secrets *secrets, const struct plan *plan)
{
    static const char *const known[] = {"ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY_HELPER",
                                        "OPENAI_API_KEY", "GEMINI_API_KEY", "GITHUB_TOKEN"};
    automap struct map seen = {0};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        add_once(secrets, &seen, getenv(known[i]));
    for (size_t t = 0; t < plan->task_count; t++) {
        const struct env_vars *env = &plan->tasks[t].env;
        for (size_t i = 0; i < env->n; i++) {
            if (env->v[i].secret)
                add_once(secrets, &seen, env->v[i].from ? getenv(env->v[i].from) : env->v[i].value);
        }
    }
    if (secrets->values.n)
        qsort(secrets->values.v, secrets->values.n, sizeof(char *), longest_first);
}

void secrets_done(struct secrets *secrets)
{
    strv_done(&secrets->values);
}

/* Length of the secret that s begins with, or 0. */
static size_t match(const struct secrets *secrets, const char *s, size_t len)
{
    if (!secrets->begins[(unsigned char)*s])
        return 0;
    for (size_t i = 0; i < secrets->values.n; i++) {
        size_t n = strlen(secrets->values.v[i]);
        if (n <= len && memcmp(s, secrets->values.v[i], n) == 0)
            return n;
    }
    return 0;
}

/* Masks what begins before `end`. */
static size_t mask(const struct secrets *secrets, const char *s, size_t len, size_t end,
                   struct buf *out)
{
    size_t at = 0, plain = 0;
    while (at < end) {
        size_t n = match(secrets, s + at, len - at);
        if (n) {
            buf_add(out, s + plain, at - plain);
            buf_addstr(out, masked);
            plain = at + n;
        }
        at += n ? n : 1;
    }
    buf_add(out, s + plain, at - plain);
    return at;
}

void secrets_mask(const struct secrets *secrets, const char *s, size_t len, struct buf *out)
{
    (void)mask(secrets, s, len, len, out);
}

size_t secrets_mask_part(const struct secrets *secrets, const char *s, size_t len, struct buf *out)
{
    size_t unsure = secrets->longest ? secrets->longest - 1 : 0;
    return len > unsure ? mask(secrets, s, len, len - unsure, out) : 0;
}
