#include "plan/engine/limits/lanes.h"

#include "base/mem.h"
#include "plan/engine/attempt/retry.h"

#include <stdlib.h>

enum {
    RESET_MARGIN_MS =
        1000, /* time after a reset, roughly: clocks differ, and others wait for the same reset */
    FOLLOW_MS = 500,     /* time between two tasks that follow, roughly */
    CHECK_MS = 30 * 1000 /* a sleeping machine stops timers but not the time */
};

void lanes_init(struct lanes *l, struct sched *sched, size_t n)
{
    *l = (struct lanes){.sched = sched,
                        .list = mem_array(n, sizeof(*l->list)),
                        .count = n,
                        .used = mem_array(sched->plan->task_count, sizeof(*l->used))};
    for (size_t i = 0; i < n; i++)
        l->list[i].probe = -1;
    sched_make_lanes(sched, n);
}

void lanes_done(struct lanes *l)
{
    free(l->list);
    free(l->used);
    *l = (struct lanes){0};
}

void lanes_assign(struct lanes *l, uint32_t task, int32_t own, int32_t fallback)
{
    l->used[task] = own;
    sched_set_lanes(l->sched, task, own, fallback);
}

static struct lane *current_lane(const struct lanes *l, uint32_t task)
{
    return &l->list[l->used[task]];
}

static void close_until(struct lanes *l, int32_t lane, int64_t until)
{
    l->list[lane].state = LANE_CLOSED;
    l->list[lane].until = until;
    l->list[lane].probe = -1;
    sched_close(l->sched, lane);
}

bool lanes_meet_limit(struct lanes *l, uint32_t task, int64_t reset, int64_t now, uint32_t random)
{
    struct lane *lane = current_lane(l, task);
    bool known = reset > now, closed = lane->state == LANE_CLOSED && lane->until > now;
    if (closed && (!known || reset < lane->until))
        return false;
    int64_t until = known ? reset + retry_spread(RESET_MARGIN_MS, random)
                          : now + retry_backoff(FAILURE_LIMIT, lane->pauses++, random);
    close_until(l, l->used[task], until);
    return true;
}

bool lanes_recall(struct lanes *l, uint32_t task, int64_t until, int64_t now)
{
    if (until <= now || until <= current_lane(l, task)->until)
        return false;
    close_until(l, l->used[task], until);
    return true;
}

/* A task that only lands again starts without a lane: it shows nothing about the limit. */
void lanes_enter(struct lanes *l, uint32_t task)
{
    if (l->sched->via[task] < 0)
        return;
    l->used[task] = l->sched->via[task];
    struct lane *lane = current_lane(l, task);
    if (lane->state == LANE_TRIED && lane->probe < 0)
        lane->probe = task;
}

static bool is_probe(const struct lanes *l, uint32_t task)
{
    const struct lane *lane = current_lane(l, task);
    return lane->state == LANE_TRIED && lane->probe == task;
}

bool lanes_prove(struct lanes *l, uint32_t task)
{
    struct lane *lane = current_lane(l, task);
    if (!is_probe(l, task))
        return false;
    lane->state = LANE_FOLLOWED;
    lane->probe = -1;
    lane->pauses = 0;
    return true;
}

static void release_probe(struct lanes *l, int32_t lane)
{
    l->list[lane].state = LANE_TRIED;
    l->list[lane].probe = -1;
    sched_open(l->sched, lane, true);
}

void lanes_leave(struct lanes *l, uint32_t task)
{
    if (is_probe(l, task))
        release_probe(l, l->used[task]);
}

bool lanes_fall_back(struct lanes *l, uint32_t task, int32_t fallback)
{
    if (fallback < 0 || fallback == l->used[task] || l->list[fallback].state == LANE_CLOSED)
        return false;
    sched_set_lanes(l->sched, task, fallback, -1);
    return true;
}

void lanes_keep(struct lanes *l, uint32_t task)
{
    sched_set_lanes(l->sched, task, l->used[task], -1);
}

/* Lets one more waiting task start. If none waits, opens the lane. */
static void release_next(struct lanes *l, int32_t lane)
{
    bool more = sched_is_waited_for(l->sched, lane);
    sched_open(l->sched, lane, more);
    l->list[lane].state = more ? LANE_FOLLOWED : LANE_OPEN;
}

void lanes_wake(struct lanes *l, int32_t lane, int64_t now)
{
    const struct lane *at = &l->list[lane];
    if (at->state == LANE_FOLLOWED)
        release_next(l, lane);
    else if (at->state == LANE_CLOSED && at->until <= now)
        release_probe(l, lane);
}

int64_t lanes_wake_after(const struct lanes *l, int32_t lane, int64_t now, uint32_t random)
{
    const struct lane *at = &l->list[lane];
    int64_t left = at->until > now ? at->until - now : 0;
    if (at->state == LANE_FOLLOWED)
        return retry_spread(FOLLOW_MS, random);
    if (at->state == LANE_CLOSED)
        return left < CHECK_MS ? left : CHECK_MS;
    return -1;
}
