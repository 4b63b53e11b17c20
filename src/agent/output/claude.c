/*
 * Claude Code's stream-json. A result may say "success" and be an error, may not be the last line,
 * and may be missing although the exit code is 0: see agent_failed().
 */
#include "agent/output/dialect.h"
#include "base/mem.h"
#include "plan/cause.h"

#include <string.h>

enum {
    TYPE,
    SUBTYPE,
    SESSION,
    MODEL,
    ATTEMPT, /* attempts to reach the model ... */
    ATTEMPTS,
    DELAY, /* ... ms until the next one ... */
    WHY,   /* ... why the last one failed */
    TASK,  /* kind of a task that was started beside the main one ... */
    TASK_NAME,
    TASK_CALL, /* ... id of the tool call that started it */
    IS_ERROR,
    STATUS,
    STOP_REASON,
    RESULT,
    ERROR,
    DENIED,
    TOKENS_IN,
    TOKENS_OUT,
    CACHE_READ,
    CACHE_MADE,
    COST,
    MODEL_IN, /* of each model, for all turns and helpers */
    MODEL_OUT,
    MODEL_READ,
    MODEL_MADE,
    MESSAGE, /* id of a message of the model, which has a line for each of its blocks */
    MESSAGE_IN,
    MESSAGE_OUT,
    MESSAGE_READ,
    MESSAGE_MADE,
    BLOCK,
    BLOCK_TYPE,
    BLOCK_TEXT,
    CALL, /* id of a tool call ... */
    TOOL,
    TARGET,      /* target of a tool ... */
    DESCRIPTION, /* ... if there is no target */
    ANSWERED,    /* ... id of the tool call that this answers */
    TOOL_FAILED,
    ANSWER, /* a string, or several parts with types */
};

static const struct json_field fields[] = {
    {"type", TYPE},
    {"subtype", SUBTYPE},
    {"session_id", SESSION},
    {"model", MODEL},
    {"attempt", ATTEMPT},
    {"max_retries", ATTEMPTS},
    {"retry_delay_ms", DELAY},
    {"data.delayMs", DELAY}, /* only qwen has these three */
    {"data.attempt", ATTEMPT},
    {"data.maxRetries", ATTEMPTS},
    {"error", WHY},
    {"task_type", TASK},
    {"subagent_type", TASK_NAME},
    {"tool_use_id", TASK_CALL},
    {"is_error", IS_ERROR},
    {"api_error_status", STATUS},
    {"stop_reason", STOP_REASON},
    {"result", RESULT},
    {"errors[]", ERROR},
    {"error.message", ERROR}, /* only qwen */
    {"permission_denials[].tool_name", DENIED},
    {"usage.input_tokens", TOKENS_IN},
    {"usage.output_tokens", TOKENS_OUT},
    {"usage.cache_read_input_tokens", CACHE_READ},
    {"usage.cache_creation_input_tokens", CACHE_MADE},
    {"total_cost_usd", COST},
    {"modelUsage.*.inputTokens", MODEL_IN},
    {"modelUsage.*.outputTokens", MODEL_OUT},
    {"modelUsage.*.cacheReadInputTokens", MODEL_READ},
    {"modelUsage.*.cacheCreationInputTokens", MODEL_MADE},
    {"message.id", MESSAGE},
    {"message.usage.input_tokens", MESSAGE_IN},
    {"message.usage.output_tokens", MESSAGE_OUT},
    {"message.usage.cache_read_input_tokens", MESSAGE_READ},
    {"message.usage.cache_creation_input_tokens", MESSAGE_MADE},
    {"message.content[]", BLOCK},
    {"message.content[].type", BLOCK_TYPE},
    {"message.content[].text", BLOCK_TEXT},
    {"message.content[].id", CALL},
    {"message.content[].name", TOOL},
    {"message.content[].input.file_path", TARGET},
    {"message.content[].input.path", TARGET},
    {"message.content[].input.command", TARGET},
    {"message.content[].input.pattern", TARGET},
    {"message.content[].input.url", TARGET},
    {"message.content[].input.questions[].question", TARGET},
    {"message.content[].input.description", DESCRIPTION},
    {"message.content[].tool_use_id", ANSWERED},
    {"message.content[].is_error", TOOL_FAILED},
    {"message.content[].content", ANSWER},
    {"message.content[].content[].text", ANSWER},
};

/* Reads a block of the model's message, or of the answer to it. */
static void read_block(struct agent_report *r, const struct dialect_line *l)
{
    if (dialect_is(l, BLOCK_TYPE, "text")) {
        if (dialect_is(l, TYPE, "assistant"))
            dialect_say(r, AGENT_WORDS, dialect_text(l, BLOCK_TEXT));
    } else if (dialect_is(l, BLOCK_TYPE, "tool_use")) {
        const char *on = dialect_text(l, dialect_count(l, TARGET) ? TARGET : DESCRIPTION);
        dialect_begin_tool(r, dialect_text(l, CALL), dialect_text(l, TOOL), on);
    } else if (dialect_is(l, BLOCK_TYPE, "tool_result")) {
        dialect_end_tool(r, dialect_text(l, ANSWERED));
        if (dialect_true(l, TOOL_FAILED))
            dialect_say(r, AGENT_REFUSAL, dialect_text(l, ANSWER));
    }
}

