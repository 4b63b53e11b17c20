/*
 * The events of `codex exec`. It describes failures in words, without a code. If the model
 * refuses, the turn completes without a message. It does not report commands that its sandbox
 * prevents from starting.
 *
 * Token counts are those of the whole session. After a resume they include the tokens of earlier
 * turns, which we subtract if those turns reported them (failed or interrupted turns do not). The
 * text of a failure may say when a limit ends.
 */
#include "agent/output/dialect.h"
#include "base/mem.h"
#include "plan/cause.h"

#include <stdlib.h>
#include <string.h>

enum {
    TYPE,
    THREAD,
    MESSAGE, /* of an error, or of a failed turn */
    TOKENS_IN,
    TOKENS_OUT,
    CACHE_READ,
    CACHE_MADE,
    ITEM,
    ITEM_ID,
    ITEM_TEXT,
    ITEM_MESSAGE,
    COMMAND,
    OUTPUT,
    EXIT_CODE,
    CHANGED, /* path of a changed file */
    SERVER,
    TOOL,
    QUERY,
};

static const struct json_field fields[] = {
    {"type", TYPE},
    {"thread_id", THREAD},
    {"message", MESSAGE},
    {"error.message", MESSAGE},
    {"usage.input_tokens", TOKENS_IN},
    {"usage.output_tokens", TOKENS_OUT},
    {"usage.cached_input_tokens", CACHE_READ},
    {"usage.cache_write_input_tokens", CACHE_MADE},
    {"item.type", ITEM},
    {"item.id", ITEM_ID},
    {"item.text", ITEM_TEXT},
    {"item.message", ITEM_MESSAGE},
    {"item.command", COMMAND},
    {"item.aggregated_output", OUTPUT},
    {"item.exit_code", EXIT_CODE},
    {"item.changes[].path", CHANGED},
    {"item.server", SERVER},
    {"item.tool", TOOL},
    {"item.query", QUERY},
};

/* Removes the shell from a command: of "/bin/bash -lc 'make test'" only the quoted text, if it
 * reads the same without quotes. */
static char *get_plain_command(const char *command)
{
    const char *in = strstr(command, "sh -lc "), *blank = strchr(command, ' ');
    if (!in || blank != in + 2)
        return mem_str(command);
    in += strlen("sh -lc ");
    size_t len = strlen(in);
    bool quoted = len > 1 && (*in == '\'' || *in == '"') && in[len - 1] == *in;
    for (size_t i = 1; quoted && i < len - 1; i++)
        quoted = in[i] != *in && (*in == '\'' || !strchr("\\$`", in[i]));
    return quoted ? mem_printf("%.*s", (int)(len - 2), in + 1) : mem_str(in);
}

/* Describes an item as an action; NULL if it is not one. */
static char *describe_action(const struct dialect_line *l)
{
    if (dialect_is(l, ITEM, "command_execution")) {
        autofree char *command = get_plain_command(dialect_text(l, COMMAND));
        return mem_printf("shell %s", command);
    }
    if (dialect_is(l, ITEM, "file_change")) {
        size_t more = dialect_count(l, CHANGED);
        return more > 1 ? mem_printf("edit %s and %zu more", dialect_text(l, CHANGED), more - 1)
                        : mem_printf("edit %s", dialect_text(l, CHANGED));
    }
    if (dialect_is(l, ITEM, "mcp_tool_call"))
        return mem_printf("%s %s", dialect_text(l, SERVER), dialect_text(l, TOOL));
    if (dialect_is(l, ITEM, "web_search"))
        return mem_printf("search %s", dialect_text(l, QUERY));
    return NULL;
}

/* codex reports some items only after they are done. */
static bool is_reported_late(const struct dialect_line *l)
{
    return dialect_is(l, ITEM, "file_change") || dialect_is(l, ITEM, "web_search");
}

static void begin_item(struct agent_report *r, const struct dialect_line *l)
{
    autofree char *action = describe_action(l);
    if (action)
        dialect_begin_tool(r, dialect_text(l, ITEM_ID), action, "");
}

static void end_item(struct agent_report *r, const struct dialect_line *l)
{
    autofree char *action = is_reported_late(l) ? describe_action(l) : NULL;
    dialect_end_tool(r, dialect_text(l, ITEM_ID));
    if (dialect_is(l, ITEM, "agent_message"))
        dialect_say(r, AGENT_WORDS, dialect_text(l, ITEM_TEXT));
    else if (dialect_is(l, ITEM, "error"))
        dialect_say(r, AGENT_TROUBLE, dialect_text(l, ITEM_MESSAGE));
    else if (action && strcmp(action, r->action.s) != 0)
        dialect_say(r, AGENT_ACTION, action);
    if (dialect_is(l, ITEM, "command_execution") && dialect_int(l, EXIT_CODE, 0) != 0)
        dialect_say(r, AGENT_REFUSAL, dialect_text(l, OUTPUT));
}

/* Finds the status in "unexpected status 401 ..." and "last status: 429 ..."; 0 if there is none.
 */
static long find_status(const char *reason)
{
    static const char word[] = "status";
    for (const char *at = reason; (at = strstr(at, word));) {
        at += strlen(word);
        long status = strtol(at + (*at == ':'), NULL, 10);
        if (status >= 100 && status < 600)
            return status;
    }
    return 0;
}

