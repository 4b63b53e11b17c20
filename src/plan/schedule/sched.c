#include "plan/schedule/sched.h"

#include <stdlib.h>
#include <string.h>

static bool is_more_urgent(const struct sched *s, uint32_t a, uint32_t b)
{
    return s->urgency[a] != s->urgency[b] ? s->urgency[a] > s->urgency[b] : a < b;
}

static void heap_push(const struct sched *s, struct sched_heap *h, uint32_t task)
{
    vec_push(&h->tasks, task);
    size_t i = h->tasks.n - 1;
    for (size_t parent; i > 0 && is_more_urgent(s, task, h->tasks.v[parent = (i - 1) / 2]);
         i = parent)
        h->tasks.v[i] = h->tasks.v[parent];
    h->tasks.v[i] = task;
}

static uint32_t heap_pop(const struct sched *s, struct sched_heap *h)
{
    uint32_t top = h->tasks.v[0], last = h->tasks.v[--h->tasks.n];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < h->tasks.n; i = child) {
        if (child + 1 < h->tasks.n && is_more_urgent(s, h->tasks.v[child + 1], h->tasks.v[child]))
            child++;
        if (!is_more_urgent(s, h->tasks.v[child], last))
            break;
        h->tasks.v[i] = h->tasks.v[child];
    }
    if (h->tasks.n)
        h->tasks.v[i] = last;
    return top;
}

static void compute_urgency(struct sched *s)
{
    const struct graph *g = s->graph;
    for (size_t i = g->n; i-- > 0;) {
        uint32_t t = g->order[i];
        for (uint32_t k = g->dependents_at[t]; k < g->dependents_at[t + 1]; k++) {
            if (s->urgency[g->dependents[k]] > s->urgency[t])
                s->urgency[t] = s->urgency[g->dependents[k]];
        }
        s->urgency[t] += graph_weight(g, t);
    }
}

static void find_groups(struct sched *s)
{
    automap struct map by_name = {0};
    const struct plan *plan = s->plan;
    for (size_t i = 0; i < plan->group_count; i++)
        map_put(&by_name, plan->groups[i].name, strlen(plan->groups[i].name), &plan->groups[i]);
    for (size_t t = 0; t < plan->task_count; t++) {
        const char *name = plan->tasks[t].group;
        const struct group *g = name ? map_get(&by_name, name, strlen(name)) : NULL;
        s->group[t] = g ? (int32_t)(g - plan->groups) : -1;
    }
}

void sched_init(struct sched *s, const struct plan *plan, struct graph *graph,
                struct claims *claims, size_t workers, const bool *wanted)
{
    size_t n = plan->task_count;
    *s = (struct sched){
        .plan = plan,
        .graph = graph,
        .workers = workers,
        .state = mem_array(n, sizeof(*s->state)),
        .open = mem_array(n, sizeof(*s->open)),
        .urgency = mem_array(n, sizeof(*s->urgency)),
        .group = mem_array(n, sizeof(*s->group)),
        .held = mem_array(plan->group_count, sizeof(*s->held)),
        .in_group = mem_array(plan->group_count, sizeof(*s->in_group)),
        .lane = mem_array(n, sizeof(*s->lane)),
        .spare = mem_array(n, sizeof(*s->spare)),
        .via = mem_array(n, sizeof(*s->via)),
        .left = n,
    };
    for (size_t t = 0; t < n; t++)
        s->lane[t] = s->spare[t] = s->via[t] = -1;
    compute_urgency(s);
    find_groups(s);
    if (plan->overlap == OVERLAP_SERIALISE) {
        path_locks_init(&s->locks, claims);
        s->awaiting = mem_array(s->locks.count, sizeof(*s->awaiting));
    }
    for (uint32_t t = 0; t < n; t++)
        s->open[t] = (uint32_t)plan->tasks[t].dep_count;
    for (uint32_t t = 0; t < n; t++) {
        if (!s->open[t])
            heap_push(s, &s->ready, t), s->state[t] = SCHED_READY;
    }
    for (uint32_t t = 0; wanted && t < n; t++) {
        if (!wanted[t])
            sched_finish(s, t);
    }
}

void sched_done(struct sched *s)
{
    for (size_t i = 0; s->held && i < s->plan->group_count; i++)
        vec_done(&s->held[i].tasks);
    for (size_t i = 0; i < s->locks.count; i++)
        vec_done(&s->awaiting[i].tasks);
    for (size_t i = 0; i < s->lane_count; i++)
        vec_done(&s->lanes[i].shut.tasks);
    vec_done(&s->ready.tasks);
    free(s->lanes);
    free(s->lane);
    free(s->spare);
    free(s->via);
    free(s->awaiting);
    path_locks_done(&s->locks);
    free(s->in_group);
    free(s->held);
    free(s->group);
    free(s->urgency);
    free(s->open);
    free(s->state);
    *s = (struct sched){0};
}

static void make_ready(struct sched *s, uint32_t task)
{
    s->state[task] = SCHED_READY;
    heap_push(s, &s->ready, task);
}

