/* The meaning of a user's request for a task, in each state. */
#include "base/mem.h"
#include "plan/engine/rules/request_rule.h"

#include <stddef.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#define F FACT
/* Only these cost something. */
#define COSTLY (F(IN_HISTORY) | F(WORKED_IN) | F(HALF) | F(SESSION) | F(QUEUED))
#define S      F(STARTED)
#define A      (F(STARTED) | F(ATTEMPT))

struct request_case {
    enum request_kind kind;
    enum task_state state;
    uint64_t yes;
    enum request_answer answer;
    const char *text;
    uint64_t asked;
};

#define STOPS  "'t' is asked to stop; its work is saved"
#define ENDING "'t' is about to end: its agent is done; try again when it has ended"
#define NEXT   "the agent of 't' gets the message when it continues"
#define NO_SESSION                                                                                 \
    "cannot send a message to 't': its agent has no session to resume; 'anabranch retry' starts "  \
    "it again"

static const struct request_case cases[] = {
    {REQUEST_STOP, TASK_LANDED, S, REQUEST_REFUSE, "'t' has already ended: it is STATE", 0},
    {REQUEST_STOP, TASK_DONE, S, REQUEST_REFUSE, "'t' has already ended: it is STATE", 0},
    {REQUEST_STOP, TASK_FAILED, S, REQUEST_REFUSE, "'t' has already ended: it is STATE", 0},
    {REQUEST_STOP, TASK_CONFLICTED, S, REQUEST_REFUSE, "'t' has already ended: it is STATE", 0},
    {REQUEST_STOP, TASK_SKIPPED, 0, REQUEST_REFUSE, "'t' has already ended: it is STATE", 0},
    {REQUEST_STOP, TASK_LANDING, A | F(QUEUED), REQUEST_STOP_LANDING, STOPS, F(QUEUED)},
    {REQUEST_STOP, TASK_LANDING, A | F(QUEUED) | F(STOPPABLE), REQUEST_STOP_LANDING, STOPS,
     F(QUEUED)},
    {REQUEST_STOP, TASK_RUNNING, A | F(STOPPABLE), REQUEST_STOP_AGENT, STOPS, F(QUEUED)},
    {REQUEST_STOP, TASK_PREPARING, A | F(STOPPABLE), REQUEST_STOP_AGENT, STOPS, F(QUEUED)},
    {REQUEST_STOP, TASK_COMMITTING, A, REQUEST_REFUSE,
     "'t' is about to end and can no longer be stopped", F(QUEUED)},
    {REQUEST_STOP, TASK_WAITING, S, REQUEST_STOP_WAITING, STOPS, 0},
    {REQUEST_STOP, TASK_WAITING, S | F(LIMITED) | F(SESSION_WAITS), REQUEST_STOP_WAITING, STOPS, 0},
    {REQUEST_STOP, TASK_WAITING, 0, REQUEST_REFUSE,
     "'t' has not started; 'anabranch skip t' keeps it from starting", 0},

    {REQUEST_SKIP, TASK_LANDED, S, REQUEST_REFUSE, "'t' has already ended: it is STATE", 0},
    {REQUEST_SKIP, TASK_FAILED, S, REQUEST_REFUSE, "'t' has already ended: it is STATE", 0},
    {REQUEST_SKIP, TASK_SKIPPED, 0, REQUEST_REFUSE, "'t' has already ended: it is STATE", 0},
    {REQUEST_SKIP, TASK_RUNNING, A, REQUEST_REFUSE, "'t' is running; 'anabranch stop t' stops it",
     0},
    {REQUEST_SKIP, TASK_WAITING, S | F(SESSION_WAITS), REQUEST_REFUSE,
     "'t' is running; 'anabranch stop t' stops it", 0},
    {REQUEST_SKIP, TASK_WAITING, S, REQUEST_SKIP_TASK,
     "'t' is skipped, and so is every task that depends on it", 0},
    {REQUEST_SKIP, TASK_READY, 0, REQUEST_SKIP_TASK,
     "'t' is skipped, and so is every task that depends on it", 0},

    {REQUEST_BUDGET, TASK_LANDED, S, REQUEST_REFUSE, "'t' has already ended: it is STATE", 0},
    {REQUEST_BUDGET, TASK_DONE, S, REQUEST_REFUSE, "'t' has already ended: it is STATE", 0},
    {REQUEST_BUDGET, TASK_FAILED, S, REQUEST_RAISE_BUDGET, "the budget of t is raised", 0},
    {REQUEST_BUDGET, TASK_CONFLICTED, S, REQUEST_RAISE_BUDGET, "the budget of t is raised", 0},
    {REQUEST_BUDGET, TASK_RUNNING, A, REQUEST_RAISE_BUDGET, "the budget of t is raised", 0},
    {REQUEST_BUDGET, TASK_WAITING, 0, REQUEST_RAISE_BUDGET, "the budget of t is raised", 0},

    {REQUEST_RETRY, TASK_FAILED, S | F(FOREIGN), REQUEST_REFUSE,
     "only --resume of the tool that started this run retries its tasks", 0},
    {REQUEST_RETRY, TASK_RUNNING, A | F(FOREIGN), REQUEST_REFUSE,
     "only --resume of the tool that started this run retries its tasks", 0},
    {REQUEST_RETRY, TASK_RUNNING, A, REQUEST_REFUSE,
     "'t' is running; 'anabranch stop t' stops it first", 0},
    {REQUEST_RETRY, TASK_WAITING, S | F(LIMITED), REQUEST_REFUSE,
     "'t' waits for a limit, and continues by itself", 0},
    {REQUEST_RETRY, TASK_WAITING, S, REQUEST_REFUSE, "'t' will be retried by itself", 0},
    {REQUEST_RETRY, TASK_WAITING, 0, REQUEST_REFUSE, "'t' has not started: it waits for its turn",
     0},
    {REQUEST_RETRY, TASK_READY, 0, REQUEST_REFUSE, "'t' has not started: it waits for its turn", 0},
    {REQUEST_RETRY, TASK_LANDED, S, REQUEST_REFUSE,
     "'t' has landed; when the run has ended, 'anabranch say' resumes its agent", 0},
    {REQUEST_RETRY, TASK_DONE, S, REQUEST_REFUSE,
     "'t' is done; it can be retried when the run has ended", 0},
    {REQUEST_RETRY, TASK_SKIPPED, F(NEED_MISSING) | F(DRAINING), REQUEST_REFUSE,
     "'t' needs 'n', which did not succeed; 'anabranch retry n' runs both", 0},
    {REQUEST_RETRY, TASK_FAILED, S | F(RUN_BUDGET_SPENT) | F(TASK_BUDGET_SPENT), REQUEST_REFUSE,
     "the run's budget is used up; 'anabranch budget' raises it", 0},
    {REQUEST_RETRY, TASK_FAILED, S | F(TASK_BUDGET_SPENT) | F(DRAINING), REQUEST_REFUSE,
     "'t' has used up its budget; 'anabranch budget --task t' raises it", 0},
    {REQUEST_RETRY, TASK_FAILED, S | F(DRAINING), REQUEST_REFUSE,
     "run r starts nothing more: 't' can be retried when it has ended", 0},
    {REQUEST_RETRY, TASK_CONFLICTED, S | F(IN_HISTORY) | F(WORKED_IN), REQUEST_REFUSE,
     "'t' has landed by another way", F(IN_HISTORY)},
    {REQUEST_RETRY, TASK_CONFLICTED, S | F(WORKED_IN) | F(SESSION), REQUEST_REFUSE,
     "'t' is being resolved in its workspace", F(IN_HISTORY) | F(WORKED_IN)},
    {REQUEST_RETRY, TASK_CONFLICTED, S | F(SESSION), REQUEST_RESUME_SESSION,
     "'t' resumes its session", F(IN_HISTORY) | F(WORKED_IN) | F(HALF) | F(SESSION)},
    {REQUEST_RETRY, TASK_FAILED, S | F(SESSION) | F(IN_HISTORY) | F(WORKED_IN),
     REQUEST_RESUME_SESSION, "'t' resumes its session", F(HALF) | F(SESSION)},
    {REQUEST_RETRY, TASK_FAILED, S | F(SESSION) | F(HALF), REQUEST_RESTART, "'t' starts again",
     F(HALF)},
    {REQUEST_RETRY, TASK_FAILED, S | F(SESSION) | F(FRESH), REQUEST_RESTART, "'t' starts again", 0},
    {REQUEST_RETRY, TASK_FAILED, S, REQUEST_RESTART, "'t' starts again", F(HALF) | F(SESSION)},
    {REQUEST_RETRY, TASK_SKIPPED, 0, REQUEST_RESTART, "'t' runs after all", F(HALF) | F(SESSION)},

    {REQUEST_SAY, TASK_WAITING, 0, REQUEST_REFUSE, "'t' has not started: edit its prompt instead",
     0},
    {REQUEST_SAY, TASK_RUNNING, A | F(WORKING), REQUEST_REFUSE,
     "'t' is running, and its engine accepts no messages", 0},
    {REQUEST_SAY, TASK_RUNNING, A | F(WORKING) | F(RESUMABLE), REQUEST_REFUSE,
     "'t' has just started, and its session is not known yet: try again in a moment", F(SESSION)},
    {REQUEST_SAY, TASK_RUNNING, A | F(WORKING) | F(RESUMABLE) | F(SESSION), REQUEST_DELIVER_LATER,
     "the agent of 't' gets the message when it is done, before its work lands", F(SESSION)},
    {REQUEST_SAY, TASK_RUNNING, A | F(WORKING) | F(RESUMABLE) | F(SESSION) | F(FOREIGN),
     REQUEST_DELIVER_LATER,
     "the agent of 't' gets the message when it is done, before its work lands", F(SESSION)},
    {REQUEST_SAY, TASK_RUNNING, A | F(RESUMABLE) | F(SESSION), REQUEST_REFUSE, ENDING, 0},
    {REQUEST_SAY, TASK_LANDING, A | F(WORKING) | F(RESUMABLE), REQUEST_REFUSE, ENDING, 0},
    {REQUEST_SAY, TASK_COMMITTING, A, REQUEST_REFUSE, ENDING, 0},
    {REQUEST_SAY, TASK_PREPARING, A | F(STOPPED), REQUEST_REFUSE, ENDING, 0},
    {REQUEST_SAY, TASK_PREPARING, A, REQUEST_DELIVER_NEXT, NEXT, 0},
    {REQUEST_SAY, TASK_WAITING, A | F(WORKING) | F(RESUMABLE), REQUEST_DELIVER_NEXT, NEXT, 0},
    {REQUEST_SAY, TASK_WAITING, S | F(LIMITED) | F(SESSION_WAITS), REQUEST_DELIVER_NEXT, NEXT, 0},
    {REQUEST_SAY, TASK_WAITING, S, REQUEST_DELIVER_NEXT, NEXT, 0},
    {REQUEST_SAY, TASK_FAILED, S | F(SESSION) | F(FOREIGN), REQUEST_REFUSE,
     "only --resume of the tool that started this run retries its tasks", 0},
    {REQUEST_SAY, TASK_LANDED, S | F(SESSION), REQUEST_REFUSE,
     "'t' has landed; when the run has ended, 'anabranch say' resumes its agent", 0},
    {REQUEST_SAY, TASK_DONE, S | F(SESSION), REQUEST_REFUSE,
     "'t' is done; it can be retried when the run has ended", 0},
    {REQUEST_SAY, TASK_FAILED, S | F(SESSION) | F(DRAINING), REQUEST_REFUSE,
     "run r starts nothing more: 't' can be retried when it has ended", 0},
    {REQUEST_SAY, TASK_CONFLICTED, S | F(SESSION) | F(WORKED_IN), REQUEST_REFUSE,
     "'t' is being resolved in its workspace", F(IN_HISTORY) | F(WORKED_IN)},
    {REQUEST_SAY, TASK_FAILED, S | F(SESSION), REQUEST_RESUME_SESSION, "'t' resumes its session",
     F(HALF) | F(SESSION)},
    {REQUEST_SAY, TASK_FAILED, S | F(SESSION) | F(HALF), REQUEST_REFUSE, NO_SESSION, F(HALF)},
    {REQUEST_SAY, TASK_FAILED, S, REQUEST_REFUSE, NO_SESSION, F(HALF) | F(SESSION)},
    {REQUEST_SAY, TASK_SKIPPED, 0, REQUEST_REFUSE, NO_SESSION, F(HALF) | F(SESSION)},
};

