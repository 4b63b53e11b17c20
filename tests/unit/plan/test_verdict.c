/* The consequence of the end of an agent, a command or a git. */
#include "base/mem.h"
#include "plan/engine/attempt/verdict.h"

#include <stddef.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static const int64_t GIB = (int64_t)1 << 30;

static void check_reason(const char *what, const struct fail_reason *why, enum failure failure,
                         const char *reason)
{
    autobuf struct buf text = BUF_INIT;
    fail_reason_write(why, &text);
    if (why->failure != failure || strcmp(text.s, reason) != 0)
        fail_msg("%s: class %d, '%s'; not class %d, '%s'", what, why->failure, text.s, failure,
                 reason);
}

static void check_agent(const char *what, const struct agent_end *e, enum agent_next next,
                        enum failure failure, const char *reason)
{
    struct agent_verdict v = agent_judge(e);
    if (v.next != next)
        fail_msg("%s: %d, not %d", what, v.next, next);
    if (reason)
        check_reason(what, &v.why, failure, reason);
}

/* Everything is true of this agent at once. */
static struct agent_end worst_agent(void)
{
    return (struct agent_end){
        .process = {.exit_code = 137,
                    .exit_signal = 9,
                    .replaced = "'/w' is not the folder that we made",
                    .printed_too_much = true,
                    .guard_lost = true,
                    .unkillable = "node server.js",
                    .exceeded_limit = "memory",
                    .limits = {.memory = 2 * GIB, .processes = 40, .output = GIB}},
        .question = "May I?",
        .limit = "usage limit",
        .failed = true,
        .failure = FAILURE_REFUSED,
        .reason = "the model refused",
        .ended_early = true,
        .tampered = "'core.hooksPath' was set",
        .overrun = "12k of its budget",
        .read_only = true,
        .hand_on = true,
        .unjudged = true,
        .judgement = "its output is empty",
        .has_message = true,
    };
}

