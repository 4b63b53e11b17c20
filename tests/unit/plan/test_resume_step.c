/* The step at which a task of an ended or killed run continues. */
#include "base/mem.h"
#include "plan/engine/rules/resume_step.h"

#include <stddef.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#define F FACT
/* The caller always knows these. */
#define FREE                                                                                       \
    (F(WANTED) | F(NEW) | F(STARTED) | F(LANDED) | F(FOLLOWS_LANDING) | F(CHANGED) |               \
     F(NEED_REDONE) | F(KEEP_FAILED) | F(RESTARTED) | F(MESSAGE) | F(REPAIR) | F(SESSION_WAITS) |  \
     F(REMADE) | F(UNVERIFIED))
#define W    F(WANTED)
#define RUNS (F(WANTED) | F(STARTED) | F(SAME_ENGINE) | F(WHOLE) | F(SESSION))

struct step_case {
    enum task_state state;
    uint64_t yes;
    enum resume_step step;
    const char *why;
    uint64_t asked;
};

static const struct step_case cases[] = {
    {TASK_RUNNING, F(STARTED), RESUME_NOT_WANTED, "", 0},
    {TASK_LANDED, F(STARTED) | F(LANDED) | F(CHANGED), RESUME_NOT_WANTED, "", 0},
    {TASK_WAITING, F(NEW), RESUME_NOT_WANTED, "", 0},
    {TASK_WAITING, W | F(NEW), RESUME_RUN, "it is new", 0},
    {TASK_WAITING, W | F(NEW) | F(NEED_REDONE), RESUME_RUN, "it is new", 0},

    {TASK_LANDED, W | F(LANDED), RESUME_KEEP, "it has landed", 0},
    {TASK_LANDED, W | F(LANDED) | F(NEED_REDONE), RESUME_KEEP, "it has landed", 0},
    {TASK_LANDING, W | F(LANDED), RESUME_FOUND, "it has landed", 0},
    {TASK_RUNNING, W | F(LANDED) | F(SESSION_WAITS), RESUME_FOUND, "it has landed", 0},
    {TASK_CONFLICTED, W | F(LANDED), RESUME_FOUND, "it has landed", 0},
    {TASK_FAILED, W | F(LANDED) | F(KEEP_FAILED), RESUME_FOUND, "it has landed", 0},
    {TASK_LANDED, W | F(LANDED) | F(CHANGED), RESUME_RUN,
     "it was changed after it had landed: it runs again, on top", 0},
    {TASK_LANDING, W | F(LANDED) | F(CHANGED) | F(NEED_REDONE), RESUME_RUN,
     "it was changed after it had landed: it runs again, on top", 0},

    {TASK_RUNNING, RUNS | F(CHANGED), RESUME_RUN, "it was changed", 0},
    {TASK_DONE, W | F(CHANGED), RESUME_RUN, "it was changed", 0},
    {TASK_FAILED, W | F(CHANGED) | F(KEEP_FAILED), RESUME_RUN, "it was changed", 0},
    {TASK_RUNNING, RUNS | F(CHANGED) | F(NEED_REDONE), RESUME_RUN, "it was changed", 0},
    {TASK_DONE, W | F(NEED_REDONE), RESUME_RUN, "it needs 'n', which runs again", 0},
    {TASK_COMMITTING, RUNS | F(NEED_REDONE), RESUME_RUN, "it needs 'n', which runs again", 0},
    {TASK_DONE, W | F(STARTED), RESUME_KEEP, "it is done", 0},

    {TASK_WAITING, W, RESUME_RUN, "it had not started", 0},
    {TASK_READY, W, RESUME_RUN, "it had not started", 0},
    {TASK_WAITING, W | F(STARTED), RESUME_RUN, "it waited for another attempt", 0},
    {TASK_READY, W | F(STARTED), RESUME_RUN, "it waited for another attempt", 0},
    {TASK_PREPARING, W | F(STARTED), RESUME_RUN, "its workspace was being made", 0},
    {TASK_SKIPPED, W, RESUME_RUN, "it was skipped", 0},
    {TASK_SKIPPED, W | F(KEEP_FAILED), RESUME_RUN, "it was skipped", 0},

    {TASK_RUNNING, RUNS, RESUME_CONTINUE, "its agent was running",
     F(REBOOTED) | F(SAME_ENGINE) | F(WHOLE) | F(FALLBACK) | F(SESSION)},
    {TASK_RUNNING, RUNS | F(SESSION_WAITS), RESUME_CONTINUE, "it was parked",
     F(REBOOTED) | F(SAME_ENGINE) | F(WHOLE) | F(FALLBACK) | F(SESSION)},
    {TASK_RUNNING, RUNS | F(SESSION_WAITS) | F(REPAIR), RESUME_CONTINUE,
     "its agent was about to repair its work",
     F(REBOOTED) | F(SAME_ENGINE) | F(WHOLE) | F(FALLBACK) | F(SESSION)},
    {TASK_RUNNING, RUNS | F(SESSION_WAITS) | F(REPAIR) | F(MESSAGE), RESUME_CONTINUE,
     "its agent has a new message",
     F(REBOOTED) | F(SAME_ENGINE) | F(WHOLE) | F(FALLBACK) | F(SESSION)},
    {TASK_RUNNING, RUNS & ~F(SAME_ENGINE), RESUME_RUN, "its agent was running",
     F(REBOOTED) | F(SAME_ENGINE)},
    {TASK_RUNNING, RUNS & ~F(WHOLE), RESUME_RUN, "its agent was running",
     F(REBOOTED) | F(SAME_ENGINE) | F(WHOLE)},
    {TASK_RUNNING, (RUNS | F(SESSION_WAITS) | F(FALLBACK)), RESUME_RUN, "it was parked",
     F(REBOOTED) | F(SAME_ENGINE) | F(WHOLE) | F(FALLBACK)},
    {TASK_RUNNING, RUNS & ~F(SESSION), RESUME_RUN, "its agent was running",
     F(REBOOTED) | F(SAME_ENGINE) | F(WHOLE) | F(FALLBACK) | F(SESSION)},
    {TASK_RUNNING, (RUNS & ~F(SESSION)) | F(MESSAGE), RESUME_RUN, "its agent has a new message",
     F(REBOOTED) | F(SAME_ENGINE) | F(WHOLE) | F(FALLBACK) | F(SESSION)},
    {TASK_RUNNING, RUNS | F(REBOOTED), RESUME_RUN,
     "the machine was restarted while its agent was running", F(REBOOTED)},
    {TASK_RUNNING, RUNS | F(REBOOTED) | F(SESSION_WAITS), RESUME_RUN,
     "the machine was restarted while it was parked", F(REBOOTED)},
    {TASK_RUNNING, RUNS | F(REBOOTED) | F(SESSION_WAITS) | F(MESSAGE), RESUME_RUN,
     "the machine was restarted while it was parked", F(REBOOTED)},
    {TASK_RUNNING, (RUNS & ~F(WHOLE)) | F(REBOOTED) | F(SESSION_WAITS) | F(MESSAGE) | F(REMADE),
     RESUME_CONTINUE, "its agent has a new message", F(SAME_ENGINE) | F(FALLBACK) | F(SESSION)},
    {TASK_RUNNING, (RUNS & ~F(SAME_ENGINE)) | F(SESSION_WAITS) | F(MESSAGE) | F(REMADE), RESUME_RUN,
     "its agent has a new message", F(SAME_ENGINE)},

    {TASK_COMMITTING, RUNS, RESUME_COMMIT, "its agent was done", F(REBOOTED) | F(WHOLE)},
    {TASK_COMMITTING, RUNS & ~F(WHOLE), RESUME_RUN, "its agent was done", F(REBOOTED) | F(WHOLE)},
    {TASK_COMMITTING, RUNS | F(REBOOTED), RESUME_RUN,
     "the machine was restarted before its work was committed", F(REBOOTED)},

    {TASK_VERIFYING, W | F(COMMIT_EXISTS), RESUME_LAND, "it was about to land", F(COMMIT_EXISTS)},
    {TASK_LANDING, W | F(COMMIT_EXISTS), RESUME_LAND, "it was about to land", F(COMMIT_EXISTS)},
    {TASK_VERIFYING, W, RESUME_RUN, "it was about to land", F(COMMIT_EXISTS)},
    {TASK_LANDING, W | F(REBOOTED), RESUME_RUN, "it was about to land", F(COMMIT_EXISTS)},

    {TASK_FAILED, W | F(STARTED), RESUME_RUN, "it failed", 0},
    {TASK_FAILED, W | F(STARTED) | F(KEEP_FAILED), RESUME_LEAVE, "it failed", 0},
    {TASK_FAILED, W | F(STARTED) | F(KEEP_FAILED) | F(RESTARTED), RESUME_RUN, "it failed", 0},
    {TASK_FAILED, W | F(STARTED) | F(KEEP_FAILED) | F(UNVERIFIED) | F(COMMIT_EXISTS), RESUME_LEAVE,
     "it failed", 0},
    {TASK_FAILED, W | F(STARTED) | F(UNVERIFIED) | F(COMMIT_EXISTS), RESUME_LAND,
     "its verification could not start", F(COMMIT_EXISTS)},
    {TASK_FAILED, W | F(STARTED) | F(UNVERIFIED), RESUME_RUN, "it failed", F(COMMIT_EXISTS)},
    {TASK_FAILED, W | F(STARTED) | F(UNVERIFIED) | F(COMMIT_EXISTS) | F(RESTARTED), RESUME_RUN,
     "it failed", 0},

    {TASK_CONFLICTED, W, RESUME_RUN, "it was in conflict, and its commit is gone",
     F(COMMIT_EXISTS)},
    {TASK_CONFLICTED, W | F(COMMIT_EXISTS) | F(WORKED_IN) | F(MERGES), RESUME_LEAVE,
     "it is being resolved in its workspace", F(COMMIT_EXISTS) | F(WORKED_IN)},
    {TASK_CONFLICTED, W | F(COMMIT_EXISTS) | F(MERGES), RESUME_LAND,
     "it was in conflict, and merges now", F(COMMIT_EXISTS) | F(WORKED_IN) | F(MERGES)},
    {TASK_CONFLICTED, W | F(COMMIT_EXISTS), RESUME_LEAVE, "it is still in conflict",
     F(COMMIT_EXISTS) | F(WORKED_IN) | F(MERGES)},

    /* A person had its agent work on after it had landed. */
    {TASK_CONFLICTED, W | F(FOLLOWS_LANDING), RESUME_FOUND,
     "it has landed; its further work is gone", F(COMMIT_EXISTS)},
    {TASK_CONFLICTED, W | F(FOLLOWS_LANDING) | F(KEEP_FAILED), RESUME_FOUND,
     "it has landed; its further work is gone", F(COMMIT_EXISTS)},
    {TASK_CONFLICTED, W | F(FOLLOWS_LANDING) | F(LANDED), RESUME_FOUND, "it has landed", 0},
    {TASK_CONFLICTED, W | F(FOLLOWS_LANDING) | F(CHANGED), RESUME_RUN, "it was changed", 0},
    {TASK_CONFLICTED, W | F(FOLLOWS_LANDING) | F(NEED_REDONE), RESUME_RUN,
     "it needs 'n', which runs again", 0},
    {TASK_CONFLICTED, W | F(FOLLOWS_LANDING) | F(COMMIT_EXISTS) | F(WORKED_IN), RESUME_LEAVE,
     "it is being resolved in its workspace", F(COMMIT_EXISTS) | F(WORKED_IN)},
    {TASK_CONFLICTED, W | F(FOLLOWS_LANDING) | F(COMMIT_EXISTS) | F(MERGES), RESUME_LAND,
     "it was in conflict, and merges now", F(COMMIT_EXISTS) | F(WORKED_IN) | F(MERGES)},
    {TASK_CONFLICTED, W | F(FOLLOWS_LANDING) | F(COMMIT_EXISTS), RESUME_LEAVE,
     "it is still in conflict", F(COMMIT_EXISTS) | F(WORKED_IN) | F(MERGES)},
    {TASK_RUNNING, RUNS | F(FOLLOWS_LANDING), RESUME_CONTINUE, "its agent was running",
     F(REBOOTED) | F(SAME_ENGINE) | F(WHOLE) | F(FALLBACK) | F(SESSION)},
    {TASK_LANDED, W | F(FOLLOWS_LANDING) | F(LANDED), RESUME_KEEP, "it has landed", 0},
};

