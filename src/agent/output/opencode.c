/*
 * opencode's events. No event reports the end: opencode was successful if its last step ended
 * because the model had nothing more to say. A step reports only its own usage.
 *
 * If the conversation no longer fits into the model's context, opencode reports an error, compacts
 * the conversation in a step of its own, adds a synthetic text, and continues. Then its exit code
 * is 1 even if it ends successfully.
 */
#include "agent/output/dialect.h"
#include "agent/reset_time.h"
#include "base/mem.h"
#include "plan/cause.h"
#include "sys/clock.h"

#include <string.h>

enum {
    TYPE,
    SESSION,
    TEXT,
    SYNTHETIC, /* text of opencode itself, not of the model */
    CONTINUES, /* ... after which it continues, compacted */
    TOOL,
    STATUS,
    TARGET,
    TITLE,
    MISSING, /* tool that the model wanted but that does not exist */
    TOOL_ERROR,
    REASON,
    TOKENS_IN,
    TOKENS_OUT,
    THOUGHTS, /* not included in TOKENS_OUT */
    CACHE_READ,
    CACHE_MADE,
    COST,
    ERROR_NAME,
    ERROR,
    HTTP_STATUS,
};

static const struct json_field fields[] = {
    {"type", TYPE},
    {"sessionID", SESSION},
    {"part.text", TEXT},
    {"part.synthetic", SYNTHETIC},
    {"part.metadata.compaction_continue", CONTINUES},
    {"part.tool", TOOL},
    {"part.state.status", STATUS},
    {"part.state.input.filePath", TARGET},
    {"part.state.input.path", TARGET},
    {"part.state.input.command", TARGET},
    {"part.state.input.pattern", TARGET},
    {"part.state.input.url", TARGET},
    {"part.state.title", TITLE},
    {"part.state.input.tool", MISSING},
    {"part.state.error", TOOL_ERROR},
    {"part.state.input.error", TOOL_ERROR},
    {"part.reason", REASON},
    {"part.tokens.input", TOKENS_IN},
    {"part.tokens.output", TOKENS_OUT},
    {"part.tokens.reasoning", THOUGHTS},
    {"part.tokens.cache.read", CACHE_READ},
    {"part.tokens.cache.write", CACHE_MADE},
    {"part.cost", COST},
    {"error.name", ERROR_NAME},
    {"error.data.message", ERROR},
    {"error.data.statusCode", HTTP_STATUS},
};

/* opencode reports a tool when it has ended. */
static void read_tool(struct agent_report *r, const struct dialect_line *l)
{
    const char *error = dialect_text(l, TOOL_ERROR);
    bool missing = dialect_is(l, TOOL, "invalid") && dialect_count(l, MISSING);
    const char *tool = dialect_text(l, missing ? MISSING : TOOL);
    dialect_act(r, tool, missing ? "" : dialect_text(l, dialect_count(l, TARGET) ? TARGET : TITLE));
    if (!missing && !dialect_is(l, STATUS, "error"))
        return;
    dialect_say(r, AGENT_REFUSAL, error);
    if ((missing && strstr(error, "unavailable tool")) ||
        strstr(error, "a rule which prevents you") || strstr(error, "rejected permission"))
        dialect_deny(r, tool);
}

static void add_usage(struct agent_report *r, const struct dialect_line *l)
{
    double usd = dialect_real(l, COST, -1);
    r->tokens_in += dialect_int(l, TOKENS_IN, 0);
    r->tokens_out += dialect_int(l, TOKENS_OUT, 0) + dialect_int(l, THOUGHTS, 0);
    r->cache_read += dialect_int(l, CACHE_READ, 0);
    r->cache_made += dialect_int(l, CACHE_MADE, 0);
    if (usd >= 0)
        r->usd = (r->usd < 0 ? 0 : r->usd) + usd;
    r->changed = true;
}

static void end_badly(struct agent_report *r, enum failure failure, const char *reason)
{
    dialect_end(r, false, "");
    dialect_fail(r, failure, reason);
}

static void read_step_end(struct agent_report *r, const struct dialect_line *l)
{
    add_usage(r, l);
    if (dialect_is(l, REASON, "stop"))
        dialect_end(r, true, "");
    else if (dialect_is(l, REASON, "length"))
        end_badly(r, FAILURE_TIMEOUT, "the model's answer was cut off: it was too long");
    else if (dialect_is(l, REASON, "content-filter"))
        end_badly(r, FAILURE_REFUSED, "a content filter blocked the model's answer");
    else if (!dialect_is(l, REASON, "tool-calls"))
        end_badly(r, FAILURE_TRANSIENT, "the model's answer ended for no known reason");
}

static enum failure classify_failure(const struct dialect_line *l)
{
    static const struct {
        const char *name;
        enum failure failure;
    } known[] = {
        {"ProviderAuthError", FAILURE_AUTH},           {"ContentFilterError", FAILURE_REFUSED},
        {"MessageOutputLengthError", FAILURE_TIMEOUT}, {"ContextOverflowError", FAILURE_CONTEXT},
        {"ProviderModelNotFoundError", FAILURE_SETUP},
    };
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (dialect_is(l, ERROR_NAME, known[i].name))
            return known[i].failure;
    }
    return cause_of(dialect_int(l, HTTP_STATUS, 0), dialect_text(l, ERROR));
}

static void begin_step(struct agent_report *r)
{
    r->recovered = r->recovered || r->failed;
    r->finished = r->failed = false;
}

static void read_text(struct agent_report *r, const struct dialect_line *l)
{
    if (dialect_true(l, CONTINUES))
        r->finished = false;
    if (!dialect_true(l, SYNTHETIC))
        dialect_say(r, AGENT_WORDS, dialect_text(l, TEXT));
}

static void read_line(struct agent_report *r, const struct dialect_line *l)
{
    if (!r->session.len)
        dialect_set(r, &r->session, dialect_text(l, SESSION));
    if (dialect_is(l, TYPE, "step_start")) {
        begin_step(r);
    } else if (dialect_is(l, TYPE, "text")) {
        read_text(r, l);
    } else if (dialect_is(l, TYPE, "tool_use")) {
        read_tool(r, l);
    } else if (dialect_is(l, TYPE, "step_finish")) {
        read_step_end(r, l);
    } else if (dialect_is(l, TYPE, "error")) {
        const char *message = dialect_text(l, *dialect_text(l, ERROR) ? ERROR : ERROR_NAME);
        end_badly(r, classify_failure(l), message);
    }
}

const struct dialect dialect_opencode = {
    .fields = fields,
    .n = ARRAY_LEN(fields),
    .read_line = read_line,
};

/* Its log has a line for each request to the model and one for each failure. Between the two it
 * waits as long as the model's server wants. We ignore small models, such as those for titles. */
void dialect_opencode_hear(struct agent_report *r, const char *line)
{
    static const char mark[] = "error.error=\"";
    const char *error = strstr(line, mark);
    if (!strstr(line, " small=false "))
        return;
    if (!strstr(line, "message=\"stream error\"")) {
        if (strstr(line, "message=stream "))
            dialect_tried(r);
        return;
    }
    error = error ? error + strlen(mark) : "it failed";
    autofree char *what = mem_printf("its model failed: %.*s", (int)strcspn(error, "\""), error);
    int64_t now = clock_wall(), reset = reset_time(what, now);
    if (reset > now)
        dialect_wait(r, what, reset - now);
    else
        dialect_wait_on(r, what);
}
