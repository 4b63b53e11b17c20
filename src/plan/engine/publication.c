#include "plan/engine/publication.h"

enum {
    TURN_PAUSE_MS = 5,
    LOCK_PAUSE_MS = 20,
    INDEX_PAUSE_MS = 2,
    BUSY_PAUSE_MS = 5,
    USE_PAUSE_MS = 50
};

enum { TRIES = 25, TRIES_IN_HASTE = 5, HOLD_AFTER = 2, HOLD_MS = 40 };

enum { FIRST_GIT_MS = 1000, LATER_GIT_MS = 50 };

bool publication_is_busy(const struct publication *p)
{
    return p->state != PUBLICATION_IDLE && p->state != PUBLICATION_GIVEN_UP;
}

bool publication_is_given_up(const struct publication *p)
{
    return p->state >= PUBLICATION_STOPPING;
}

bool publication_begin(struct publication *p, int64_t deadline)
{
    p->base_moved = false;
    if (p->state == PUBLICATION_GIVEN_UP)
        return false;
    p->state = PUBLICATION_TRYING;
    p->tries = 0;
    p->deadline = deadline;
    p->git_killed = p->repaired = false;
    return true;
}

void publication_end(struct publication *p)
{
    p->state = publication_is_given_up(p) ? PUBLICATION_GIVEN_UP : PUBLICATION_IDLE;
}

static bool may_try_again(struct publication *p, const struct publication_facts *facts)
{
    bool hurries = facts->stopping || facts->now >= p->deadline;
    return ++p->tries < (hurries ? TRIES_IN_HASTE : TRIES);
}

/* Before the last publication we do not wait: the next landing tries again. */
static bool may_wait(const struct publication *p, const struct publication_facts *facts)
{
    return facts->last && !facts->stopping && facts->now < p->deadline;
}

static const struct publication_step finish = {.action = PUBLICATION_FINISH};
static const struct publication_step try_now = {.action = PUBLICATION_TRY};

static struct publication_step decide_after_failure(struct publication *p,
                                                    const struct publication_facts *facts)
{
    static const struct publication_step await_git = {PUBLICATION_TRY, LOCK_PAUSE_MS, true};
    if (publication_is_given_up(p))
        return finish;
    if ((p->git_killed || facts->base_changed) && may_try_again(p, facts))
        return try_now;
    if (facts->git_locked)
        return may_wait(p, facts) ? await_git : finish;
    if (p->repaired || !facts->git_refused)
        return finish;
    p->repaired = true;
    return (struct publication_step){.action = PUBLICATION_REPAIR};
}

static struct publication_step decide_step(struct publication *p, enum publication_event event,
                                           const struct publication_facts *facts)
{
    static const struct publication_step await_user = {PUBLICATION_TAKE_LOCK, USE_PAUSE_MS, true};
    switch (event) {
    case PUBLICATION_OTHER_RUN:
        return (struct publication_step){PUBLICATION_TAKE_LOCK, TURN_PAUSE_MS,
                                         facts->now >= p->deadline};
    case PUBLICATION_USER:
        return may_wait(p, facts) ? await_user : finish;
    case PUBLICATION_COMMIT:
        return (struct publication_step){PUBLICATION_TRY, INDEX_PAUSE_MS, false};
    case PUBLICATION_OTHER_GIT:
        return (struct publication_step){PUBLICATION_TRY, BUSY_PAUSE_MS, false};
    case PUBLICATION_FAILED:
        return decide_after_failure(p, facts);
    case PUBLICATION_REPAIRED:
        return try_now;
    case PUBLICATION_NOT_REPAIRED:
        break;
    }
    return finish;
}

struct publication_step publication_step(struct publication *p, enum publication_event event,
                                         const struct publication_facts *facts)
{
    struct publication_step step = decide_step(p, event, facts);
    step.report = step.report && !p->wait_reported;
    p->wait_reported = p->wait_reported || step.report;
    return step;
}

bool publication_yields(const struct publication *p, bool stopping, int64_t now)
{
    return p->tries && !stopping && now < p->deadline;
}

bool publication_holds_base(const struct publication *p)
{
    return p->tries >= HOLD_AFTER && p->follow_ms < HOLD_MS;
}

int64_t publication_git_wait(const struct publication *p)
{
    return p->git_outlasted ? LATER_GIT_MS : FIRST_GIT_MS;
}

bool publication_awaits_git(struct publication *p, int64_t now)
{
    bool over = now >= p->git_wait_until;
    p->git_outlasted = p->git_outlasted || over;
    return !over;
}

void publication_git_began(struct publication *p)
{
    p->state = PUBLICATION_MOVING;
}

void publication_git_ended(struct publication *p, bool killed)
{
    p->git_killed = killed;
    if (!publication_is_given_up(p))
        p->state = PUBLICATION_TRYING;
}

void publication_settle(struct publication *p)
{
    p->state = PUBLICATION_SETTLING;
}

enum publication_stop publication_give_up(struct publication *p)
{
    switch (p->state) {
    case PUBLICATION_TRYING:
        p->state = PUBLICATION_ENDING;
        return PUBLICATION_STOP_WAITING;
    case PUBLICATION_MOVING:
        p->state = PUBLICATION_STOPPING;
        return PUBLICATION_STOP_GIT;
    case PUBLICATION_SETTLING:
        p->state = PUBLICATION_ENDING;
        return PUBLICATION_STOP_NOTHING;
    case PUBLICATION_STOPPING:
        return PUBLICATION_KILL_GIT;
    case PUBLICATION_IDLE:
    case PUBLICATION_ENDING:
    case PUBLICATION_GIVEN_UP:
        break;
    }
    return PUBLICATION_STOP_NOTHING;
}
