/* How a task continues after a failed attempt. */
#include "base/buf.h"
#include "base/mem.h"
#include "plan/engine/attempt/failure_outcome.h"

#include <stddef.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static const char *const outcomes[] = {
    [OUTCOME_FAIL] = "fail",   [OUTCOME_LEAVE_CONFLICT] = "leave conflict",
    [OUTCOME_PARK] = "park",   [OUTCOME_FALL_BACK] = "fall back",
    [OUTCOME_RETRY] = "retry", [OUTCOME_REPAIR] = "repair"};
static const char *const repairs[] = {[REPAIR_NONE] = "",
                                      [REPAIR_OWN] = " own",
                                      [REPAIR_MERGED] = " merged",
                                      [REPAIR_CONFLICT] = " conflict"};
static const char *const ends[] = {[WORKSPACE_LEFT] = "left",
                                   [WORKSPACE_REMOVED] = "removed",
                                   [WORKSPACE_PASSED_ON] = "passed on"};

enum {
    RUN_ENDS = 1 << 0,
    BY_USER = 1 << 1,
    KEEP = 1 << 2,
    SPACE = 1 << 3,
    SAVED = 1 << 4,
    RESOLVES = 1 << 5,
    BROKEN = 1 << 6,
    CANDIDATE = 1 << 7,
    FEEDBACK = 1 << 8,
    RESUMES = 1 << 9,
    SESSION = 1 << 10,
    WHOLE = 1 << 11,
    TAMPERED = 1 << 12,
    PARKS = 1 << 13,
    FALLS_BACK = 1 << 14,
    FALLBACK = 1 << 15,
    NO_WAIT = 1 << 16,
    UNPAID = 1 << 17,
    REPAIRABLE = SAVED | SPACE | FEEDBACK | RESUMES | SESSION | WHOLE,
};

static struct session_facts session_of(int facts)
{
    return (struct session_facts){.engine_resumes = facts & RESUMES,
                                  .is_known = facts & SESSION,
                                  .has_workspace = facts & WHOLE,
                                  .tampered = facts & TAMPERED};
}

static struct failure_facts facts_of(enum failure failure, int facts)
{
    struct failure_facts f = {.failure = failure,
                              .run_ends = facts & RUN_ENDS,
                              .by_user = facts & BY_USER,
                              .keeps_workspaces = facts & KEEP,
                              .has_workspace = facts & SPACE,
                              .saved = facts & SAVED,
                              .in_conflict = facts & RESOLVES,
                              .verification_broken = facts & BROKEN,
                              .has_candidate = facts & CANDIDATE,
                              .has_feedback = facts & FEEDBACK,
                              .session = session_of(facts)};
    if (facts & PARKS)
        f.at_limit = (struct failure_outcome){.kind = OUTCOME_PARK,
                                              .workspace = WORKSPACE_PASSED_ON,
                                              .delay_ms = 700,
                                              .resets_at = 9};
    else if (facts & FALLS_BACK)
        f.at_limit =
            (struct failure_outcome){.kind = OUTCOME_FALL_BACK, .workspace = WORKSPACE_REMOVED};
    return f;
}

/* The plan allows `times` retries of this class and nine of all others. */
static void set_retries(struct retries *r, struct retry *plan, enum failure failure, int times,
                        int used)
{
    *r = (struct retries){.plan = plan};
    for (int i = 0; i < FAILURE_COUNT_; i++)
        plan->times[i] = i < FAILURE_RETRY_COUNT ? 9 : PLAN_UNSET;
    plan->times[failure] = times;
    r->used[failure] = used;
}

