#include "plan/engine/attempt/verdict.h"

#include "base/mem.h"
#include "base/text/text.h"

#include <stddef.h>
#include <string.h>

/* Exit codes of a shell for a program that is missing or cannot be executed. */
enum { CANNOT_EXECUTE = 126, NOT_FOUND = 127 };

static void add_part(struct buf *out, const char *text)
{
    if (text)
        buf_addstr(out, text);
}

void fail_reason_write(const struct fail_reason *why, struct buf *out)
{
    add_part(out, why->name);
    add_part(out, why->words);
    add_part(out, why->detail);
    if (why->unit == UNIT_COUNT)
        text_format_count(out, why->number);
    else if (why->unit == UNIT_BYTES)
        text_format_bytes(out, why->number);
    add_part(out, why->closing);
}

/* Finds out if a process ended neither by itself nor by our order. */
static bool find_breakage(const struct process_end *p, struct fail_reason *ret_why)
{
    const struct task_limits *max = &p->limits;
    const struct {
        bool applies;
        struct fail_reason why;
    } judges[] = {
        {p->replaced, {FAILURE_SCOPE, .detail = p->replaced}},
        {p->printed_too_much,
         {FAILURE_INTERNAL, "printed more than limits.output (", NULL, UNIT_BYTES, max->output,
          ")"}},
        {p->guard_lost && p->exit_signal,
         {FAILURE_TRANSIENT, "signal ", NULL, UNIT_COUNT, p->exit_signal, " killed its guard"}},
        {p->guard_lost, {FAILURE_TRANSIENT, "its guard ended without a result"}},
        {p->unkillable,
         {FAILURE_INTERNAL, "left a process that cannot be killed: ", p->unkillable}},
        {p->exceeded_limit && strcmp(p->exceeded_limit, "memory") == 0,
         {FAILURE_INTERNAL, "used more than limits.memory (", NULL, UNIT_BYTES, max->memory, ")"}},
        {p->exceeded_limit,
         {FAILURE_INTERNAL, "used more than limits.processes (", NULL, UNIT_COUNT, max->processes,
          ")"}},
        {true, {FAILURE_COUNT_}},
    };
    size_t i = 0;
    while (!judges[i].applies)
        i++;
    *ret_why = judges[i].why;
    return ret_why->failure != FAILURE_COUNT_;
}

/* True if its own commits may count. A read-only task has no result without the agent's last
 * message. */
static bool counts_by_commits(const struct agent_end *e)
{
    return e->ended_early && !e->read_only && !e->hand_on;
}

struct agent_verdict agent_judge(const struct agent_end *e)
{
    enum stop_reason stopped = e->process.stopped;
    struct fail_reason breakage;
    bool broken = find_breakage(&e->process, &breakage);
    bool by_commits = counts_by_commits(e), failed = e->failed && !by_commits;
    enum agent_next fail = e->classifies && !e->process.exit_signal ? AGENT_CLASSIFY : AGENT_FAIL;
    /* With exit code 0, only the agent's own report says that it failed. */
    enum failure failure =
        fail == AGENT_FAIL || e->reports_failure ? e->failure : FAILURE_TRANSIENT;
    const struct {
        bool applies;
        struct agent_verdict verdict;
    } judges[] = {
        {stopped == STOP_USER, {AGENT_FAIL_STOPPED}},
        {stopped == STOP_TIMEOUT, {AGENT_FAIL, {FAILURE_TIMEOUT, "took longer than its timeout"}}},
        {stopped == STOP_IDLE,
         {AGENT_FAIL, {FAILURE_IDLE, "printed nothing for longer than its idle timeout"}}},
        {stopped == STOP_QUESTION,
         {AGENT_FAIL,
          {FAILURE_IDLE,
           "waited for an answer, and no person is there to give one: ", e->question}}},
        {stopped == STOP_LIMIT, {AGENT_FAIL, {FAILURE_LIMIT, .detail = e->limit}}},
        {stopped == STOP_BUDGET && e->run_budget_spent,
         {AGENT_FAIL, {FAILURE_BUDGET, "the run's budget is used up"}}},
        {stopped == STOP_BUDGET, {AGENT_FAIL, {FAILURE_BUDGET, "its budget is used up"}}},
        {broken, {AGENT_FAIL, breakage}},
        {failed, {fail, {failure, .detail = e->reason}}},
        {e->tampered, {AGENT_FAIL, {FAILURE_SCOPE, .detail = e->tampered}}},
        {e->unjudged, {AGENT_ASK_JUDGE}},
        {e->judgement, {fail, {FAILURE_TRANSIENT, .detail = e->judgement}}},
        {e->overrun && !e->lands_over_budget, {AGENT_FAIL, {FAILURE_BUDGET, "used ", e->overrun}}},
        {e->has_message, {AGENT_DELIVER_MESSAGE}},
        {e->hand_on && !e->findings_kept, {AGENT_KEEP_FINDINGS}},
        {e->read_only, {AGENT_END_UNLANDED}},
        {by_commits, {AGENT_STAGE_IF_COMMITS}},
        {true, {AGENT_STAGE}},
    };
    size_t i = 0;
    while (!judges[i].applies)
        i++;
    return judges[i].verdict;
}

bool agent_end_proves_lane(const struct agent_end *e)
{
    if (e->process.stopped == STOP_LIMIT)
        return false;
    return e->process.exit_code == 0 ? !e->reports_failure
                                     : e->reports_failure && e->failure != FAILURE_LIMIT;
}

struct command_verdict command_judge(const struct command_end *e)
{
    const struct process_end *p = &e->process;
    struct fail_reason breakage;
    bool broken = find_breakage(p, &breakage);
    bool lacks_program = p->exit_code == CANNOT_EXECUTE || p->exit_code == NOT_FOUND;
    breakage.name = e->name;
    const struct {
        bool applies;
        struct command_verdict verdict;
    } judges[] = {
        {p->stopped, {COMMAND_STOPPED}},
        {e->overdue && !e->broken_first, {COMMAND_TIMED_OUT}},
        {broken, {COMMAND_BROKEN, breakage}},
        {e->tampered, {COMMAND_BROKEN, {FAILURE_SCOPE, .detail = e->tampered}}},
        {e->overdue, {COMMAND_TIMED_OUT}},
        {lacks_program && !p->exit_signal, {COMMAND_CANNOT_START}},
        {p->exit_code != 0, {COMMAND_FAILED}},
        {true, {COMMAND_SUCCEEDED}},
    };
    size_t i = 0;
    while (!judges[i].applies)
        i++;
    return judges[i].verdict;
}

bool git_may_have_raced(int exit_code, enum stop_reason stopped, int races)
{
    enum { RACES_MAX = 10 };
    return exit_code != 0 && !stopped && races < RACES_MAX;
}
