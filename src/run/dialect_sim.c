#include "run/agent_dialect.h"

#include "base/build.h"

#include <string.h>

static enum failure failure_of(const char *name)
{
    for (int i = 0; i < FAILURE_COUNT_; i++) {
        if (strcmp(failure_names[i], name) == 0)
            return (enum failure)i;
    }
    return FAILURE_TRANSIENT;
}

static double money(const struct node *map)
{
    const struct node *usd = node_get(map, "usd");
    if (!usd)
        return -1;
    return usd->kind == NODE_INT ? (double)usd->integer : usd->kind == NODE_REAL ? usd->real : -1;
}

static void add_usage(struct agent_report *r, const struct node *map)
{
    double usd = money(map);
    r->tokens_in += build_int(map, "tokens_in", 0);
    r->tokens_out += build_int(map, "tokens_out", 0);
    if (usd >= 0)
        r->usd = (r->usd < 0 ? 0 : r->usd) + usd;
    r->changed = true;
}

void dialect_sim(struct agent_report *r, const char *line, size_t len)
{
    struct arena a = {0};
    const struct node *map = dialect_parse(&a, line, len);
    const char *type = build_string(map, "type", "");
    const char *text = build_string(map, "text", "");
    if (strcmp(type, "start") == 0) {
        dialect_set(r, &r->session, build_string(map, "session", ""));
    } else if (strcmp(type, "action") == 0) {
        dialect_set(r, &r->action, text);
    } else if (strcmp(type, "text") == 0) {
        dialect_set(r, &r->text, text);
    } else if (strcmp(type, "usage") == 0) {
        add_usage(r, map);
    } else if (strcmp(type, "limit") == 0) {
        r->reset = build_int(map, "resets_at", 0) * 1000;
        dialect_fail(r, FAILURE_LIMIT, *text ? text : "usage limit reached");
    } else if (strcmp(type, "error") == 0) {
        dialect_fail(r, failure_of(build_string(map, "class", "transient")), text);
    } else if (strcmp(type, "ask") == 0) {
        dialect_set(r, &r->action, text);
    } else if (strcmp(type, "result") == 0) {
        const struct node *ok = node_get(map, "ok");
        r->finished = true;
        r->ok = ok && ok->kind == NODE_BOOL && ok->truth;
        if (*text)
            dialect_set(r, &r->text, text);
    }
    arena_done(&a);
}
