/*
 * The events of `copilot --output-format json`. Only the last line names the session. After an
 * interrupt that line, like the exit code, reports success, so the events before it count. Its
 * events report neither tokens nor blocked answers: both are in the spans that it writes to
 * standard error.
 */
#include "agent/output/dialect.h"
#include "base/mem.h"
#include "plan/cause.h"

#include <string.h>

enum {
    TYPE,
    SESSION,
    EXIT_CODE,
    MODEL,
    CONTENT, /* its text */
    CALL,    /* id of a tool call */
    TOOL,
    TARGET,      /* target of a tool ... */
    DESCRIPTION, /* ... if there is no target */
    SUCCESS,     /* of a tool call */
    TOOL_EXIT,   /* of a command; SUCCESS is true even if this is not 0 */
    ANSWER,
    ERROR,
    ERROR_CODE,
    ERROR_TYPE, /* of an error that ends the session */
    STATUS,
    MESSAGE,
    WHY, /* why it retries */
    QUESTION,
    ABORTED,
};

static const struct json_field fields[] = {
    {"type", TYPE},
    {"sessionId", SESSION},
    {"exitCode", EXIT_CODE},
    {"data.model", MODEL},
    {"data.content", CONTENT},
    {"data.toolCallId", CALL},
    {"data.toolName", TOOL},
    {"data.arguments.path", TARGET},
    {"data.arguments.command", TARGET},
    {"data.arguments.pattern", TARGET},
    {"data.arguments.url", TARGET},
    {"data.arguments.query", TARGET},
    {"data.arguments.description", DESCRIPTION},
    {"data.success", SUCCESS},
    {"data.shellExecution.exitCode", TOOL_EXIT},
    {"data.result.content", ANSWER},
    {"data.error.message", ERROR},
    {"data.error.code", ERROR_CODE},
    {"data.errorType", ERROR_TYPE},
    {"data.statusCode", STATUS},
    {"data.message", MESSAGE},
    {"data.reason", WHY},
    {"data.question", QUESTION},
    {"data.aborted", ABORTED},
};

static void begin_tool(struct agent_report *r, const struct dialect_line *l)
{
    const char *on = dialect_text(l, dialect_count(l, TARGET) ? TARGET : DESCRIPTION);
    dialect_begin_tool(r, dialect_text(l, CALL), dialect_text(l, TOOL), on);
}

/* The event does not name the tool; usually it is the one that began last. */
static void end_tool(struct agent_report *r, const struct dialect_line *l)
{
    dialect_end_tool(r, dialect_text(l, CALL));
    if (dialect_true(l, SUCCESS)) {
        if (dialect_int(l, TOOL_EXIT, 0) != 0)
            dialect_say(r, AGENT_REFUSAL, dialect_text(l, ANSWER));
        return;
    }
    if (dialect_is(l, ERROR_CODE, "denied"))
        dialect_deny(r, r->action.s);
    dialect_say(r, AGENT_REFUSAL, dialect_text(l, ERROR));
}

static enum failure classify_failure(const struct dialect_line *l)
{
    static const struct {
        const char *type;
        enum failure failure;
    } known[] = {
        {"authentication", FAILURE_AUTH}, {"authorization", FAILURE_AUTH},
        {"policy", FAILURE_REFUSED},      {"quota", FAILURE_LIMIT},
        {"rate_limit", FAILURE_LIMIT},    {"context_limit", FAILURE_CONTEXT},
    };
    enum failure failure;
    if (cause_of_words(dialect_text(l, MESSAGE), &failure))
        return failure;
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (dialect_is(l, ERROR_TYPE, known[i].type))
            return known[i].failure;
    }
    return cause_of_status(dialect_int(l, STATUS, 0));
}

static void read_result(struct agent_report *r, const struct dialect_line *l)
{
    bool ok = !r->failed && dialect_int(l, EXIT_CODE, -1) == 0;
    dialect_set(r, &r->session, dialect_text(l, SESSION));
    if (!ok && !r->failed)
        dialect_fail(r, FAILURE_TRANSIENT, "it ended with an unnamed error");
    dialect_end(r, ok, "");
}

static void report_wait(struct agent_report *r, const struct dialect_line *l)
{
    autofree char *what = mem_printf("waits for its model: %s", dialect_text(l, WHY));
    dialect_wait(r, what, -1);
}

static void read_line(struct agent_report *r, const struct dialect_line *l)
{
    if (dialect_is(l, TYPE, "session.tools_updated"))
        dialect_set(r, &r->model, dialect_text(l, MODEL));
    else if (dialect_is(l, TYPE, "assistant.message") && *dialect_text(l, CONTENT))
        dialect_say(r, AGENT_WORDS, dialect_text(l, CONTENT));
    else if (dialect_is(l, TYPE, "tool.execution_start"))
        begin_tool(r, l);
    else if (dialect_is(l, TYPE, "tool.execution_complete"))
        end_tool(r, l);
    else if (dialect_is(l, TYPE, "assistant.turn_retry"))
        report_wait(r, l);
    else if (dialect_is(l, TYPE, "subagent.started"))
        dialect_add_helper(r, "");
    else if (dialect_is(l, TYPE, "user_input.requested"))
        dialect_say(r, AGENT_ASK, dialect_text(l, QUESTION));
    else if (dialect_is(l, TYPE, "session.error"))
        dialect_fail(r, classify_failure(l), dialect_text(l, MESSAGE));
    else if (dialect_is(l, TYPE, "assistant.idle") && dialect_true(l, ABORTED))
        dialect_fail(r, FAILURE_TRANSIENT, "it was interrupted");
    else if (dialect_is(l, TYPE, "result"))
        read_result(r, l);
}

const struct dialect dialect_copilot = {fields, ARRAY_LEN(fields), read_line, 0, NULL};

static void read_usage(struct agent_report *r, const char *line)
{
#define USAGE "\"gen_ai.usage."
    int64_t in = dialect_number_behind(line, USAGE "input_tokens\":"),
            read = dialect_number_behind(line, USAGE "cache_read.input_tokens\":"),
            made = dialect_number_behind(line, USAGE "cache_write.input_tokens\":") +
                   dialect_number_behind(line, USAGE "cache_creation.input_tokens\":");
    r->tokens_in += in > read + made ? in - read - made : 0;
    r->tokens_out += dialect_number_behind(line, USAGE "output_tokens\":");
    r->cache_read += read;
    r->cache_made += made;
    r->changed = true;
#undef USAGE
}

/* Reads a span; there is one for each model call. */
void dialect_copilot_hear(struct agent_report *r, const char *line)
{
    static const char blocked[] = "a content filter blocked the model's answer";
    if (strncmp(line, "{\"type\":\"span\",", 15) != 0 || !strstr(line, "\"name\":\"chat "))
        return;
    read_usage(r, line);
    if (strstr(line, "finish_reasons\":[\"content_filter\"]"))
        dialect_fail(r, FAILURE_REFUSED, blocked);
    else if (r->failed && strcmp(r->reason.s, blocked) == 0)
        r->failed = false; /* copilot has called the model again */
}
