/*
 * Claude Code's stream-json. A result may say "success" and be an error, may not be the last line,
 * and may be missing where the exit code is 0: see agent_failed().
 */
#include "run/agent_dialect.h"

#include "base/build.h"
#include "base/mem.h"

#include <string.h>

static bool truth(const struct node *map, const char *key)
{
    const struct node *n = node_get(map, key);
    return n && n->kind == NODE_BOOL && n->truth;
}

/* What a tool is used on: the first of the inputs that say it. */
static const char *target(const struct node *input)
{
    static const char *const keys[] = {"file_path", "path", "command",
                                       "pattern",   "url",  "description"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const char *s = build_string(input, keys[i], NULL);
        if (s)
            return s;
    }
    return "";
}

static void on_assistant(struct agent_report *r, const struct node *map)
{
    const struct node *content = node_get(node_get(map, "message"), "content");
    if (!content || content->kind != NODE_LIST)
        return;
    node_each (block, content) {
        const char *type = build_string(block, "type", "");
        if (strcmp(type, "tool_use") == 0) {
            autofree char *action = mem_printf("%s %s", build_string(block, "name", "tool"),
                                               target(node_get(block, "input")));
            dialect_set(r, &r->action, action);
        } else if (strcmp(type, "text") == 0) {
            dialect_set(r, &r->text, build_string(block, "text", ""));
        }
    }
}

static enum failure failure_of(int64_t status, const char *subtype, const char *stop)
{
    if (status == 401 || status == 403)
        return FAILURE_AUTH;
    if (status == 429)
        return FAILURE_LIMIT;
    if (status == 529)
        return FAILURE_OVERLOADED;
    if (status >= 400 && status < 500)
        return FAILURE_SETUP;
    if (strcmp(stop, "refusal") == 0)
        return FAILURE_REFUSED;
    return strncmp(subtype, "error_max", 9) == 0 ? FAILURE_TIMEOUT : FAILURE_TRANSIENT;
}

static const char *first_error(const struct node *map)
{
    const struct node *errors = node_get(map, "errors");
    if (errors && errors->kind == NODE_LIST && errors->first && errors->first->kind == NODE_STRING)
        return errors->first->text;
    return build_string(map, "subtype", "error");
}

static void on_result(struct agent_report *r, const struct node *map)
{
    const struct node *usage = node_get(map, "usage"), *cost = node_get(map, "total_cost_usd");
    const struct node *denials = node_get(map, "permission_denials");
    const char *text = build_string(map, "result", NULL);
    r->finished = true;
    r->ok = !truth(map, "is_error");
    r->tokens_in = build_int(usage, "input_tokens", r->tokens_in);
    r->tokens_out = build_int(usage, "output_tokens", r->tokens_out);
    if (cost && cost->kind == NODE_REAL)
        r->usd = cost->real;
    else if (cost && cost->kind == NODE_INT)
        r->usd = (double)cost->integer;
    if (text)
        dialect_set(r, &r->text, text);
    if (!r->ok)
        dialect_fail(r,
                     failure_of(build_int(map, "api_error_status", 0),
                                build_string(map, "subtype", ""),
                                build_string(map, "stop_reason", "")),
                     text ? text : first_error(map));
    else if (denials && denials->kind == NODE_LIST && denials->n)
        dialect_set(r, &r->action, "was denied a permission");
}

void dialect_claude(struct agent_report *r, const char *line, size_t len)
{
    struct arena a = {0};
    const struct node *map = dialect_parse(&a, line, len);
    const char *type = build_string(map, "type", "");
    if (strcmp(type, "assistant") == 0)
        on_assistant(r, map);
    else if (strcmp(type, "result") == 0)
        on_result(r, map);
    else if (strcmp(type, "system") == 0 && strcmp(build_string(map, "subtype", ""), "init") == 0)
        dialect_set(r, &r->session, build_string(map, "session_id", ""));
    arena_done(&a);
}