static void each_failure_has_its_outcome(void **state)
{
    static const struct {
        const char *what;
        enum failure failure;
        int facts, times, used;
        const char *expected;
    } cases[] = {
        {"a first failure", FAILURE_TIMEOUT, SAVED, 2, 0, "retry, removed"},
        {"a second one", FAILURE_TIMEOUT, SAVED, 2, 1, "retry, removed"},
        {"the retries are used", FAILURE_TIMEOUT, SAVED, 2, 2, "fail, removed"},
        {"'fail'", FAILURE_TIMEOUT, SAVED, RETRY_FAIL, 0, "fail, removed"},
        {"--keep", FAILURE_TIMEOUT, SAVED | KEEP, 2, 2, "fail, left"},
        {"--keep, and a retry", FAILURE_TIMEOUT, SAVED | KEEP, 2, 0, "retry, removed"},
        {"not saved", FAILURE_TIMEOUT, SPACE, 2, 0, "fail, left"},
        {"the run ends", FAILURE_STOPPED, SAVED | RUN_ENDS, 0, 0, "fail, removed"},
        {"... and a retry", FAILURE_TIMEOUT, SAVED | RUN_ENDS, 2, 0, "fail, removed"},
        {"a person stops it", FAILURE_TIMEOUT, SAVED | BY_USER, 2, 0, "fail, removed"},
        {"a verification that cannot start", FAILURE_VERIFY, REPAIRABLE | BROKEN, 2, 0,
         "fail, removed"},

        {"the verification failed", FAILURE_VERIFY, REPAIRABLE | CANDIDATE, 2, 1,
         "repair merged, passed on"},
        {"a hook refused it", FAILURE_VERIFY, REPAIRABLE, 2, 0, "repair own, passed on"},
        {"... for the last time", FAILURE_VERIFY, REPAIRABLE, 2, 2, "fail, removed"},
        {"... as the run ends", FAILURE_VERIFY, REPAIRABLE | RUN_ENDS, 2, 0, "fail, removed"},
        {"... with --keep", FAILURE_VERIFY, REPAIRABLE | KEEP, 2, 0, "repair own, passed on"},
        {"stray changes", FAILURE_SCOPE, REPAIRABLE | CANDIDATE, 2, 0, "repair own, passed on"},
        {"a conflict", FAILURE_CONFLICT, REPAIRABLE, 2, 0, "repair conflict, passed on"},
        {"... that is still there", FAILURE_CONFLICT, REPAIRABLE | RESOLVES, 2, 1,
         "repair own, passed on"},
        {"resolved, but not verified", FAILURE_VERIFY, REPAIRABLE | RESOLVES | CANDIDATE, 2, 0,
         "repair merged, passed on"},
        {"nothing to repair", FAILURE_TIMEOUT, REPAIRABLE, 2, 0, "retry, removed"},
        {"no feedback", FAILURE_VERIFY, REPAIRABLE & ~FEEDBACK, 2, 0, "retry, removed"},
        {"the engine cannot resume", FAILURE_VERIFY, REPAIRABLE & ~RESUMES, 2, 0, "retry, removed"},
        {"no session", FAILURE_VERIFY, REPAIRABLE & ~SESSION, 2, 0, "retry, removed"},
        {"a damaged workspace", FAILURE_VERIFY, REPAIRABLE & ~WHOLE, 2, 0, "retry, removed"},
        {"the agent tampered", FAILURE_SCOPE, REPAIRABLE | TAMPERED, 2, 0, "retry, removed"},

        {"no more repairs", FAILURE_CONFLICT, REPAIRABLE | RESOLVES, 2, 2,
         "leave conflict, removed"},
        {"another failure", FAILURE_IDLE, SAVED | SPACE | RESOLVES, 0, 0,
         "leave conflict, removed"},
        {"... with --keep", FAILURE_IDLE, SAVED | SPACE | RESOLVES | KEEP, 0, 0,
         "leave conflict, left"},
        {"... not saved", FAILURE_IDLE, SPACE | RESOLVES, 2, 0, "leave conflict, left"},
        {"... without a workspace", FAILURE_SETUP, SAVED | RESOLVES, 0, 0, "fail, removed"},
        {"... as the run ends", FAILURE_STOPPED, SAVED | SPACE | RESOLVES | RUN_ENDS, 0, 0,
         "fail, removed"},
        {"... a person stops it", FAILURE_STOPPED, SAVED | SPACE | RESOLVES | BY_USER, 0, 0,
         "fail, removed"},

        {"it waits for a limit", FAILURE_LIMIT, SAVED | SPACE | PARKS, 0, 0, "park, passed on"},
        {"it falls back", FAILURE_LIMIT, SAVED | FALLS_BACK, 0, 0, "fall back, removed"},
        {"... with --keep", FAILURE_LIMIT, SAVED | FALLS_BACK | KEEP, 0, 0, "fall back, removed"},
        {"... not saved", FAILURE_LIMIT, SPACE | FALLS_BACK, 2, 0, "fail, left"},
        {"it waits for no limit", FAILURE_LIMIT, SAVED, 2, 0, "retry, removed"},
        {"it cannot wait", FAILURE_LIMIT, SAVED | PARKS | BROKEN, 0, 0, "fail, left"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct failure_facts f = facts_of(cases[i].failure, cases[i].facts);
        struct retry plan;
        struct retries r;
        set_retries(&r, &plan, f.failure, cases[i].times, cases[i].used);
        struct failure_outcome o = failure_outcome(&f, &r, RETRY_MIDDLE);
        autobuf struct buf got = BUF_INIT;
        buf_addf(&got, "%s%s, %s", outcomes[o.kind], repairs[o.repair], ends[o.workspace]);
        bool counts = o.kind == OUTCOME_RETRY || o.kind == OUTCOME_REPAIR;
        if (strcmp(got.s, cases[i].expected) != 0 || o.uses_retry != counts ||
            o.at_tip != (counts && f.failure == FAILURE_CONFLICT))
            fail_msg("%s: %s, counts: %d, at the tip: %d", cases[i].what, got.s, o.uses_retry,
                     o.at_tip);
    }
}

static void pauses_grow_with_the_retries_of_the_class(void **state)
{
    struct retry plan;
    struct retries r;
    set_retries(&r, &plan, FAILURE_OVERLOADED, 9, 2);
    struct failure_facts f = facts_of(FAILURE_OVERLOADED, SAVED);
    struct failure_facts limit = facts_of(FAILURE_LIMIT, SAVED | PARKS);
    (void)state;
    assert_int_equal(failure_outcome(&f, &r, RETRY_MIDDLE).delay_ms, 20000);
    assert_int_equal(failure_outcome(&f, &r, 0).delay_ms, 15000);
    assert_int_equal(failure_outcome(&limit, &r, 0).delay_ms, 700);
    assert_int_equal(failure_outcome(&limit, &r, 0).resets_at, 9);
}

static void the_word_stop_ends_the_run_unless_a_person_stopped_the_task(void **state)
{
    static const struct {
        int times, facts;
        bool expected;
    } cases[] = {
        {RETRY_STOP, SAVED, true},
        {RETRY_STOP, SAVED | RUN_ENDS, true},
        {RETRY_STOP, SAVED | BY_USER, false},
        {RETRY_FAIL, SAVED, false},
        {PLAN_UNSET, SAVED, false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct failure_facts f = facts_of(FAILURE_AUTH, cases[i].facts);
        struct retry plan;
        struct retries r;
        set_retries(&r, &plan, FAILURE_AUTH, cases[i].times, 0);
        assert_int_equal(failure_outcome(&f, &r, 0).drains, cases[i].expected);
    }
}

static void a_limit_is_awaited_or_avoided(void **state)
{
    enum { ALL = RESUMES | SESSION | WHOLE, UNSET = PLAN_UNSET };
    static const struct {
        const char *what;
        int64_t reset; /* now it is 100 */
        int facts, times, used;
        const char *expected;
    } cases[] = {
        {"a known reset", 101, ALL, UNSET, 0, "park, passed on, closes"},
        {"... and no retry", 101, ALL, UNSET, 5, "park, passed on, closes"},
        {"... and no session", 101, ALL & ~SESSION, UNSET, 0, "park, removed, closes"},
        {"... and no workspace", 101, ALL & ~WHOLE, UNSET, 0, "park, removed, closes"},
        {"... and no way to resume", 101, ALL & ~RESUMES, UNSET, 0, "park, removed, closes"},
        {"... and a tamperer", 101, ALL | TAMPERED, UNSET, 0, "park, removed, closes"},
        {"a reset that is over", 100, ALL, UNSET, 0, "park, passed on, closes, counts"},
        {"an unknown reset", 0, 0, UNSET, 4, "park, removed, closes, counts"},
        {"... and no retry", 0, 0, UNSET, 5, "fail, left"},
        {"'park'", 101, 0, RETRY_PARK, 0, "park, removed, closes"},
        {"a number", 101, ALL, 3, 0, "fail, left"},
        {"'stop'", 101, ALL, RETRY_STOP, 0, "fail, left"},
        {"--no-wait", 101, ALL | NO_WAIT, UNSET, 0, "fail, left"},
        {"no money", 101, ALL | UNPAID, UNSET, 0, "fail, left"},

        {"a fallback", 101, ALL | FALLBACK, UNSET, 0, "fall back, removed, closes"},
        {"... and no retry", 0, FALLBACK, UNSET, 5, "fall back, removed, closes"},
        {"... and a number", 101, FALLBACK, 3, 0, "fall back, removed"},
        {"... and --no-wait", 101, FALLBACK | NO_WAIT, UNSET, 0, "fall back, removed"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct limit_facts f = {.has_fallback = cases[i].facts & FALLBACK,
                                .reset = cases[i].reset,
                                .now = 100,
                                .session = session_of(cases[i].facts)};
        struct retry plan;
        struct retries r;
        set_retries(&r, &plan, FAILURE_LIMIT, cases[i].times, cases[i].used);
        r.no_wait = cases[i].facts & NO_WAIT;
        r.budget_spent = cases[i].facts & UNPAID;
        struct failure_outcome o = failure_at_limit(&f, &r);
        autobuf struct buf got = BUF_INIT;
        buf_addf(&got, "%s, %s%s%s", outcomes[o.kind], ends[o.workspace],
                 o.closes_lane ? ", closes" : "", o.uses_retry ? ", counts" : "");
        bool known = o.kind == OUTCOME_PARK && cases[i].reset > 100;
        if (strcmp(got.s, cases[i].expected) != 0 || o.resets_at != (known ? 101 : 0))
            fail_msg("%s: %s, resets at %lld", cases[i].what, got.s, (long long)o.resets_at);
    }
}

static void a_repair_that_cannot_be_set_up_is_a_retry(void **state)
{
    struct failure_facts f = facts_of(FAILURE_CONFLICT, REPAIRABLE);
    struct retry plan;
    struct retries r;
    set_retries(&r, &plan, FAILURE_CONFLICT, 2, 1);
    struct failure_outcome o = failure_outcome(&f, &r, RETRY_MIDDLE);
    (void)state;
    assert_int_equal(o.kind, OUTCOME_REPAIR);
    failure_drop_repair(&o);
    assert_int_equal(o.kind, OUTCOME_RETRY);
    assert_int_equal(o.repair, REPAIR_NONE);
    assert_int_equal(o.workspace, WORKSPACE_REMOVED);
    assert_int_equal(o.delay_ms, 2000);
    assert_true(o.uses_retry && o.at_tip);
}

static void a_conflict_is_retried_or_left(void **state)
{
    static const struct {
        bool run_ends, in_conflict;
        int used;
        enum outcome_kind expected;
    } cases[] = {
        {false, false, 1, OUTCOME_RETRY},          {false, true, 1, OUTCOME_RETRY},
        {false, false, 2, OUTCOME_LEAVE_CONFLICT}, {false, true, 2, OUTCOME_FAIL},
        {true, false, 0, OUTCOME_LEAVE_CONFLICT},  {true, true, 0, OUTCOME_FAIL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct retry plan;
        struct retries r;
        set_retries(&r, &plan, FAILURE_CONFLICT, 2, cases[i].used);
        assert_int_equal(failure_of_conflict(cases[i].run_ends, cases[i].in_conflict, &r),
                         cases[i].expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_failure_has_its_outcome),
        cmocka_unit_test(pauses_grow_with_the_retries_of_the_class),
        cmocka_unit_test(the_word_stop_ends_the_run_unless_a_person_stopped_the_task),
        cmocka_unit_test(a_limit_is_awaited_or_avoided),
        cmocka_unit_test(a_repair_that_cannot_be_set_up_is_a_retry),
        cmocka_unit_test(a_conflict_is_retried_or_left),
    };
    return cmocka_run_group_tests_name("failure_outcome", tests, NULL, NULL);
}
