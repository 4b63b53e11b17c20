#include "agent/output/dialect.h"

#include "base/mem.h"

#include <string.h>

enum { TYPE, ID, TEXT, SESSION, TOKENS_IN, TOKENS_OUT, USD, RESETS_AT, CLASS, OK };

static const struct json_field fields[] = {
    {"type", TYPE},
    {"id", ID},
    {"text", TEXT},
    {"session", SESSION},
    {"tokens_in", TOKENS_IN},
    {"tokens_out", TOKENS_OUT},
    {"usd", USD},
    {"resets_at", RESETS_AT},
    {"class", CLASS},
    {"ok", OK},
};

static enum failure parse_failure(const char *name)
{
    for (int i = 0; i < FAILURE_COUNT_; i++) {
        if (strcmp(failure_names[i], name) == 0)
            return (enum failure)i;
    }
    return FAILURE_TRANSIENT;
}

static void add_usage(struct agent_report *r, const struct dialect_line *l)
{
    double usd = dialect_real(l, USD, -1);
    r->tokens_in += dialect_int(l, TOKENS_IN, 0);
    r->tokens_out += dialect_int(l, TOKENS_OUT, 0);
    if (usd >= 0)
        r->usd = (r->usd < 0 ? 0 : r->usd) + usd;
    r->changed = true;
}

static void read_line(struct agent_report *r, const struct dialect_line *l)
{
    const char *text = dialect_text(l, TEXT);
    if (dialect_is(l, TYPE, "start")) {
        dialect_set(r, &r->session, dialect_text(l, SESSION));
    } else if (dialect_is(l, TYPE, "action")) {
        dialect_say(r, AGENT_ACTION, text);
    } else if (dialect_is(l, TYPE, "tool")) {
        dialect_begin_tool(r, dialect_text(l, ID), text, "");
    } else if (dialect_is(l, TYPE, "tool_end")) {
        dialect_end_tool(r, dialect_text(l, ID));
    } else if (dialect_is(l, TYPE, "ask")) {
        dialect_say(r, AGENT_ASK, text);
    } else if (dialect_is(l, TYPE, "text")) {
        dialect_say(r, AGENT_WORDS, text);
    } else if (dialect_is(l, TYPE, "usage")) {
        add_usage(r, l);
    } else if (dialect_is(l, TYPE, "limit")) {
        r->reset = dialect_int(l, RESETS_AT, 0) * 1000;
        dialect_fail(r, FAILURE_LIMIT, *text ? text : "usage limit reached");
    } else if (dialect_is(l, TYPE, "error")) {
        dialect_fail(r, parse_failure(dialect_text(l, CLASS)), text);
    } else if (dialect_is(l, TYPE, "result")) {
        dialect_end(r, dialect_true(l, OK), text);
    }
}

const struct dialect dialect_sim = {
    .fields = fields,
    .n = ARRAY_LEN(fields),
    .read_line = read_line,
};
