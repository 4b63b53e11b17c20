/*
 * gemini's stream-json. A result may say "success" after an error, and the exit code is 0 then. If
 * the model had to stop early (SAFETY, MAX_TOKENS), that is an error only if there is no text:
 * otherwise the output does not differ from that of a good answer.
 */
#include "agent/output/dialect.h"
#include "base/mem.h"
#include "plan/cause.h"

#include <string.h>

enum {
    TYPE,
    SESSION,
    MODEL,
    ROLE,
    CONTENT,
    DELTA,
    TOOL,
    TARGET,
    DESCRIPTION,
    TOOL_ID, /* begins with the tool's name and "__" */
    STATUS,
    OUTPUT,
    MESSAGE,
    ERROR_TYPE,
    ERROR,
    TOKENS_IN, /* without cached tokens */
    TOKENS_OUT,
    CACHE_READ,
};

static const struct json_field fields[] = {
    {"type", TYPE},
    {"session_id", SESSION},
    {"model", MODEL},
    {"role", ROLE},
    {"content", CONTENT},
    {"delta", DELTA},
    {"tool_name", TOOL},
    {"parameters.file_path", TARGET},
    {"parameters.dir_path", TARGET},
    {"parameters.command", TARGET},
    {"parameters.pattern", TARGET},
    {"parameters.url", TARGET},
    {"parameters.description", DESCRIPTION},
    {"tool_id", TOOL_ID},
    {"status", STATUS},
    {"output", OUTPUT},
    {"message", MESSAGE},
    {"error.type", ERROR_TYPE},
    {"error.message", ERROR},
    {"stats.input", TOKENS_IN},
    {"stats.output_tokens", TOKENS_OUT},
    {"stats.cached", CACHE_READ},
};

/* Classifies an error text; false if it names nothing that we know. */
static bool classify_text(const char *text, enum failure *ret)
{
    static const struct {
        const char *words;
        enum failure failure;
    } known[] = {
        {"API_KEY_INVALID", FAILURE_AUTH}, /* comes with status 400 */
        {"API key not valid", FAILURE_AUTH},        {"UNAUTHENTICATED", FAILURE_AUTH},
        {"PERMISSION_DENIED", FAILURE_AUTH},        {"FatalAuthenticationError", FAILURE_AUTH},
        {"RESOURCE_EXHAUSTED", FAILURE_LIMIT},      {"Status: UNAVAILABLE", FAILURE_OVERLOADED},
        {"FatalTurnLimitedError", FAILURE_TIMEOUT}, {"exceeded the token limit", FAILURE_TIMEOUT},
        {"response was blocked", FAILURE_REFUSED},
    };
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (strstr(text, known[i].words)) {
            *ret = known[i].failure;
            return true;
        }
    }
    int64_t status = dialect_number_behind(text, "\"code\":");
    *ret = cause_of_status(status);
    return cause_of_words(text, ret) || status != 0;
}

/* gemini stops after such an error, whatever its result says: at a loop, and at an invalid answer.
 */
static void read_error(struct agent_report *r, const struct dialect_line *l)
{
    enum failure failure;
    (void)classify_text(dialect_text(l, MESSAGE), &failure);
    dialect_fail(r, failure, dialect_text(l, MESSAGE));
}

/* If the message does not name a class, the exit code does. */
static void read_result(struct agent_report *r, const struct dialect_line *l)
{
    enum failure failure;
    bool ok = dialect_is(l, STATUS, "success") && !r->failed;
    const char *message = dialect_text(l, ERROR);
    r->tokens_in = dialect_int(l, TOKENS_IN, r->tokens_in);
    r->tokens_out = dialect_int(l, TOKENS_OUT, r->tokens_out);
    r->cache_read = dialect_int(l, CACHE_READ, r->cache_read);
    r->changed = true;
    dialect_end(r, ok, message);
    if (!ok && !r->failed &&
        (classify_text(dialect_text(l, ERROR_TYPE), &failure) || classify_text(message, &failure)))
        dialect_fail(r, failure, message);
}

/* A tool without permission does not exist for gemini. */
static void read_tool_result(struct agent_report *r, const struct dialect_line *l)
{
    dialect_end_tool(r, dialect_text(l, TOOL_ID));
    if (!dialect_is(l, STATUS, "error"))
        return;
    dialect_say(r, AGENT_REFUSAL, dialect_text(l, *dialect_text(l, OUTPUT) ? OUTPUT : ERROR));
    if (dialect_is(l, ERROR_TYPE, "tool_not_registered") ||
        dialect_is(l, ERROR_TYPE, "policy_violation")) {
        const char *id = dialect_text(l, TOOL_ID), *end = strstr(id, "__");
        autobuf struct buf tool = BUF_INIT;
        buf_add(&tool, id, end ? (size_t)(end - id) : strlen(id));
        dialect_deny(r, tool.s);
    }
}

static void read_message(struct agent_report *r, const struct dialect_line *l)
{
    if (dialect_true(l, DELTA))
        dialect_add_words(r, dialect_text(l, CONTENT));
    else
        dialect_say(r, AGENT_WORDS, dialect_text(l, CONTENT));
}

static void read_line(struct agent_report *r, const struct dialect_line *l)
{
    bool words = dialect_is(l, TYPE, "message") && dialect_is(l, ROLE, "assistant");
    if (!words || !dialect_true(l, DELTA))
        dialect_end_words(r);
    if (words) {
        read_message(r, l);
    } else if (dialect_is(l, TYPE, "init")) {
        dialect_set(r, &r->session, dialect_text(l, SESSION));
        dialect_set(r, &r->model, dialect_text(l, MODEL));
    } else if (dialect_is(l, TYPE, "tool_use")) {
        const char *on = dialect_text(l, dialect_count(l, TARGET) ? TARGET : DESCRIPTION);
        dialect_begin_tool(r, dialect_text(l, TOOL_ID), dialect_text(l, TOOL), on);
    } else if (dialect_is(l, TYPE, "tool_result")) {
        read_tool_result(r, l);
    } else if (dialect_is(l, TYPE, "error")) {
        read_error(r, l);
    } else if (dialect_is(l, TYPE, "result")) {
        read_result(r, l);
    }
}

const struct dialect dialect_gemini = {
    .fields = fields,
    .n = ARRAY_LEN(fields),
    .read_line = read_line,
};