/* If the path is unlocked, the most urgent task that waits for it may try again. All tasks that
 * wait for one path exclude each other, so one is enough: if it cannot start, it passes the path
 * on. */
static void release_path(struct sched *s, uint32_t path)
{
    while (!s->locks.locks[path] && s->awaiting[path].tasks.n) {
        uint32_t next = heap_pop(s, &s->awaiting[path]);
        if (s->state[next] != SCHED_HELD)
            continue;
        make_ready(s, next);
        return;
    }
}

/* The task does not start, and may have been the one that was to try: pass its paths on. */
static void pass_paths_on(struct sched *s, uint32_t task)
{
    for (size_t i = 0; s->awaiting && i < s->locks.owned[task].paths.n; i++)
        release_path(s, s->locks.owned[task].paths.v[i]);
}

static void unlock_paths(struct sched *s, uint32_t task)
{
    struct path_list free_paths = {0};
    if (!s->awaiting)
        return;
    path_locks_drop(&s->locks, task, &free_paths);
    for (size_t i = 0; i < free_paths.paths.n; i++)
        release_path(s, free_paths.paths.v[i]);
    vec_done(&free_paths.paths);
}

/* The most urgent task that waits for a group with room may try again. */
static void release_group(struct sched *s, int32_t g)
{
    while (s->in_group[g] < s->plan->groups[g].limit && s->held[g].tasks.n) {
        uint32_t next = heap_pop(s, &s->held[g]);
        if (s->state[next] != SCHED_HELD)
            continue;
        make_ready(s, next);
        return;
    }
}

void sched_make_lanes(struct sched *s, size_t n)
{
    s->lanes = mem_array(n, sizeof(*s->lanes));
    s->lane_count = n;
}

void sched_set_lanes(struct sched *s, uint32_t task, int32_t lane, int32_t spare)
{
    s->lane[task] = lane;
    s->spare[task] = spare;
    if (s->state[task] == SCHED_SHUT)
        make_ready(s, task);
}

/* A task with two lanes waits in both; the entry in the lane that opens later is then outdated. */
static void wait_for_lane(struct sched *s, uint32_t task)
{
    s->state[task] = SCHED_SHUT;
    heap_push(s, &s->lanes[s->lane[task]].shut, task);
    if (s->spare[task] >= 0)
        heap_push(s, &s->lanes[s->spare[task]].shut, task);
}

bool sched_is_waited_for(struct sched *s, int32_t lane)
{
    struct sched_heap *h = &s->lanes[lane].shut;
    while (h->tasks.n) {
        uint32_t t = h->tasks.v[0];
        if (s->state[t] == SCHED_SHUT && (s->lane[t] == lane || s->spare[t] == lane))
            return true;
        (void)heap_pop(s, h);
    }
    return false;
}

void sched_close(struct sched *s, int32_t lane)
{
    s->lanes[lane].closed = true;
    s->lanes[lane].room = false;
}

void sched_open(struct sched *s, int32_t lane, bool probe)
{
    struct sched_lane *l = &s->lanes[lane];
    l->closed = l->closed && probe;
    l->room = l->closed;
    while (sched_is_waited_for(s, lane)) {
        make_ready(s, heap_pop(s, &l->shut));
        if (l->closed)
            return;
    }
}

static bool has_room(const struct sched *s, int32_t lane)
{
    return !s->lanes[lane].closed || s->lanes[lane].room;
}

/* Chooses the lane for the task's start; false if all its lanes are closed. */
static bool choose_lane(struct sched *s, uint32_t task)
{
    int32_t lane = s->lane[task], spare = s->spare[task];
    s->via[task] = lane;
    if (lane < 0 || has_room(s, lane))
        return true;
    s->via[task] = spare;
    return spare >= 0 && has_room(s, spare);
}

/* If a ready task must wait, puts it in the right waiting list and returns true. A task that waits
 * for a path or a lane passes its place in the group, and its unlocked paths, to the next task. */
static bool hold_back(struct sched *s, uint32_t task)
{
    int32_t g = s->group[task];
    uint32_t path;
    bool full = g >= 0 && s->in_group[g] >= s->plan->groups[g].limit;
    bool open = choose_lane(s, task);
    bool locked = s->awaiting && path_locks_find(&s->locks, task, &path);
    if (open && !full && !locked)
        return false;
    s->state[task] = SCHED_HELD;
    if (!open)
        wait_for_lane(s, task);
    else
        heap_push(s, locked ? &s->awaiting[path] : &s->held[g], task);
    if (g >= 0 && !full)
        release_group(s, g);
    pass_paths_on(s, task);
    return true;
}