static enum failure classify_failure(const char *reason)
{
    static const struct {
        const char *words;
        enum failure failure;
    } known[] = {
        {"high demand", FAILURE_OVERLOADED}, /* any 5xx status */
        {"at capacity", FAILURE_OVERLOADED},
        {"upgrade to", FAILURE_AUTH},
        {"access token", FAILURE_AUTH},
        {"missing environment variable", FAILURE_AUTH}, /* the variable with the key */
        {"invalid_request_error", FAILURE_REFUSED},     /* as any status 400 */
        {"max_output_tokens",
         FAILURE_TIMEOUT}, /* output limit reached: a retry would meet it again */
    };
    enum failure failure;
    long status = find_status(reason);
    if (!status && cause_of_words(reason, &failure))
        return failure;
    for (size_t i = 0; !status && i < ARRAY_LEN(known); i++) {
        if (cause_mentions(reason, known[i].words))
            return known[i].failure;
    }
    return cause_of(status, reason);
}

static void add_inner_text(void *ctx, int id, enum json_kind kind, const char *text, size_t len)
{
    (void)id;
    if (kind == JSON_STRING)
        buf_add(ctx, text, len);
}

/* A reason may be a raw JSON answer of the model's server. */
static void add_reason(struct buf *out, const char *message)
{
    static const struct json_field inner[] = {{"error.message", 0}};
    struct json_lines json;
    if (*message == '{') {
        json_lines_init(&json, inner, 1, add_inner_text, out);
        json_lines_feed(&json, message, strlen(message));
        json_lines_done(&json);
    }
    if (!out->len)
        buf_addstr(out, *message ? message : "it failed without a reason");
}

static void report_failure(struct agent_report *r, const char *message)
{
    autobuf struct buf reason = BUF_INIT;
    add_reason(&reason, message);
    dialect_fail(r, classify_failure(message), reason.s);
}

/* Reads an error: either codex retries by itself, or it gives up. */
static void read_error(struct agent_report *r, const struct dialect_line *l)
{
    static const char again[] = "Reconnecting... ";
    const char *message = dialect_text(l, MESSAGE);
    if (strncmp(message, again, strlen(again)) != 0) {
        report_failure(r, message);
        return;
    }
    autofree char *what = mem_printf("waits for its model: try %s", message + strlen(again));
    if (classify_failure(message) == FAILURE_LIMIT) /* only its log says how long it waits */
        dialect_wait_on(r, what);
    else
        dialect_wait(r, what, -1);
}

static void read_usage(struct agent_report *r, const struct dialect_line *l)
{
    r->cache_read = dialect_int(l, CACHE_READ, 0);
    r->cache_made = dialect_int(l, CACHE_MADE, 0);
    r->tokens_in = dialect_int(l, TOKENS_IN, 0) - r->cache_read - r->cache_made;
    r->tokens_in = r->tokens_in > 0 ? r->tokens_in : 0;
    r->tokens_out = dialect_int(l, TOKENS_OUT, 0);
    dialect_take_off(r);
}

static void read_turn_end(struct agent_report *r, const struct dialect_line *l)
{
    read_usage(r, l);
    dialect_end(r, r->text.len > 0, "");
    if (!r->ok)
        dialect_fail(r, FAILURE_REFUSED,
                     "it ended without an answer, as it does when its model refuses");
}

static void read_line(struct agent_report *r, const struct dialect_line *l)
{
    if (dialect_is(l, TYPE, "thread.started")) {
        dialect_set(r, &r->session, dialect_text(l, THREAD));
    } else if (dialect_is(l, TYPE, "item.started")) {
        begin_item(r, l);
    } else if (dialect_is(l, TYPE, "item.completed")) {
        end_item(r, l);
    } else if (dialect_is(l, TYPE, "error")) {
        read_error(r, l);
    } else if (dialect_is(l, TYPE, "turn.completed")) {
        read_turn_end(r, l);
    } else if (dialect_is(l, TYPE, "turn.failed")) {
        report_failure(r, dialect_text(l, MESSAGE));
        dialect_end(r, false, "");
    }
}

const struct dialect dialect_codex = {fields, ARRAY_LEN(fields), read_line, 0, NULL};

/* Parses "7199.9s" and "211.5ms"; smaller units count as 0. Below 0: not a duration. */
static double parse_seconds(const char *text)
{
    char *unit;
    double n = strtod(text, &unit);
    bool good = unit != text && n >= 0 && n < 1e9;
    return !good ? -1 : *unit == 's' ? n : strncmp(unit, "ms", 2) == 0 ? n / 1000 : 0;
}

/* Adds the usage of one model call. The turn reports the total at its end, but not if it is
 * interrupted, and too late for a budget. */
static void read_usage_log(struct agent_report *r, const char *line)
{
    int64_t in = dialect_number_behind(line, " input_token_count="),
            read = dialect_number_behind(line, " cached_token_count="),
            made = dialect_number_behind(line, " cache_write_token_count=");
    if (r->finished) /* the turn has already reported its total */
        return;
    r->tokens_in += in > read + made ? in - read - made : 0;
    r->tokens_out += dialect_number_behind(line, " output_token_count=");
    r->cache_read += read;
    r->cache_made += made;
    r->changed = true;
}

/* Reads "retrying sampling request (1/5 in 7199.9s)...": codex waits as long as the model's server
 * wants. */
static void read_wait_log(struct agent_report *r, const char *line)
{
    const char *at = strstr(line, "retrying sampling request (");
    const char *in = at ? strstr(at, " in ") : NULL, *why = strstr(line, "sampling_error=");
    if (!in)
        return;
    double seconds = parse_seconds(in + strlen(" in "));
    autofree char *what =
        mem_printf("waits for its model: %s", why ? why + strlen("sampling_error=") : "it failed");
    if (seconds >= 0)
        dialect_wait(r, what, (int64_t)(seconds * 1000));
}

void dialect_codex_hear(struct agent_report *r, const char *line)
{
    if (strstr(line, "event.kind=response.completed input_token_count="))
        read_usage_log(r, line);
    else
        read_wait_log(r, line);
}