#define NOT_STARTED "task 't' has not started in run r; 'anabranch resume' resumes the run"
#define NO_SESSION_LEFT                                                                            \
    "cannot send a message to task 't': its agent has no session to resume; 'anabranch retry' "    \
    "starts it again"

/* "": the reason of the resume. */
static const struct request_case cases_after_run[] = {
    {REQUEST_RETRY, TASK_WAITING, 0, REQUEST_REFUSE, NOT_STARTED, 0},
    {REQUEST_SAY, TASK_SKIPPED, F(SESSION), REQUEST_REFUSE, NOT_STARTED, 0},
    {REQUEST_SAY, TASK_LANDING, S | F(ABOUT_TO_LAND), REQUEST_REFUSE,
     "task 't' was about to land when run r ended: run 'anabranch resume' first", 0},
    {REQUEST_RETRY, TASK_LANDED, S | F(LANDED) | F(SESSION), REQUEST_REFUSE,
     "task 't' has landed; 'anabranch say' resumes its agent", 0},
    {REQUEST_RETRY, TASK_CONFLICTED, S | F(ABOUT_TO_LAND) | F(WORKED_IN), REQUEST_REFUSE,
     "task 't' is being resolved in its workspace", F(WORKED_IN)},
    {REQUEST_SAY, TASK_CONFLICTED, S | F(SESSION) | F(WORKED_IN), REQUEST_REFUSE,
     "task 't' is being resolved in its workspace", F(WORKED_IN)},
    {REQUEST_RETRY, TASK_COMMITTING, S | F(ABOUT_TO_LAND) | F(FRESH) | F(SESSION), REQUEST_LAND, "",
     0},
    {REQUEST_RETRY, TASK_CONFLICTED, S | F(ABOUT_TO_LAND), REQUEST_LAND, "", F(WORKED_IN)},
    {REQUEST_SAY, TASK_FAILED, S | F(SESSION), REQUEST_RESUME_SESSION,
     "you sent its agent a message", F(HALF) | F(SESSION)},
    {REQUEST_SAY, TASK_LANDED, S | F(LANDED) | F(SESSION), REQUEST_RESUME_SESSION,
     "you sent its agent a message", F(HALF) | F(SESSION)},
    {REQUEST_SAY, TASK_DONE, S | F(SESSION), REQUEST_RESUME_SESSION, "you sent its agent a message",
     F(HALF) | F(SESSION)},
    {REQUEST_SAY, TASK_CONFLICTED, S | F(SESSION), REQUEST_RESUME_SESSION,
     "you sent its agent a message", F(WORKED_IN) | F(HALF) | F(SESSION)},
    {REQUEST_SAY, TASK_FAILED, S, REQUEST_REFUSE, NO_SESSION_LEFT, F(HALF) | F(SESSION)},
    {REQUEST_SAY, TASK_FAILED, S | F(SESSION) | F(HALF), REQUEST_REFUSE, NO_SESSION_LEFT, F(HALF)},
    {REQUEST_SAY, TASK_RUNNING, S | F(SESSION) | F(REBOOTED), REQUEST_REFUSE, NO_SESSION_LEFT, 0},
    {REQUEST_SAY, TASK_FAILED, S | F(SESSION) | F(FRESH), REQUEST_REFUSE, NO_SESSION_LEFT, 0},
    {REQUEST_RETRY, TASK_FAILED, S | F(SESSION), REQUEST_RESUME_SESSION, "you retried it",
     F(HALF) | F(SESSION)},
    {REQUEST_RETRY, TASK_DONE, S | F(SESSION), REQUEST_RESUME_SESSION, "you retried it",
     F(HALF) | F(SESSION)},
    {REQUEST_RETRY, TASK_FAILED, S | F(SESSION) | F(FRESH), REQUEST_RESTART, "you retried it", 0},
    {REQUEST_RETRY, TASK_FAILED, S | F(SESSION) | F(HALF), REQUEST_RESTART, "you retried it",
     F(HALF)},
    {REQUEST_RETRY, TASK_FAILED, S, REQUEST_RESTART, "you retried it", F(HALF) | F(SESSION)},
    {REQUEST_RETRY, TASK_RUNNING, S | F(SESSION) | F(REBOOTED), REQUEST_RESTART, "", 0},
};

