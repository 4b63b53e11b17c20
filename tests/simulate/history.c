/*
 * One history: things happen one after the other until the run is over.
 */
#include "shell.h"

#include <string.h>

static bool step_task(struct world *w, uint32_t task)
{
    switch (w->jobs[task].stage) {
    case STAGE_PREPARING:
        end_preparing(w, task);
        return true;
    case STAGE_WORKING:
        let_agent_work(w, task);
        return true;
    case STAGE_COMMITTING:
        commit(w, task);
        return true;
    case STAGE_VERIFYING:
        end_verification(w, task);
        return true;
    case STAGE_IDLE:
    case STAGE_TIMER:
    case STAGE_QUEUED:
    case STAGE_IN_TIP:
    case STAGE_ENDED:
        break;
    }
    return false;
}

static bool step_some_task(struct world *w)
{
    uint32_t n = (uint32_t)w->plan.task_count, first = pick(w, n);
    for (uint32_t i = 0; i < n; i++) {
        if (step_task(w, (first + i) % n))
            return true;
    }
    return false;
}

static int64_t find_next_time(const struct world *w)
{
    int64_t next = w->publish_due;
    for (size_t l = 0; l < w->lanes; l++) {
        if (w->lane_due[l] >= 0 && (next < 0 || w->lane_due[l] < next))
            next = w->lane_due[l];
    }
    for (size_t t = 0; t < w->plan.task_count; t++) {
        if (w->jobs[t].stage == STAGE_TIMER && (next < 0 || w->jobs[t].due < next))
            next = w->jobs[t].due;
    }
    return next;
}

static void ring_lanes(struct world *w)
{
    for (size_t l = 0; l < w->lanes; l++) {
        if (w->lane_due[l] < 0 || w->lane_due[l] > w->now)
            continue;
        w->lane_due[l] = -1;
        struct engine_event ev = {
            .kind = ENGINE_LANE_DUE, .task = -1, .now = w->now, .random = random_number(w)};
        ev.lane = (int32_t)l;
        report(w, &ev);
    }
}

static void ring_timers(struct world *w)
{
    ring_lanes(w);
    if (w->publish_due >= 0 && w->publish_due <= w->now) {
        w->publish_due = -1;
        publish_if_due(w);
    }
    for (uint32_t t = 0; t < w->plan.task_count; t++) {
        if (w->jobs[t].stage != STAGE_TIMER || w->jobs[t].due > w->now)
            continue;
        w->jobs[t].stage = STAGE_IDLE;
        report_task(w, t, ENGINE_DUE);
    }
}

/* A run that ends does not wait for the timers of retries. */
static void end_waits(struct world *w)
{
    for (uint32_t t = 0; engine_is_ending(w->engine) && t < w->plan.task_count; t++) {
        if (w->jobs[t].stage == STAGE_TIMER)
            w->jobs[t].stage = STAGE_IDLE;
    }
}

static bool step(struct world *w)
{
    end_waits(w);
    if (w->wakes)
        do_turn(w);
    else if (w->publishing && chance(w, 50))
        end_publication(w);
    else if (w->publishing_last && chance(w, 50)) {
        w->publishing_last = false;
        end_turn(w, ENGINE_PUBLISHED_LAST);
    } else if (w->deletions && chance(w, 50)) {
        w->deletions--;
        report_kind(w, ENGINE_WORK_ENDED);
    } else if (!step_some_task(w) && !w->publishing && !w->publishing_last && !w->deletions) {
        int64_t next = find_next_time(w);
        if (next < 0 && w->engine->paused)
            report_kind(w, ENGINE_CONTINUED);
        else if (next < 0)
            return false;
        w->now = next > w->now ? next : w->now;
        ring_timers(w);
    }
    w->now += pick(w, 50);
    return true;
}

/* If the engine dies, a journal tells the next one all that this one knew. Without a journal, the
 * next one starts with the results of the tasks. */
static void crash_now_and_then(struct world *w)
{
    if (!chance(w, 1))
        return;
    if (chance(w, 30))
        replay_journal(w);
    else if (chance(w, 30) && !w->over && w->engine->phase == RUN_WORKING)
        die_and_resume(w);
}

/* The result is recorded; observers may still have open work, until a person gives them up. */
static void close_run(struct world *w)
{
    struct engine_event ev = {.kind = ENGINE_TURN_ENDED, .task = -1};
    tell_kind(w, ENGINE_RECORDED);
    ev.facts.observers_busy = chance(w, 50);
    tell(w, &ev);
    if (ev.facts.observers_busy) {
        if (w->actions.list.n)
            broken(w, "the run closes while observers have open work");
        tell_kind(w, ENGINE_INTERRUPTED);
        (void)take_answer(w, DO_GIVE_UP);
        ev.facts.observers_busy = false;
        tell(w, &ev);
    }
    (void)take_answer(w, DO_CLOSE);
    tell_kind(w, ENGINE_CLOSED);
}

static bool find_landed(struct world *w, uint32_t *ret_task)
{
    uint32_t n = (uint32_t)w->plan.task_count, first = pick(w, n);
    for (uint32_t i = 0; i < n; i++) {
        *ret_task = (first + i) % n;
        if (w->engine->tasks[*ret_task].state == TASK_LANDED)
            return true;
    }
    return false;
}

/* After the run a person sends the agent of a landed task a message: a run of this task alone.
 * Whatever becomes of that, the task stays landed. */
static bool begin_follow_up(struct world *w)
{
    struct engine_event found = {.kind = ENGINE_FOUND}, ev = {.kind = ENGINE_SESSION_RESUMED};
    uint32_t task;
    if (!find_landed(w, &task))
        return false;
    found.task = ev.task = task;
    found.found = find_record(w, task);
    ev.next = (struct engine_session){.repair = REPAIR_OWN, .remade = true, .has_message = true};
    memset(w->wanted, 0, sizeof(w->wanted));
    w->wanted[task] = w->only_some = true;
    forget_process(w);
    w->over = false;
    tell(w, &found);
    tell_task(w, task, ENGINE_STARTS_AT_TIP);
    report_kind(w, ENGINE_USAGE_RECALLED);
    tell_if(w, task, ENGINE_FOLLOW_UP_BEGAN, true);
    tell(w, &ev);
    w->jobs[task].stage = STAGE_IDLE;
    w->jobs[task].landings = 0;
    w->jobs[task].landed_before = true;
    return true;
}

static void live_until_over(struct world *w, uint64_t end, uint64_t calm)
{
    while (!w->over && w->events < end) {
        if (!step(w))
            broken(w, "nothing is under way, and the run does not end");
        if (w->events < calm) /* then the run must come to its end */
            act_as_person(w);
        if (w->events < calm && !w->only_some)
            crash_now_and_then(w);
    }
    replay_journal(w);
    if (!w->over)
        broken(w, "the run does not end");
    promises_check_end(w);
    close_run(w);
}

void shell_live(struct world *w, size_t most)
{
    uint64_t begin = w->events;
    w->wakes = true;
    w->pool = chance(w, 20);
    live_until_over(w, begin + most, begin + most / 4);
    if (!chance(w, 20) || !begin_follow_up(w))
        return;
    begin = w->events;
    live_until_over(w, begin + most, begin + most / 4);
}
