/* Events of the engine as lines: what is written, and that only this is read. */
#include "base/buf.h"
#include "base/mem.h"
#include "plan/engine/engine.h"
#include "plan/engine/engine_line.h"

#include <math.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define OF_TASK(kind_, name)                                                                       \
    {                                                                                              \
        {.kind = kind_, .task = 7}, name " task=7"                                                 \
    }
#define OF_RUN(kind_, name)                                                                        \
    {                                                                                              \
        {.kind = kind_, .task = -1}, name                                                          \
    }

/* One row for each event at least. A journal that holds such a line must stay readable. */
static const struct {
    struct engine_event ev;
    const char *line;
} rows[] = {
    OF_RUN(ENGINE_LANDS_NEXT, "lands-next"),
    OF_RUN(ENGINE_ABANDONS_NEXT, "abandons-next"),
    OF_RUN(ENGINE_STARTS_NEXT, "starts-next"),
    {{.kind = ENGINE_PUBLISH_DUE, .task = -1, .now = INT64_MAX, .index_bytes = INT64_MIN},
     "publish-due now=9223372036854775807 index-bytes=-9223372036854775808"},
    {{.kind = ENGINE_TURN_ENDED, .task = -1, .facts = {.has_base = true}},
     "turn-ended base=yes pool=no observers=no"},
    {{.kind = ENGINE_TURN_ENDED, .task = -1, .facts = {.pool_filled = true}},
     "turn-ended base=no pool=yes observers=no"},
    OF_RUN(ENGINE_INTERRUPTED, "interrupted"),
    OF_RUN(ENGINE_BROKE, "broke"),
    OF_RUN(ENGINE_DRAINED, "drained"),
    OF_RUN(ENGINE_PAUSED, "paused"),
    OF_RUN(ENGINE_CONTINUED, "continued"),
    {{.kind = ENGINE_WORKERS_SET, .task = -1, .workers = SIZE_MAX},
     "workers-set workers=18446744073709551615"},
    OF_RUN(ENGINE_WORK_BEGAN, "work-began"),
    OF_RUN(ENGINE_WORK_ENDED, "work-ended"),
    OF_RUN(ENGINE_TIP_MOVED, "tip-moved"),
    {{.kind = ENGINE_PUBLISHED, .task = -1, .now = -1}, "published now=-1"},
    {{.kind = ENGINE_PUBLISHED_LAST, .task = -1, .facts = {.observers_busy = true}},
     "published-last base=no pool=no observers=yes"},
    OF_RUN(ENGINE_RECORDED, "recorded"),
    OF_RUN(ENGINE_CLOSED, "closed"),

    {{.kind = ENGINE_LIMIT_SEEN, .task = 0, .now = 5, .random = UINT32_MAX, .reset = INT64_MIN},
     "limit-seen task=0 now=5 random=4294967295 reset=-9223372036854775808"},
    {{.kind = ENGINE_LIMIT_RECALLED, .task = 1, .reset = INT64_MAX},
     "limit-recalled task=1 now=0 random=0 reset=9223372036854775807"},
    {{.kind = ENGINE_AGENT_SPOKE, .task = UINT32_MAX, .now = INT64_MIN, .random = 1},
     "agent-spoke task=4294967295 now=-9223372036854775808 random=1"},
    {{.kind = ENGINE_LANE_DUE, .task = -1, .now = 1, .random = 2, .lane = INT32_MAX},
     "lane-due now=1 random=2 lane=2147483647"},
    {{.kind = ENGINE_LANE_DUE, .task = -1, .now = 1, .random = 2, .lane = INT32_MIN},
     "lane-due now=1 random=2 lane=-2147483648"},
    {{.kind = ENGINE_USED,
      .task = 3,
      .usage = {{INT64_MAX, INT64_MIN, 0, 1, 0.1}, .works = true, .stopped = true}},
     "used task=3 in=9223372036854775807 out=-9223372036854775808 cache-read=0 cache-made=1 "
     "usd=0.1 "
     "works=yes finished=no stopped=yes overran=no"},
    {{.kind = ENGINE_USED,
      .task = 3,
      .usage = {{1, 2, 3, 4, 1.7976931348623157e308}, .finished = true, .overran = true}},
     "used task=3 in=1 out=2 cache-read=3 cache-made=4 usd=1.7976931348623157e+308 works=no "
     "finished=yes stopped=no overran=yes"},
    OF_RUN(ENGINE_USAGE_RECALLED, "usage-recalled"),
    {{.kind = ENGINE_BUDGET_RAISED, .task = -1, .budget = {.usd = -1, .tokens = INT64_MAX}},
     "budget-raised task=-1 usd=-1 tokens=9223372036854775807"},
    {{.kind = ENGINE_BUDGET_RAISED, .task = 2, .budget = {.usd = 4.9e-324, .tokens = -1}},
     "budget-raised task=2 usd=4.94065645841247e-324 tokens=-1"},
    {{.kind = ENGINE_BUDGET_RAISED, .task = 2, .budget = {.usd = -0.0}},
     "budget-raised task=2 usd=-0 tokens=0"},
    {{.kind = ENGINE_BUDGET_RAISED, .task = 2, .budget = {.usd = 0.1 + 0.2}},
     "budget-raised task=2 usd=0.30000000000000004 tokens=0"},
    {{.kind = ENGINE_BUDGET_RAISED, .task = 2, .budget = {.usd = INFINITY}},
     "budget-raised task=2 usd=inf tokens=0"},
    {{.kind = ENGINE_BUDGET_RAISED, .task = 2, .budget = {.usd = -INFINITY}},
     "budget-raised task=2 usd=-inf tokens=0"},
    {{.kind = ENGINE_BUDGET_RAISED, .task = 2, .budget = {.usd = NAN}},
     "budget-raised task=2 usd=nan tokens=0"},

    OF_TASK(ENGINE_ATTEMPT_OPENED, "attempt-opened"),
    OF_TASK(ENGINE_ATTEMPT_CLOSED, "attempt-closed"),
    OF_TASK(ENGINE_AGENT_STARTED, "agent-started"),
    OF_TASK(ENGINE_WORKER_FREED, "worker-freed"),
    OF_TASK(ENGINE_WORKSPACE_READY, "workspace-ready"),
    OF_TASK(ENGINE_NOTHING_TO_LAND, "nothing-to-land"),
    OF_TASK(ENGINE_CONFLICT_FOUND, "conflict-found"),
    OF_TASK(ENGINE_FAILURE_FOUND, "failure-found"),
    OF_TASK(ENGINE_FINISHED, "finished"),
    OF_TASK(ENGINE_WORKSPACE_MADE, "workspace-made"),
    {{.kind = ENGINE_COMPARED, .task = 7, .yes = true}, "compared task=7 yes=yes"},
    OF_TASK(ENGINE_COMMITTED, "committed"),
    OF_TASK(ENGINE_QUEUED, "queued"),
    OF_TASK(ENGINE_UNQUEUED, "unqueued"),
    OF_TASK(ENGINE_MERGED, "merged"),
    OF_TASK(ENGINE_VERIFYING, "verifying"),
    OF_TASK(ENGINE_LANDED, "landed"),
    OF_RUN(ENGINE_LANDING_FAILED, "landing-failed"),
    OF_TASK(ENGINE_LANDING_RECORDED, "landing-recorded"),
    OF_TASK(ENGINE_UNCHANGED, "unchanged"),
    OF_TASK(ENGINE_CONFLICTED, "conflicted"),
    {{.kind = ENGINE_LIMIT_MET,
      .task = 7,
      .now = INT64_MIN,
      .random = 9,
      .limit = {.reset = INT64_MAX, .session = {true, false, true, false}}},
     "limit-met task=7 now=-9223372036854775808 random=9 reset=9223372036854775807 "
     "engine-resumes=yes session-known=no session-workspace=yes tampered=no"},
    {{.kind = ENGINE_LIMIT_MET, .task = 7, .limit = {.session = {false, true, false, true}}},
     "limit-met task=7 now=0 random=0 reset=0 engine-resumes=no session-known=yes "
     "session-workspace=no tampered=yes"},
    {{.kind = ENGINE_ATTEMPT_FAILED,
      .task = 7,
      .random = 9,
      .failure = {.failure = FAILURE_NO_CHANGE,
                  .by_user = true,
                  .has_workspace = true,
                  .verification_broken = true,
                  .has_feedback = true}},
     "attempt-failed task=7 random=9 failure=no_change by-user=yes keeps-workspaces=no "
     "workspace=yes saved=no verification-broken=yes candidate=no feedback=yes engine-resumes=no "
     "session-known=no session-workspace=no tampered=no at-limit=fail limit-repair=none "
     "limit-workspace=left limit-delay=0 limit-reset=0 closes-lane=no uses-retry=no at-tip=no"},
    {{.kind = ENGINE_ATTEMPT_FAILED,
      .task = 7,
      .failure = {.failure = FAILURE_STOPPED,
                  .keeps_workspaces = true,
                  .saved = true,
                  .has_candidate = true,
                  .session = {true, true, true, true},
                  .at_limit = {.kind = OUTCOME_REPAIR,
                               .repair = REPAIR_CONFLICT,
                               .workspace = WORKSPACE_PASSED_ON,
                               .delay_ms = INT64_MIN,
                               .resets_at = INT64_MAX,
                               .closes_lane = true,
                               .at_tip = true}}},
     "attempt-failed task=7 random=0 failure=stopped by-user=no keeps-workspaces=yes workspace=no "
     "saved=yes verification-broken=no candidate=yes feedback=no engine-resumes=yes "
     "session-known=yes session-workspace=yes tampered=yes at-limit=repair limit-repair=conflict "
     "limit-workspace=passed-on limit-delay=-9223372036854775808 limit-reset=9223372036854775807 "
     "closes-lane=yes uses-retry=no at-tip=yes"},
    {{.kind = ENGINE_FAILURE_CARRIED_OUT,
      .task = 7,
      .outcome = {.repair = REPAIR_MERGED, .at_tip = true},
      .class = FAILURE_VERIFY},
     "failure-carried-out task=7 repair=merged at-tip=yes uses-retry=no failure=verify"},
    {{.kind = ENGINE_FAILURE_CARRIED_OUT,
      .task = 7,
      .outcome = {.uses_retry = true},
      .class = FAILURE_AUTH},
     "failure-carried-out task=7 repair=none at-tip=no uses-retry=yes failure=auth"},
    OF_TASK(ENGINE_FAILED, "failed"),
    {{.kind = ENGINE_SESSION_KEPT, .task = 7}, "session-kept task=7 yes=no"},
    OF_TASK(ENGINE_WAITS, "waits"),
    OF_TASK(ENGINE_WAITS_FOR_TIME, "waits-for-time"),
    OF_TASK(ENGINE_PARKED, "parked"),
    OF_TASK(ENGINE_DUE, "due"),
    OF_TASK(ENGINE_READY, "ready"),
    OF_TASK(ENGINE_HELD, "held"),
    OF_TASK(ENGINE_ENDED, "ended"),

    OF_TASK(ENGINE_SKIPPED, "skipped"),
    OF_TASK(ENGINE_WAIT_STOPPED, "wait-stopped"),
    OF_TASK(ENGINE_RESTARTED, "restarted"),
    {{.kind = ENGINE_RESTARTED_FRESH, .task = 7, .yes = true}, "restarted-fresh task=7 yes=yes"},
    OF_TASK(ENGINE_TAKEN_BACK, "taken-back"),
    OF_TASK(ENGINE_MESSAGE_WAITS, "message-waits"),
    OF_TASK(ENGINE_MESSAGE_TOLD, "message-told"),
    OF_TASK(ENGINE_REPAIR_BEGAN, "repair-began"),
    {{.kind = ENGINE_FOLLOW_UP_BEGAN, .task = 7, .yes = true}, "follow-up-began task=7 yes=yes"},
    OF_TASK(ENGINE_FOLLOW_UP_FAILED, "follow-up-failed"),
    OF_TASK(ENGINE_LANDING_STANDS, "landing-stands"),
    {{.kind = ENGINE_SESSION_RESUMED, .task = 7, .next = {.repair = REPAIR_OWN, .remade = true}},
     "session-resumed task=7 repair=own remade=yes parked=no message=no"},
    {{.kind = ENGINE_SESSION_RESUMED, .task = 7, .next = {.parked = true}},
     "session-resumed task=7 repair=none remade=no parked=yes message=no"},
    {{.kind = ENGINE_SESSION_RESUMED, .task = 7, .next = {.has_message = true}},
     "session-resumed task=7 repair=none remade=no parked=no message=yes"},

    {{.kind = ENGINE_FOUND,
      .task = 7,
      .found = {.state = TASK_SKIPPED,
                .tokens_in = INT64_MAX,
                .tokens_out = INT64_MIN,
                .usd = -1,
                .retries_used = {[FAILURE_AUTH] = INT32_MAX, [FAILURE_STOPPED] = INT32_MIN},
                .start_at_tip = true,
                .follows_landing = true}},
     "found task=7 state=skipped in=9223372036854775807 out=-9223372036854775808 usd=-1 "
     "retries=auth:2147483647,stopped:-2147483648 at-tip=yes in-conflict=no follows-landing=yes "
     "follow-up-failed=no"},
    {{.kind = ENGINE_FOUND, .task = 7, .found = {.in_conflict = true, .follow_up_failed = true}},
     "found task=7 state=waiting in=0 out=0 usd=0 retries=none at-tip=no in-conflict=yes "
     "follows-landing=no follow-up-failed=yes"},
    OF_TASK(ENGINE_FORGOTTEN, "forgotten"),
    OF_TASK(ENGINE_STARTS_AT_TIP, "starts-at-tip"),
    OF_TASK(ENGINE_LANDS_AGAIN, "lands-again"),
    OF_TASK(ENGINE_NEEDS_WORKSPACE, "needs-workspace"),
};