static void a_stop_counts_before_all_else(void **state)
{
    static const struct {
        enum stop_reason stopped;
        bool run_budget_spent;
        enum agent_next next;
        enum failure failure;
        const char *reason;
    } cases[] = {
        {STOP_USER, false, AGENT_FAIL_STOPPED, FAILURE_STOPPED, NULL},
        {STOP_TIMEOUT, false, AGENT_FAIL, FAILURE_TIMEOUT, "took longer than its timeout"},
        {STOP_IDLE, false, AGENT_FAIL, FAILURE_IDLE,
         "printed nothing for longer than its idle timeout"},
        {STOP_QUESTION, false, AGENT_FAIL, FAILURE_IDLE,
         "waited for an answer, and no person is there to give one: May I?"},
        {STOP_LIMIT, false, AGENT_FAIL, FAILURE_LIMIT, "usage limit"},
        {STOP_BUDGET, false, AGENT_FAIL, FAILURE_BUDGET, "its budget is used up"},
        {STOP_BUDGET, true, AGENT_FAIL, FAILURE_BUDGET, "the run's budget is used up"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *what = cases[i].reason ? cases[i].reason : "the user stopped it";
        struct agent_end e = worst_agent();
        e.process.stopped = cases[i].stopped;
        e.run_budget_spent = cases[i].run_budget_spent;
        check_agent(what, &e, cases[i].next, cases[i].failure, cases[i].reason);
        e = (struct agent_end){.process.stopped = cases[i].stopped,
                               .question = "May I?",
                               .limit = "usage limit",
                               .run_budget_spent = cases[i].run_budget_spent};
        check_agent(what, &e, cases[i].next, cases[i].failure, cases[i].reason);
    }
}

#define FACT(member) offsetof(struct agent_end, member), sizeof(((struct agent_end *)NULL)->member)

/* Each step takes away the fact that decided, and the next judge decides. */
static void each_judge_counts_before_the_next(void **state)
{
    static const struct {
        enum agent_next next;
        enum failure failure;
        const char *reason;
        size_t offset, size;
    } steps[] = {
        {AGENT_FAIL, FAILURE_SCOPE, "'/w' is not the folder that we made", FACT(process.replaced)},
        {AGENT_FAIL, FAILURE_INTERNAL, "printed more than limits.output (1.0 GiB)",
         FACT(process.printed_too_much)},
        {AGENT_FAIL, FAILURE_TRANSIENT, "signal 9 killed its guard", FACT(process.exit_signal)},
        {AGENT_FAIL, FAILURE_TRANSIENT, "its guard ended without a result",
         FACT(process.guard_lost)},
        {AGENT_FAIL, FAILURE_INTERNAL, "left a process that cannot be killed: node server.js",
         FACT(process.unkillable)},
        {AGENT_FAIL, FAILURE_INTERNAL, "used more than limits.memory (2.0 GiB)",
         FACT(process.exceeded_limit)},
        {AGENT_FAIL, FAILURE_REFUSED, "the model refused", FACT(failed)},
        {AGENT_FAIL, FAILURE_SCOPE, "'core.hooksPath' was set", FACT(tampered)},
        {AGENT_ASK_JUDGE, FAILURE_AUTH, NULL, FACT(unjudged)},
        {AGENT_FAIL, FAILURE_TRANSIENT, "its output is empty", FACT(judgement)},
        {AGENT_FAIL, FAILURE_BUDGET, "used 12k of its budget", FACT(overrun)},
        {AGENT_DELIVER_MESSAGE, FAILURE_AUTH, NULL, FACT(has_message)},
        {AGENT_KEEP_FINDINGS, FAILURE_AUTH, NULL, FACT(hand_on)},
        {AGENT_END_UNLANDED, FAILURE_AUTH, NULL, FACT(read_only)},
        {AGENT_STAGE_IF_COMMITS, FAILURE_AUTH, NULL, FACT(ended_early)},
        {AGENT_STAGE, FAILURE_AUTH, NULL, FACT(ended_early)},
    };
    struct agent_end e = worst_agent();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        check_agent(steps[i].reason ? steps[i].reason : "a step", &e, steps[i].next,
                    steps[i].failure, steps[i].reason);
        memset((char *)&e + steps[i].offset, 0, steps[i].size);
    }
}