static enum failure classify_failure(const struct dialect_line *l, const char *reason)
{
    enum failure failure = cause_of(dialect_int(l, STATUS, 0), reason);
    if (failure != FAILURE_TRANSIENT)
        return failure;
    if (dialect_is(l, STOP_REASON, "refusal"))
        return FAILURE_REFUSED;
    if (dialect_is(l, SUBTYPE, "error_max_budget_usd"))
        return FAILURE_BUDGET;
    return strncmp(dialect_text(l, SUBTYPE), "error_max", 9) == 0 ? FAILURE_TIMEOUT
                                                                  : FAILURE_TRANSIENT;
}

static const char *find_reason(const struct dialect_line *l)
{
    static const int reason_fields[] = {RESULT, ERROR, SUBTYPE};
    for (size_t i = 0; i < ARRAY_LEN(reason_fields); i++) {
        if (*dialect_text(l, reason_fields[i]))
            return dialect_text(l, reason_fields[i]);
    }
    return "error";
}

/* `usage` covers only the last turn of the main agent. `modelUsage`, like the cost, covers
 * everything that the process used. */
static void read_usage(struct agent_report *r, const struct dialect_line *l)
{
    struct {
        int64_t *to;
        int models, turn;
    } const counts[] = {{&r->tokens_in, MODEL_IN, TOKENS_IN},
                        {&r->tokens_out, MODEL_OUT, TOKENS_OUT},
                        {&r->cache_read, MODEL_READ, CACHE_READ},
                        {&r->cache_made, MODEL_MADE, CACHE_MADE}};
    bool by_models = dialect_count(l, MODEL_IN);
    for (size_t i = 0; i < ARRAY_LEN(counts); i++)
        *counts[i].to = by_models ? dialect_sum(l, counts[i].models)
                                  : dialect_int(l, counts[i].turn, *counts[i].to);
    r->usd = dialect_real(l, COST, r->usd);
    r->changed = true;
}

/* Each result lists all denials of the session. */
static void read_result(struct agent_report *r, const struct dialect_line *l)
{
    bool ok = !dialect_true(l, IS_ERROR);
    read_usage(r, l);
    r->denials = (int)dialect_count(l, DENIED);
    if (r->denials)
        dialect_set(r, &r->denied, dialect_text(l, DENIED));
    dialect_end(r, ok, ok ? dialect_text(l, RESULT) : find_reason(l));
    if (!ok)
        dialect_fail(r, classify_failure(l, find_reason(l)), find_reason(l));
}

static void report_retry(struct agent_report *r, const struct dialect_line *l)
{
    const char *why = dialect_text(l, WHY);
    autofree char *what =
        mem_printf("waits for its model: %s, try %lld of %lld", *why ? why : "it did not answer",
                   (long long)dialect_int(l, ATTEMPT, 0), (long long)dialect_int(l, ATTEMPTS, 0));
    dialect_wait(r, what, dialect_int(l, DELAY, -1));
}

static void read_system(struct agent_report *r, const struct dialect_line *l)
{
    if (dialect_is(l, SUBTYPE, "init")) {
        dialect_set(r, &r->session, dialect_text(l, SESSION));
        dialect_set(r, &r->model, dialect_text(l, MODEL));
    } else if (dialect_is(l, SUBTYPE, "api_retry") ||
               (dialect_is(l, SUBTYPE, "retry") && dialect_count(l, DELAY))) {
        report_retry(r, l);
    } else if (dialect_is(l, SUBTYPE, "task_started") && dialect_is(l, TASK, "local_agent")) {
        tool_calls_helps(&r->tools, dialect_text(l, TASK_CALL));
        dialect_add_helper(r, dialect_text(l, TASK_NAME));
    }
}

/* Counts the tokens of a message as an estimate: it reports its length before it is complete. The
 * totals in the result replace this later. */
static void count_message(struct agent_report *r, const struct dialect_line *l)
{
    if (!dialect_count(l, MESSAGE) || dialect_counted(r, dialect_text(l, MESSAGE)))
        return;
    r->changed = true;
    r->tokens_in += dialect_int(l, MESSAGE_IN, 0);
    r->tokens_out += dialect_int(l, MESSAGE_OUT, 0);
    r->cache_read += dialect_int(l, MESSAGE_READ, 0);
    r->cache_made += dialect_int(l, MESSAGE_MADE, 0);
}

static void read_line(struct agent_report *r, const struct dialect_line *l)
{
    if (dialect_is(l, TYPE, "assistant"))
        count_message(r, l);
    else if (dialect_is(l, TYPE, "result"))
        read_result(r, l);
    else if (dialect_is(l, TYPE, "system"))
        read_system(r, l);
}

const struct dialect dialect_claude = {
    .fields = fields,
    .n = ARRAY_LEN(fields),
    .read_line = read_line,
    .part = BLOCK,
    .read_part = read_block,
};