static void check_round_trip(const struct engine_event *ev, const char *line)
{
    autobuf struct buf out = BUF_INIT, again = BUF_INIT;
    struct engine_event back;
    struct err err = {0};
    engine_line_write(&out, ev);
    assert_string_equal(out.s + out.len - 1, "\n");
    buf_cut(&out, out.len - 1);
    assert_string_equal(out.s, line);
    if (engine_line_read(line, strlen(line), &back, &err))
        fail_msg("%s: %s", line, err.msg);
    assert_int_equal(back.kind, ev->kind);
    assert_int_equal(back.task, ev->task);
    engine_line_write(&again, &back);
    assert_int_equal(again.len, out.len + 1);
    assert_memory_equal(again.s, out.s, out.len);
}

static void test_each_event_comes_back(void **state)
{
    bool seen[ENGINE_EVENT_COUNT_] = {0};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        check_round_trip(&rows[i].ev, rows[i].line);
        seen[rows[i].ev.kind] = true;
    }
    for (int k = 0; k < ENGINE_EVENT_COUNT_; k++) {
        if (!seen[k])
            fail_msg("no row has '%s'", engine_event_name((enum engine_event_kind)k));
    }
}

static void refuse(const char *line, size_t len)
{
    static const struct engine_event before = {.kind = ENGINE_USED, .task = 99, .now = 7};
    struct engine_event ev = before;
    struct err err = {0};
    if (engine_line_read(line, len, &ev, &err) == 0)
        fail_msg("read: '%s'", line);
    assert_int_equal(err.code, ERR_ENV);
    assert_true(err.msg[0]);
    assert_memory_equal(&ev, &before, sizeof(ev));
}