typedef bool decide_fn(enum request_kind, unsigned, const struct facts *, struct request_verdict *,
                       enum fact *);

static void check(decide_fn *decide, const struct request_case *c, size_t i)
{
    static const struct decision_words words = {
        .id = "t", .need = "n", .run = "r", .state = "STATE"};
    struct facts f = {.known = ~COSTLY, .yes = c->yes & ~COSTLY};
    struct request_verdict v;
    uint64_t asked = 0;
    enum fact ask;
    autobuf struct buf text = BUF_INIT;
    while (!decide(c->kind, c->state, &f, &v, &ask)) {
        if (asked & (UINT64_C(1) << ask))
            fail_msg("case %zu: fact %d is asked for twice", i, ask);
        asked |= UINT64_C(1) << ask;
        facts_set(&f, ask, c->yes & (UINT64_C(1) << ask));
    }
    decision_text(&text, v.text ? v.text : "", &words);
    if (v.answer != c->answer || strcmp(text.s, c->text) != 0 || asked != c->asked)
        fail_msg("case %zu: %d, %s, asked %llx", i, v.answer, text.s, (unsigned long long)asked);
}

static void each_request_during_a_run(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check(request_decide, &cases[i], i);
}

static void each_request_after_a_run(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases_after_run); i++)
        check(request_decide_after_run, &cases_after_run[i], i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_request_during_a_run),
        cmocka_unit_test(each_request_after_a_run),
    };
    return cmocka_run_group_tests_name("request_rule", tests, NULL, NULL);
}
