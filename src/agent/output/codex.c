/*
 * The events of codex exec. Its failures are words, without a code; a model that refuses is a turn
 * that is completed and said nothing; commands that its sandbox does not let begin are not told.
 *
 * Tokens are those of the whole session: where one is taken up again, what its earlier turns took
 * is in them once more, and is taken off where they told it (turns that failed or were interrupted
 * did not). When a limit ends is among the words of the reason.
 */
#include "agent/output/dialect.h"
#include "base/mem.h"
#include "plan/cause.h"

#include <stdlib.h>
#include <string.h>

enum {
    TYPE,
    THREAD,
    MESSAGE, /* of an error, or of what a turn failed by */
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
    CHANGED, /* the path of a file */
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

/* A command without the shell that runs it: of "/bin/bash -lc 'make test'" what is quoted, if it
 * can be read without its quotes. */
static char *plain_command(const char *command)
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

/* NULL where the item is nothing that it does. */
static char *action_of(const struct dialect_line *l)
{
    if (dialect_is(l, ITEM, "command_execution")) {
        autofree char *command = plain_command(dialect_text(l, COMMAND));
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

/* Some things are told only once they are done. */
static bool is_told_late(const struct dialect_line *l)
{
    return dialect_is(l, ITEM, "file_change") || dialect_is(l, ITEM, "web_search");
}

static void begin_item(struct agent_report *r, const struct dialect_line *l)
{
    autofree char *action = action_of(l);
    if (action)
        dialect_begin_tool(r, dialect_text(l, ITEM_ID), action, "");
}

static void end_item(struct agent_report *r, const struct dialect_line *l)
{
    autofree char *action = is_told_late(l) ? action_of(l) : NULL;
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

/* Of "unexpected status 401 ..." and "last status: 429 ..."; 0: none is named. */
static long status_of(const char *reason)
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

static enum failure failure_of(const char *reason)
{
    static const struct {
        const char *words;
        enum failure failure;
    } known[] = {
        {"high demand", FAILURE_OVERLOADED}, /* any status of 5xx */
        {"at capacity", FAILURE_OVERLOADED},
        {"upgrade to", FAILURE_AUTH},
        {"access token", FAILURE_AUTH},
        {"missing environment variable", FAILURE_AUTH}, /* that has the key */
        {"invalid_request_error", FAILURE_SETUP},
        {"max_output_tokens",
         FAILURE_TIMEOUT}, /* as far as it may go: again it would be the same */
    };
    enum failure failure;
    long status = status_of(reason);
    if (!status && cause_of_words(reason, &failure))
        return failure;
    for (size_t i = 0; !status && i < ARRAY_LEN(known); i++) {
        if (cause_mentions(reason, known[i].words))
            return known[i].failure;
    }
    return cause_of(status, reason);
}

static void take_inner(void *ctx, int id, enum json_kind kind, const char *text, size_t len)
{
    (void)id;
    if (kind == JSON_STRING)
        buf_add(ctx, text, len);
}

/* A reason may be an answer of the model's server as it came, in JSON. */
static void add_reason(struct buf *out, const char *message)
{
    static const struct json_field inner[] = {{"error.message", 0}};
    struct json_lines json;
    if (*message == '{') {
        json_lines_init(&json, inner, 1, take_inner, out);
        json_lines_feed(&json, message, strlen(message));
        json_lines_done(&json);
    }
    if (!out->len)
        buf_addstr(out, *message ? message : "it failed and does not say why");
}

static void fail(struct agent_report *r, const char *message)
{
    autobuf struct buf reason = BUF_INIT;
    add_reason(&reason, message);
    dialect_fail(r, failure_of(message), reason.s);
}

/* What it tries again by itself, and what it gives up over. */
static void take_error(struct agent_report *r, const struct dialect_line *l)
{
    static const char again[] = "Reconnecting... ";
    const char *message = dialect_text(l, MESSAGE);
    if (strncmp(message, again, strlen(again)) != 0) {
        fail(r, message);
        return;
    }
    autofree char *what = mem_printf("waits for its model: try %s", message + strlen(again));
    if (failure_of(message) == FAILURE_LIMIT) /* how long is only in its log */
        dialect_wait_on(r, what);
    else
        dialect_wait(r, what, -1);
}

static void take_usage(struct agent_report *r, const struct dialect_line *l)
{
    r->cache_read = dialect_int(l, CACHE_READ, 0);
    r->cache_made = dialect_int(l, CACHE_MADE, 0);
    r->tokens_in = dialect_int(l, TOKENS_IN, 0) - r->cache_read - r->cache_made;
    r->tokens_in = r->tokens_in > 0 ? r->tokens_in : 0;
    r->tokens_out = dialect_int(l, TOKENS_OUT, 0);
    dialect_take_off(r);
}

static void take_turn(struct agent_report *r, const struct dialect_line *l)
{
    take_usage(r, l);
    dialect_end(r, r->text.len > 0, "");
    if (!r->ok)
        dialect_fail(r, FAILURE_REFUSED, "it ended without a word, as where its model refuses");
}

static void take(struct agent_report *r, const struct dialect_line *l)
{
    if (dialect_is(l, TYPE, "thread.started")) {
        dialect_set(r, &r->session, dialect_text(l, THREAD));
    } else if (dialect_is(l, TYPE, "item.started")) {
        begin_item(r, l);
    } else if (dialect_is(l, TYPE, "item.completed")) {
        end_item(r, l);
    } else if (dialect_is(l, TYPE, "error")) {
        take_error(r, l);
    } else if (dialect_is(l, TYPE, "turn.completed")) {
        take_turn(r, l);
    } else if (dialect_is(l, TYPE, "turn.failed")) {
        fail(r, dialect_text(l, MESSAGE));
        dialect_end(r, false, "");
    }
}

const struct dialect dialect_codex = {fields, ARRAY_LEN(fields), take, 0, NULL};

/* "7199.9s", "211.5ms"; what is shorter is nothing. Below 0: it is none of these. */
static double seconds_of(const char *text)
{
    char *unit;
    double n = strtod(text, &unit);
    bool good = unit != text && n >= 0 && n < 1e9;
    return !good ? -1 : *unit == 's' ? n : strncmp(unit, "ms", 2) == 0 ? n / 1000 : 0;
}

/* What one call of its model took. The turn says in the end what all of them did, but not where it
 * is interrupted, and too late for a budget. */
static void hear_usage(struct agent_report *r, const char *line)
{
    int64_t in = dialect_number_behind(line, " input_token_count="),
            read = dialect_number_behind(line, " cached_token_count="),
            made = dialect_number_behind(line, " cache_write_token_count=");
    if (r->finished) /* the turn has said it all */
        return;
    r->tokens_in += in > read + made ? in - read - made : 0;
    r->tokens_out += dialect_number_behind(line, " output_token_count=");
    r->cache_read += read;
    r->cache_made += made;
    r->changed = true;
}

/* "retrying sampling request (1/5 in 7199.9s)...": it waits as long as its model's server wants. */
static void hear_wait(struct agent_report *r, const char *line)
{
    const char *at = strstr(line, "retrying sampling request (");
    const char *in = at ? strstr(at, " in ") : NULL, *why = strstr(line, "sampling_error=");
    if (!in)
        return;
    double seconds = seconds_of(in + strlen(" in "));
    autofree char *what =
        mem_printf("waits for its model: %s", why ? why + strlen("sampling_error=") : "it failed");
    if (seconds >= 0)
        dialect_wait(r, what, (int64_t)(seconds * 1000));
}

void dialect_codex_hear(struct agent_report *r, const char *line)
{
    if (strstr(line, "event.kind=response.completed input_token_count="))
        hear_usage(r, line);
    else
        hear_wait(r, line);
}
