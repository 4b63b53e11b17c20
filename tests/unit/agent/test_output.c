#include "agent/output/dialect.h"
#include "base/mem.h"
#include "sys/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* The transcripts in tests/dialects do not show the state of a reader between two lines. We test it
 * here. */
struct fixture {
    struct agent_report r;
    struct dialect_reader reader;
};

static void begin(struct fixture *f, const struct dialect *dialect)
{
    f->r = (struct agent_report)AGENT_REPORT_INIT;
    dialect_reader_init(&f->reader, dialect, &f->r);
}

static void drop(struct fixture *f)
{
    dialect_reader_done(&f->reader);
    agent_report_done(&f->r);
}

static void read_line(struct fixture *f, const char *line)
{
    dialect_reader_feed(&f->reader, line, strlen(line));
    dialect_reader_feed(&f->reader, "\n", 1);
}

static const char *last_tool(const struct fixture *f)
{
    const struct tool_call *tool = tool_calls_last(&f->r.tools, false);
    return tool ? tool->action : "";
}

#define CLAUDE_CALL(message, id, name, input)                                                      \
    "{\"type\":\"assistant\",\"message\":{\"id\":\"" message                                       \
    "\",\"content\":[{\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"" name                    \
    "\",\"input\":" input "}],\"usage\":{\"input_tokens\":100,\"output_tokens\":1}}}"
#define CLAUDE_ANSWER(id)                                                                          \
    "{\"type\":\"user\",\"message\":{\"content\":[{\"tool_use_id\":\"" id                          \
    "\",\"type\":\"tool_result\",\"content\":\"ok\"}]}}"

static void tools_work_until_each_has_answered(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, &dialect_claude);
    read_line(&f, CLAUDE_CALL("m1", "t1", "Bash", "{\"command\":\"make\"}"));
    read_line(&f, CLAUDE_CALL("m1", "t2", "Read", "{\"file_path\":\"a.c\"}"));
    assert_string_equal(last_tool(&f), "Read a.c");
    read_line(&f, CLAUDE_ANSWER("t2"));
    assert_string_equal(last_tool(&f), "Bash make");
    read_line(&f, CLAUDE_ANSWER("t9")); /* of one that nobody began */
    assert_true(tool_calls_work(&f.r.tools));
    read_line(&f, CLAUDE_ANSWER("t1"));
    assert_false(tool_calls_work(&f.r.tools));
    read_line(&f, CLAUDE_CALL("m2", "t3", "Bash", "{\"command\":\"sleep 9\"}"));
    read_line(&f, "{\"type\":\"result\",\"is_error\":true}"); /* whatever has not answered */
    assert_false(tool_calls_work(&f.r.tools));
    drop(&f);
}

static void a_helper_works_only_while_one_of_its_tools_does(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, &dialect_claude);
    read_line(&f, CLAUDE_CALL("m1", "t1", "Agent", "{\"description\":\"sub job\"}"));
    read_line(&f, "{\"type\":\"system\",\"subtype\":\"task_started\",\"tool_use_id\":\"t1\","
                  "\"subagent_type\":\"general-purpose\",\"task_type\":\"local_agent\"}");
    assert_string_equal(last_tool(&f), "Agent sub job");
    assert_false(tool_calls_work(&f.r.tools));
    read_line(&f, CLAUDE_CALL("m2", "t2", "Bash", "{\"command\":\"make\"}"));
    assert_true(tool_calls_work(&f.r.tools));
    read_line(&f, CLAUDE_ANSWER("t2"));
    assert_false(tool_calls_work(&f.r.tools));
    assert_string_equal(f.r.helper_names.s, "general-purpose");
    drop(&f);
}

/* The lines of two helpers at once are mixed. */
static void a_message_is_counted_once(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, &dialect_claude);
    for (int i = 0; i < 2; i++) {
        read_line(&f, CLAUDE_CALL("m1", "t1", "Bash", "{\"command\":\"a\"}"));
        read_line(&f, CLAUDE_CALL("m2", "t2", "Bash", "{\"command\":\"b\"}"));
    }
    assert_int_equal(f.r.tokens_in, 200);
    drop(&f);
}

static void a_question_works_for_nobody(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, &dialect_claude);
    read_line(&f, CLAUDE_CALL("m1", "t1", "AskUserQuestion",
                              "{\"questions\":[{\"question\":\"Which?\"}]}"));
    assert_false(tool_calls_work(&f.r.tools));
    assert_string_equal(tool_calls_last(&f.r.tools, true)->action, "AskUserQuestion Which?");
    read_line(&f, CLAUDE_ANSWER("t1"));
    assert_null(tool_calls_last(&f.r.tools, true));
    drop(&f);
    begin(&f, &dialect_sim);
    read_line(&f, "{\"type\":\"ask\",\"text\":\"May I?\"}");
    assert_string_equal(f.r.question.s, "May I?");
    read_line(&f, "{\"type\":\"text\",\"text\":\"Thank you.\"}");
    assert_string_equal(f.r.question.s, "");
    drop(&f);
}

static void what_a_session_had_used_before_is_taken_off(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, &dialect_codex);
    f.r.before = (struct agent_use){.in = 300, .out = 60};
    read_line(&f,
              "{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":\"x\"}}");
    read_line(&f, "{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":700,"
                  "\"cached_input_tokens\":100,\"output_tokens\":100}}");
    assert_int_equal(f.r.tokens_in, 300);
    assert_int_equal(f.r.tokens_out, 40);
    assert_int_equal(f.r.cache_read, 100);
    drop(&f);
}