static void answer(struct facts *f, uint64_t yes, enum fact ask, uint64_t *asked)
{
    if (*asked & (UINT64_C(1) << ask))
        fail_msg("fact %d is asked for twice", ask);
    *asked |= UINT64_C(1) << ask;
    facts_set(f, ask, yes & (UINT64_C(1) << ask));
}

static void check_step(const struct step_case *c, size_t i)
{
    struct facts f = {.known = FREE, .yes = c->yes & FREE};
    struct resume_verdict v;
    uint64_t asked = 0;
    enum fact ask;
    autobuf struct buf why = BUF_INIT;
    while (!resume_step_decide(c->state, &f, &v, &ask))
        answer(&f, c->yes, ask, &asked);
    decision_text(&why, v.why, &(struct decision_words){.need = "n"});
    if (v.step != c->step || strcmp(why.s, c->why) != 0 || asked != c->asked)
        fail_msg("case %zu: %s, %s, asked %llx", i, resume_step_names[v.step], why.s,
                 (unsigned long long)asked);
    if (v.restarted != (strstr(c->why, "the machine was restarted") != NULL))
        fail_msg("case %zu: restarted is %d", i, v.restarted);
}

static void each_task_continues_where_it_was(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check_step(&cases[i], i);
}

static void an_edit_makes_dependants_run_again(void **state)
{
    static const struct {
        uint64_t yes;
        bool expected;
    } edits[] = {
        {W, false},
        {W | F(NEW), false},
        {W | F(NEW) | F(NEED_REDONE), false},
        {W | F(CHANGED), true},
        {F(CHANGED), true},
        {W | F(CHANGED) | F(LANDED), true},
        {W | F(NEED_REDONE), true},
        {W | F(NEED_REDONE) | F(LANDED), false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(edits); i++) {
        struct facts f = {.known = FREE, .yes = edits[i].yes};
        if (resume_step_is_redone(&f) != edits[i].expected)
            fail_msg("case %zu", i);
    }
}

static void each_session_starts_with_its_work(void **state)
{
    static const struct {
        enum task_state state;
        uint64_t yes;
        enum session_start expected;
        bool asks;
    } starts[] = {
        {TASK_FAILED, F(WHOLE), SESSION_AS_LEFT, false},
        {TASK_FAILED, F(WHOLE) | F(HAS_COMMIT) | F(SALVAGED), SESSION_AS_LEFT, false},
        {TASK_LANDED, F(WHOLE) | F(LANDED), SESSION_AS_LEFT, false},
        {TASK_LANDED, F(WHOLE) | F(LANDED) | F(HAS_COMMIT), SESSION_ON_COMMIT, false},
        {TASK_CONFLICTED, F(WHOLE) | F(LANDED) | F(HAS_COMMIT), SESSION_ON_COMMIT, false},
        {TASK_FAILED, F(SALVAGED), SESSION_ON_SALVAGE, true},
        {TASK_FAILED, 0, SESSION_ON_TIP, true},
        {TASK_DONE, 0, SESSION_ON_TIP, true},
        {TASK_LANDED, F(LANDED) | F(HAS_COMMIT) | F(SALVAGED), SESSION_ON_TIP, false},
        {TASK_CONFLICTED, F(LANDED) | F(SALVAGED), SESSION_ON_TIP, false},
        {TASK_CONFLICTED, F(WHOLE) | F(HAS_COMMIT), SESSION_WITH_CONFLICT, false},
        {TASK_CONFLICTED, F(HAS_COMMIT) | F(SALVAGED), SESSION_WITH_CONFLICT, false},
    };
    const uint64_t known = F(LANDED) | F(WHOLE) | F(HAS_COMMIT);
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(starts); i++) {
        struct facts f = {.known = known, .yes = starts[i].yes & known};
        enum session_start start;
        uint64_t asked = 0;
        enum fact ask;
        while (!session_start_decide(starts[i].state, &f, &start, &ask))
            answer(&f, starts[i].yes, ask, &asked);
        if (start != starts[i].expected || asked != (starts[i].asks ? F(SALVAGED) : 0))
            fail_msg("case %zu: %d", i, start);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_task_continues_where_it_was),
        cmocka_unit_test(an_edit_makes_dependants_run_again),
        cmocka_unit_test(each_session_starts_with_its_work),
    };
    return cmocka_run_group_tests_name("resume_step", tests, NULL, NULL);
}