bool sched_next(struct sched *s, uint32_t *ret_task)
{
    while (s->running < s->workers && s->ready.tasks.n) {
        uint32_t task = heap_pop(s, &s->ready);
        if (s->state[task] != SCHED_READY || hold_back(s, task))
            continue;
        s->state[task] = SCHED_RUNNING;
        s->running++;
        if (s->via[task] >= 0)
            s->lanes[s->via[task]].room = false;
        if (s->group[task] >= 0)
            s->in_group[s->group[task]]++;
        if (s->awaiting)
            path_locks_take(&s->locks, task);
        *ret_task = task;
        return true;
    }
    return false;
}

static void release_worker(struct sched *s, uint32_t task)
{
    if (s->state[task] != SCHED_RUNNING)
        return;
    int32_t g = s->group[task];
    s->running--;
    s->state[task] = SCHED_ASIDE;
    if (g >= 0) {
        s->in_group[g]--;
        release_group(s, g);
    }
    unlock_paths(s, task);
}

void sched_set_aside(struct sched *s, uint32_t task)
{
    release_worker(s, task);
}

/* A closed lane that lets one task start has made one ready. If that one will not start, another
 * one may. */
static void pass_room_on(struct sched *s, uint32_t task)
{
    int32_t lane = s->lane[task], spare = s->spare[task];
    if (lane >= 0 && s->lanes[lane].room)
        sched_open(s, lane, true);
    if (spare >= 0 && s->lanes[spare].room)
        sched_open(s, spare, true);
}

/* The task will not start, and may have been the one that was to try: passes on the unlocked paths,
 * the place in its group and the room in its lane. */
static void pass_all_on(struct sched *s, uint32_t task)
{
    pass_paths_on(s, task);
    if (s->group[task] >= 0)
        release_group(s, s->group[task]);
    pass_room_on(s, task);
}

/* Its entry among the ready tasks is skipped later. */
void sched_hold(struct sched *s, uint32_t task)
{
    if (s->state[task] != SCHED_WAITING && s->state[task] != SCHED_READY)
        return;
    s->state[task] = SCHED_ASIDE;
    pass_all_on(s, task);
}

void sched_ready(struct sched *s, uint32_t task)
{
    if (s->state[task] != SCHED_ASIDE)
        return;
    s->state[task] = SCHED_WAITING;
    if (!s->open[task])
        make_ready(s, task);
}

static bool has_failed(const struct sched *s, uint32_t task)
{
    return s->state[task] == SCHED_FAILED || s->state[task] == SCHED_SKIPPED;
}

void sched_finish(struct sched *s, uint32_t task)
{
    const struct graph *g = s->graph;
    if (s->state[task] == SCHED_DONE || has_failed(s, task))
        return;
    release_worker(s, task);
    s->state[task] = SCHED_DONE;
    pass_all_on(s, task);
    s->left--;
    for (uint32_t k = g->dependents_at[task]; k < g->dependents_at[task + 1]; k++) {
        uint32_t next = g->dependents[k];
        if (--s->open[next] == 0 && s->state[next] == SCHED_WAITING)
            make_ready(s, next);
    }
}

void sched_fail(struct sched *s, uint32_t task, struct sched_list *ret_skipped)
{
    const struct graph *g = s->graph;
    if (s->state[task] == SCHED_DONE || has_failed(s, task))
        return;
    release_worker(s, task);
    s->state[task] = SCHED_FAILED;
    pass_all_on(s, task);
    s->left--;
    size_t next = ret_skipped->tasks.n;
    for (uint32_t t = task;; t = ret_skipped->tasks.v[next++]) {
        for (uint32_t k = g->dependents_at[t]; k < g->dependents_at[t + 1]; k++) {
            uint32_t d = g->dependents[k];
            if (s->state[d] != SCHED_WAITING)
                continue;
            s->state[d] = SCHED_SKIPPED;
            s->left--;
            vec_push(&ret_skipped->tasks, d);
        }
        if (next == ret_skipped->tasks.n)
            break;
    }
}

bool sched_lacks(const struct sched *s, uint32_t task, uint32_t *ret_need)
{
    const struct task *t = &s->plan->tasks[task];
    for (size_t i = 0; i < t->dep_count; i++) {
        if (has_failed(s, t->deps[i])) {
            *ret_need = t->deps[i];
            return true;
        }
    }
    return false;
}

/* We visit a task once for each of its freed dependencies; it follows the last one. */
void sched_take_back(struct sched *s, uint32_t task, struct sched_list *ret_freed)
{
    const struct graph *g = s->graph;
    uint32_t need;
    if (s->state[task] != SCHED_FAILED)
        return;
    s->state[task] = SCHED_ASIDE;
    s->left++;
    size_t next = ret_freed->tasks.n;
    for (uint32_t t = task;; t = ret_freed->tasks.v[next++]) {
        for (uint32_t k = g->dependents_at[t]; k < g->dependents_at[t + 1]; k++) {
            uint32_t d = g->dependents[k];
            if (s->state[d] != SCHED_SKIPPED || sched_lacks(s, d, &need))
                continue;
            s->state[d] = SCHED_WAITING;
            s->left++;
            vec_push(&ret_freed->tasks, d);
        }
        if (next == ret_freed->tasks.n)
            break;
    }
}