static void refuse_text(const struct buf *line)
{
    refuse(line->s, line->len);
}

/* Puts `with` into the place of n bytes. */
static void refuse_with(const char *line, const char *at, size_t n, const char *with)
{
    autobuf struct buf out = BUF_INIT;
    buf_add(&out, line, (size_t)(at - line));
    buf_addstr(&out, with);
    buf_addstr(&out, at + n);
    refuse_text(&out);
}

/* `at` is the blank before a member. */
static void damage_member(const char *line, const char *at)
{
    static const char *const values[] = {"=", "=x", "=yes ", "=0x1", "=1.", "=+1"};
    autofree char *member = mem_dup(at, 1 + strcspn(at + 1, " "));
    size_t len = strlen(member);
    const char *value = strchr(at, '=');
    size_t value_len = len - (size_t)(value - at);
    autofree char *longer = mem_printf("%sx", member), *twice = mem_printf("%s%s", member, member);
    autofree char *renamed = mem_printf(" z%s", member + 1);
    refuse_with(line, at, len, "");
    refuse_with(line, at, len, longer);
    refuse_with(line, at, len, twice);
    refuse_with(line, at, len, renamed);
    refuse_with(line, at, 1, "  ");
    refuse_with(line, at, 0, " other=1");
    for (size_t i = 0; i < ARRAY_LEN(values); i++)
        refuse_with(line, value, value_len, values[i]);
}