/* Memory is bounded, and sums do not overflow, whatever comes. */
static void too_much_is_bounded(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, &dialect_gemini);
    for (int i = 0; i < 1000; i++) {
        autofree char *line = mem_printf("{\"type\":\"tool_use\",\"tool_name\":\"t%d\","
                                         "\"tool_id\":\"%d\",\"parameters\":{}}",
                                         i, i);
        read_line(&f, line);
    }
    assert_string_equal(last_tool(&f), "t999");
    assert_true(f.r.tools.list.n <= 64);
    drop(&f);
    begin(&f, &dialect_opencode);
    for (int i = 0; i < 1000; i++)
        read_line(&f,
                  "{\"type\":\"step_finish\",\"part\":{\"tokens\":{\"input\":9223372036854775807,"
                  "\"output\":9223372036854775807}}}");
    assert_true(f.r.tokens_in > 0 && f.r.tokens_out > 0);
    drop(&f);
}

/* Questions that agents wait for */

static int64_t until(const struct agent_report *r)
{
    return r->again ? (r->again - clock_mono() + 500) / 1000 : 0;
}

#define CODEX_CALL                                                                                 \
    "INFO codex_otel.trace_safe: event.name=\"codex.sse_event\" event.kind=response.completed "    \
    "input_token_count=100 output_token_count=20 cached_token_count=30 cache_write_token_count=0"

static void logs_say_what_they_wait_for(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, &dialect_codex);
    dialect_codex_hear(&f.r, "WARN codex_core::responses_retry: stream disconnected - retrying "
                             "sampling request (1/5 in 7199.9s)... sampling_error=429");
    assert_int_equal(until(&f.r), 7200);
    assert_string_equal(f.r.action.s, "waits for its model: 429");
    dialect_codex_hear(&f.r, "retrying sampling request (2/5 in nan"); /* whatever that is */
    assert_int_equal(until(&f.r), 7200);
    dialect_codex_hear(&f.r, "retrying sampling request (3/5 in 411.5ms)... sampling_error=401");
    assert_int_equal(until(&f.r), 0);
    assert_true(f.r.again && f.r.waits);
    dialect_codex_hear(&f.r, CODEX_CALL);
    assert_true(f.r.tokens_in == 70 && f.r.tokens_out == 20 && f.r.cache_read == 30);
    read_line(&f, "{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":100,"
                  "\"cached_input_tokens\":30,\"output_tokens\":20}}");
    dialect_codex_hear(&f.r, CODEX_CALL); /* it was read late, and is in that */
    assert_true(f.r.tokens_in == 70 && f.r.tokens_out == 20 && f.r.cache_read == 30);
    read_line(&f,
              "{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":\"x\"}}");
    assert_int_equal(f.r.waits, 0);
    drop(&f);
    begin(&f, &dialect_qwen);
    dialect_qwen_hear(&f.r, "[qwen-code] Waiting for API capacity... attempt 1, retry in 90s");
    assert_int_equal(until(&f.r), 90);
    read_line(&f, "{\"type\":\"system\",\"subtype\":\"retry\",\"data\":{\"attempt\":1,"
                  "\"maxRetries\":10,\"delayMs\":5400000}}");
    assert_int_equal(until(&f.r), 5400);
    drop(&f);
}

#define COPILOT_SPAN(reason)                                                                       \
    "{\"type\":\"span\",\"name\":\"chat "                                                          \
    "m\",\"attributes\":{\"gen_ai.response.finish_reasons\":[\"" reason                            \
    "\"],\"gen_ai.usage.input_tokens\":100,\"gen_ai.usage.output_tokens\":20,"                     \
    "\"gen_ai.usage.cache_read.input_tokens\":30}}"

static void copilots_spans_say_what_it_used(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, &dialect_copilot);
    dialect_copilot_hear(&f.r, COPILOT_SPAN("content_filter"));
    assert_true(f.r.failed && f.r.failure == FAILURE_REFUSED);
    dialect_copilot_hear(&f.r, COPILOT_SPAN("stop"));
    dialect_copilot_hear(&f.r, "{\"type\":\"span\",\"name\":\"invoke_agent\",\"attributes\":"
                               "{\"gen_ai.usage.input_tokens\":200}}"); /* all of it once more */
    assert_true(!f.r.failed && f.r.tokens_in == 140 && f.r.tokens_out == 40 &&
                f.r.cache_read == 60);
    drop(&f);
}

#define OPENCODE_ERROR(words)                                                                      \
    "timestamp=t level=ERROR message=\"stream error\" small=false mode=primary "                   \
    "error.error=\"AI_APICallError: " words "\""

static void opencodes_log_says_when_it_tries_again(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, &dialect_opencode);
    dialect_opencode_hear(&f.r, OPENCODE_ERROR("no more"));
    assert_true(f.r.waits && f.r.waits_on && !f.r.again);
    dialect_opencode_hear(&f.r, "level=INFO message=stream small=true agent=title");
    assert_true(f.r.waits_on);
    dialect_opencode_hear(&f.r, "level=INFO message=stream small=false agent=build");
    assert_true(!f.r.waits && !f.r.waits_on);
    dialect_opencode_hear(&f.r, OPENCODE_ERROR("try again in 2h"));
    assert_int_equal(until(&f.r), 7200);
    dialect_opencode_hear(&f.r, "level=ERROR message=\"stream error\" small=false ");
    assert_true(f.r.waits_on);
    drop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logs_say_what_they_wait_for),
        cmocka_unit_test(copilots_spans_say_what_it_used),
        cmocka_unit_test(opencodes_log_says_when_it_tries_again),
        cmocka_unit_test(tools_work_until_each_has_answered),
        cmocka_unit_test(a_helper_works_only_while_one_of_its_tools_does),
        cmocka_unit_test(a_message_is_counted_once),
        cmocka_unit_test(a_question_works_for_nobody),
        cmocka_unit_test(what_a_session_had_used_before_is_taken_off),
        cmocka_unit_test(too_much_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
