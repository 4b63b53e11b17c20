/*
 * Claude Code's stream-json. A result may say "success" and be an error, may not be the last line,
 * and may be missing where the exit code is 0: see agent_failed().
 */
#include "base/mem.h"
#include "run/dialect.h"

#include <string.h>

enum {
    TYPE,
    SUBTYPE,
    SESSION,
    BLOCK_TEXT,
    TOOL,
    TARGET,      /* what a tool is used on ... */
    DESCRIPTION, /* ... where nothing else says it */
    IS_ERROR,
    STATUS,
    STOP_REASON,
    RESULT,
    ERROR,
    DENIAL,
    TOKENS_IN,
    TOKENS_OUT,
    COST,
};

static const struct json_field fields[] = {
    {"type", TYPE},
    {"subtype", SUBTYPE},
    {"session_id", SESSION},
    {"message.content[].text", BLOCK_TEXT},
    {"message.content[].name", TOOL},
    {"message.content[].input.file_path", TARGET},
    {"message.content[].input.path", TARGET},
    {"message.content[].input.command", TARGET},
    {"message.content[].input.pattern", TARGET},
    {"message.content[].input.url", TARGET},
    {"message.content[].input.description", DESCRIPTION},
    {"is_error", IS_ERROR},
    {"api_error_status", STATUS},
    {"stop_reason", STOP_REASON},
    {"result", RESULT},
    {"errors[]", ERROR},
    {"permission_denials[]", DENIAL},
    {"usage.input_tokens", TOKENS_IN},
    {"usage.output_tokens", TOKENS_OUT},
    {"total_cost_usd", COST},
};

/* One line has one block of what the model said, or more. */
static void on_assistant(struct agent_report *r, const struct dialect_line *l)
{
    if (dialect_count(l, TOOL)) {
        int on = dialect_count(l, TARGET) ? TARGET : DESCRIPTION;
        autofree char *action = mem_printf("%s %s", dialect_text(l, TOOL), dialect_text(l, on));
        dialect_set(r, &r->action, action);
    }
    if (dialect_count(l, BLOCK_TEXT))
        dialect_set(r, &r->text, dialect_text(l, BLOCK_TEXT));
}

static enum failure failure_of(const struct dialect_line *l)
{
    int64_t status = dialect_int(l, STATUS, 0);
    if (status == 401 || status == 403)
        return FAILURE_AUTH;
    if (status == 429)
        return FAILURE_LIMIT;
    if (status == 529)
        return FAILURE_OVERLOADED;
    if (status >= 400 && status < 500)
        return FAILURE_SETUP;
    if (dialect_is(l, STOP_REASON, "refusal"))
        return FAILURE_REFUSED;
    return strncmp(dialect_text(l, SUBTYPE), "error_max", 9) == 0 ? FAILURE_TIMEOUT
                                                                  : FAILURE_TRANSIENT;
}

static const char *reason_of(const struct dialect_line *l)
{
    static const int said[] = {RESULT, ERROR, SUBTYPE};
    for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
        if (*dialect_text(l, said[i]))
            return dialect_text(l, said[i]);
    }
    return "error";
}

static void on_result(struct agent_report *r, const struct dialect_line *l)
{
    r->finished = true;
    r->ok = !dialect_true(l, IS_ERROR);
    r->tokens_in = dialect_int(l, TOKENS_IN, r->tokens_in);
    r->tokens_out = dialect_int(l, TOKENS_OUT, r->tokens_out);
    r->usd = dialect_real(l, COST, r->usd);
    r->changed = true;
    if (dialect_count(l, RESULT))
        dialect_set(r, &r->text, dialect_text(l, RESULT));
    if (!r->ok)
        dialect_fail(r, failure_of(l), reason_of(l));
    else if (dialect_count(l, DENIAL))
        dialect_set(r, &r->action, "was denied a permission");
}

static void take(struct agent_report *r, const struct dialect_line *l)
{
    if (dialect_is(l, TYPE, "assistant"))
        on_assistant(r, l);
    else if (dialect_is(l, TYPE, "result"))
        on_result(r, l);
    else if (dialect_is(l, TYPE, "system") && dialect_is(l, SUBTYPE, "init"))
        dialect_set(r, &r->session, dialect_text(l, SESSION));
}

const struct dialect dialect_claude = {fields, sizeof(fields) / sizeof(fields[0]), take};