static void test_damage_is_refused(void **state)
{
    static const char *const ends[] = {" ", "\n", "\r", "x", " task=7", " x=1"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *line = rows[i].line;
        for (const char *at = strchr(line, ' '); at; at = strchr(at + 1, ' '))
            damage_member(line, at);
        for (size_t e = 0; e < ARRAY_LEN(ends); e++)
            refuse_with(line, line + strlen(line), 0, ends[e]);
        refuse(line, strlen(line) + 1); /* with its NUL */
        refuse_with(line, line, 0, " ");
        refuse_with(line, line, 0, "x");
    }
}

static void test_only_our_spelling_is_read(void **state)
{
    static const char *const lines[] = {
        "",
        " ",
        "no-such-event",
        "Waits task=1",
        "attempt failed task=1",
        "waits task=-1",
        "waits task=4294967296",
        "waits task=01",
        "waits task=00",
        "waits task=-0",
        "waits task=1 ",
        "waits Task=1",
        "budget-raised task=-2 usd=0 tokens=0",
        "budget-raised task=1 usd=0.10 tokens=0",
        "budget-raised task=1 usd=0.30000000000000003 tokens=0",
        "budget-raised task=1 usd=0x1p3 tokens=0",
        "budget-raised task=1 usd=1e3 tokens=0",
        "budget-raised task=1 usd=INF tokens=0",
        "budget-raised task=1 usd=111111111111111111111111111111111111 tokens=0",
        "budget-raised task=1 usd=0 tokens=9223372036854775808",
        "budget-raised task=1 usd=0 tokens=-9223372036854775809",
        "budget-raised task=1 usd=0 tokens=99999999999999999999999",
        "budget-raised task=1 tokens=0 usd=0",
        "workers-set workers=-1",
        "workers-set workers=18446744073709551616",
        "lane-due now=1 random=4294967296 lane=0",
        "lane-due now=1 random=-1 lane=0",
        "lane-due now=1 random=1 lane=2147483648",
        "compared task=1 yes=Yes",
        "compared task=1 yes=1",
        "session-resumed task=1 repair=own,merged remade=no parked=no message=no",
        "session-resumed task=1 repair=OWN remade=no parked=no message=no",
        "found task=7 state=none in=0 out=0 usd=0 retries=none at-tip=no in-conflict=no "
        "follows-landing=no follow-up-failed=no",
        "found task=7 state=waiting in=0 out=0 usd=0 retries= at-tip=no in-conflict=no "
        "follows-landing=no follow-up-failed=no",
        "found task=7 state=waiting in=0 out=0 usd=0 retries=auth:0 at-tip=no in-conflict=no "
        "follows-landing=no follow-up-failed=no",
        "found task=7 state=waiting in=0 out=0 usd=0 retries=auth:1,auth:1 at-tip=no "
        "in-conflict=no follows-landing=no follow-up-failed=no",
        "found task=7 state=waiting in=0 out=0 usd=0 retries=limit:1,auth:1 at-tip=no "
        "in-conflict=no follows-landing=no follow-up-failed=no",
        "found task=7 state=waiting in=0 out=0 usd=0 retries=auth:1, at-tip=no in-conflict=no "
        "follows-landing=no follow-up-failed=no",
        "found task=7 state=waiting in=0 out=0 usd=0 retries=auth:2147483648 at-tip=no "
        "in-conflict=no follows-landing=no follow-up-failed=no",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(lines); i++)
        refuse(lines[i], strlen(lines[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_event_comes_back),
        cmocka_unit_test(test_damage_is_refused),
        cmocka_unit_test(test_only_our_spelling_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