static void each_end_of_an_agent_is_judged(void **state)
{
    static const struct {
        const char *what;
        struct agent_end end;
        enum agent_next next;
        enum failure failure;
        const char *reason;
    } cases[] = {
        {"it did well", {.failed = false}, AGENT_STAGE, FAILURE_AUTH, NULL},
        {"it read well", {.read_only = true}, AGENT_END_UNLANDED, FAILURE_AUTH, NULL},
        {"its findings are kept",
         {.hand_on = true, .findings_kept = true},
         AGENT_STAGE,
         FAILURE_AUTH,
         NULL},
        {"its findings are kept, and it only read",
         {.hand_on = true, .findings_kept = true, .read_only = true},
         AGENT_END_UNLANDED,
         FAILURE_AUTH,
         NULL},
        {"too many processes",
         {.process = {.exceeded_limit = "processes", .limits = {.processes = 40}}},
         AGENT_FAIL,
         FAILURE_INTERNAL,
         "used more than limits.processes (40)"},
        {"the kernel's limit, none of ours",
         {.process = {.exceeded_limit = "memory"}},
         AGENT_FAIL,
         FAILURE_INTERNAL,
         "used more than limits.memory (0 B)"},
        {"the plan lands work over budget",
         {.overrun = "12k of its budget", .lands_over_budget = true},
         AGENT_STAGE,
         FAILURE_AUTH,
         NULL},

        {"it stopped early, without a result",
         {.ended_early = true, .failed = true, .failure = FAILURE_TRANSIENT, .reason = "no"},
         AGENT_STAGE_IF_COMMITS,
         FAILURE_AUTH,
         NULL},
        {"... and tampered",
         {.ended_early = true, .failed = true, .tampered = "t"},
         AGENT_FAIL,
         FAILURE_SCOPE,
         "t"},
        {"... and only read: its last message is missing",
         {.ended_early = true,
          .failed = true,
          .failure = FAILURE_TRANSIENT,
          .reason = "no",
          .read_only = true},
         AGENT_FAIL,
         FAILURE_TRANSIENT,
         "no"},
        {"... and its dependants need its last message",
         {.ended_early = true,
          .failed = true,
          .failure = FAILURE_TRANSIENT,
          .reason = "no",
          .hand_on = true},
         AGENT_FAIL,
         FAILURE_TRANSIENT,
         "no"},

        {"the drop-in gets the class that the agent reports",
         {.failed = true,
          .reports_failure = true,
          .failure = FAILURE_REFUSED,
          .reason = "no",
          .classifies = true},
         AGENT_CLASSIFY,
         FAILURE_REFUSED,
         "no"},
        {"... but not our guess by the exit code",
         {.process = {.exit_code = 127},
          .failed = true,
          .failure = FAILURE_SETUP,
          .reason = "exit code 127",
          .classifies = true},
         AGENT_CLASSIFY,
         FAILURE_TRANSIENT,
         "exit code 127"},
        {"... and nothing if a signal ended it",
         {.process = {.exit_code = 137, .exit_signal = 9},
          .failed = true,
          .failure = FAILURE_TRANSIENT,
          .reason = "ended by signal 9",
          .classifies = true},
         AGENT_FAIL,
         FAILURE_TRANSIENT,
         "ended by signal 9"},
        {"... nor if its guard is lost",
         {.process = {.guard_lost = true}, .classifies = true},
         AGENT_FAIL,
         FAILURE_TRANSIENT,
         "its guard ended without a result"},
        {"the drop-in classifies its own judgement as well",
         {.judgement = "empty", .classifies = true},
         AGENT_CLASSIFY,
         FAILURE_TRANSIENT,
         "empty"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check_agent(cases[i].what, &cases[i].end, cases[i].next, cases[i].failure, cases[i].reason);
}

static void an_answer_of_the_model_proves_its_lane(void **state)
{
    static const struct {
        const char *what;
        struct agent_end end;
        bool proves;
    } cases[] = {
        {"it did well", {.failed = false}, true},
        {"it ended with exit code 0, and without a result", {.failed = true}, true},
        {"it ended well, but reports a failure",
         {.failed = true, .reports_failure = true, .failure = FAILURE_REFUSED},
         false},
        {"its model refused",
         {.process = {.exit_code = 1}, .reports_failure = true, .failure = FAILURE_REFUSED},
         true},
        {"it met a limit",
         {.process = {.exit_code = 1}, .reports_failure = true, .failure = FAILURE_LIMIT},
         false},
        {"it could not start", {.process = {.exit_code = 127}, .failed = true}, false},
        {"we stopped it for a limit", {.process = {.stopped = STOP_LIMIT}}, false},
        {"we stopped it for another reason", {.process = {.stopped = STOP_IDLE}}, true},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        if (agent_end_proves_lane(&cases[i].end) != cases[i].proves)
            fail_msg("%s", cases[i].what);
    }
}

static void each_end_of_a_command_is_judged(void **state)
{
    static const struct {
        const char *what;
        struct command_end end;
        enum command_next next;
        enum failure failure;
        const char *reason;
    } cases[] = {
        {"it did well", {.name = "x: "}, COMMAND_SUCCEEDED, FAILURE_AUTH, NULL},
        {"it failed", {.process = {.exit_code = 1}}, COMMAND_FAILED, FAILURE_AUTH, NULL},
        {"it is missing",
         {.process = {.exit_code = 127}},
         COMMAND_CANNOT_START,
         FAILURE_AUTH,
         NULL},
        {"it cannot be executed",
         {.process = {.exit_code = 126}},
         COMMAND_CANNOT_START,
         FAILURE_AUTH,
         NULL},
        {"a signal ended it, whose code looks alike",
         {.process = {.exit_code = 126, .exit_signal = 9}},
         COMMAND_FAILED,
         FAILURE_AUTH,
         NULL},
        {"its task tampered",
         {.name = "x: ", .process = {.exit_code = 1}, .tampered = "'a' was set"},
         COMMAND_BROKEN,
         FAILURE_SCOPE,
         "'a' was set"},
        {"its guard is lost, and its task tampered",
         {.name = "x: ", .process = {.guard_lost = true}, .tampered = "'a' was set"},
         COMMAND_BROKEN,
         FAILURE_TRANSIENT,
         "x: its guard ended without a result"},
        {"it printed too much",
         {.name = "the commit-msg hook ",
          .process = {.exit_code = 137, .printed_too_much = true, .limits = {.output = 2048}}},
         COMMAND_BROKEN,
         FAILURE_INTERNAL,
         "the commit-msg hook printed more than limits.output (2.0 KiB)"},
        {"its timeout is over", {.overdue = true}, COMMAND_TIMED_OUT, FAILURE_AUTH, NULL},
        {"... and it failed",
         {.process = {.exit_code = 127}, .overdue = true},
         COMMAND_TIMED_OUT,
         FAILURE_AUTH,
         NULL},
        {"... and it is broken",
         {.process = {.unkillable = "p"}, .overdue = true},
         COMMAND_TIMED_OUT,
         FAILURE_AUTH,
         NULL},
        {"... and its task tampered",
         {.tampered = "t", .overdue = true},
         COMMAND_TIMED_OUT,
         FAILURE_AUTH,
         NULL},
        {"the timeout of a setup is over",
         {.process = {.exit_code = 127}, .overdue = true, .broken_first = true},
         COMMAND_TIMED_OUT,
         FAILURE_AUTH,
         NULL},
        {"... and it is broken",
         {.name = "x: ", .process = {.unkillable = "p"}, .overdue = true, .broken_first = true},
         COMMAND_BROKEN,
         FAILURE_INTERNAL,
         "x: left a process that cannot be killed: p"},
        {"... and its task tampered",
         {.tampered = "t", .overdue = true, .broken_first = true},
         COMMAND_BROKEN,
         FAILURE_SCOPE,
         "t"},
        {"it was stopped",
         {.process = {.stopped = STOP_USER, .exit_code = 127, .guard_lost = true, .replaced = "r"},
          .overdue = true,
          .tampered = "t"},
         COMMAND_STOPPED,
         FAILURE_AUTH,
         NULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct command_verdict v = command_judge(&cases[i].end);
        if (v.next != cases[i].next)
            fail_msg("%s: %d, not %d", cases[i].what, v.next, cases[i].next);
        if (cases[i].reason)
            check_reason(cases[i].what, &v.why, cases[i].failure, cases[i].reason);
    }
}

static void a_git_may_race_ten_times(void **state)
{
    (void)state;
    assert_true(git_may_have_raced(1, STOP_NONE, 0));
    assert_true(git_may_have_raced(128, STOP_NONE, 9));
    assert_false(git_may_have_raced(128, STOP_NONE, 10));
    assert_false(git_may_have_raced(0, STOP_NONE, 0));
    assert_false(git_may_have_raced(1, STOP_USER, 0));
    assert_false(git_may_have_raced(1, STOP_BUDGET, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stop_counts_before_all_else),
        cmocka_unit_test(each_judge_counts_before_the_next),
        cmocka_unit_test(each_end_of_an_agent_is_judged),
        cmocka_unit_test(an_answer_of_the_model_proves_its_lane),
        cmocka_unit_test(each_end_of_a_command_is_judged),
        cmocka_unit_test(a_git_may_race_ten_times),
    };
    return cmocka_run_group_tests_name("verdict", tests, NULL, NULL);
}
