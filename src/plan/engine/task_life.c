#include "plan/engine/task_life.h"

#include "plan/engine/rules/decision.h"

#define BEFORE_AGENT (STATE_BIT(WAITING) | STATE_BIT(READY))
#define WITH_COMMIT  (STATE_BIT(COMMITTING) | STATE_BIT(VERIFYING) | STATE_BIT(LANDING))
#define ENDED        (STATE_BIT(STATE_COUNT_) - STATE_BIT(LANDED))

static const struct {
    unsigned from;
    enum task_state to;
} table[LIFE_EVENT_COUNT_] = {
    [LIFE_DUE] = {STATE_BIT(WAITING), TASK_READY},
    [LIFE_BEGAN] = {BEFORE_AGENT, TASK_PREPARING},
    [LIFE_STARTED] = {BEFORE_AGENT | STATE_BIT(PREPARING), TASK_RUNNING},
    [LIFE_FINISHED] = {STATE_BIT(RUNNING) | STATE_BIT(COMMITTING), TASK_COMMITTING},
    [LIFE_QUEUED] = {STATE_BIT(PREPARING) | WITH_COMMIT, TASK_LANDING},
    [LIFE_MERGED] = {STATE_BIT(LANDING), TASK_VERIFYING},
    [LIFE_LANDED] = {STATES_BEFORE_END | ENDED, TASK_LANDED},
    [LIFE_UNCHANGED] = {STATE_BIT(RUNNING) | STATE_BIT(COMMITTING), TASK_DONE},
    [LIFE_CONFLICTED] = {STATES_BEFORE_END, TASK_CONFLICTED},
    [LIFE_FAILED] = {STATES_BEFORE_END, TASK_FAILED},
    [LIFE_WAITS] = {STATES_BEFORE_END | ENDED, TASK_WAITING},
    [LIFE_SKIPPED] = {BEFORE_AGENT, TASK_SKIPPED},
};

bool task_life_advance(enum task_state *state, enum life_event event)
{
    if (!(table[event].from & 1U << *state))
        return false;
    *state = table[event].to;
    return true;
}

bool task_has_ended(enum task_state state)
{
    return state >= TASK_LANDED;
}

bool task_has_succeeded(enum task_state state)
{
    return state == TASK_LANDED || state == TASK_DONE;
}
