/*
 * The engine as text: every member that can change. Two engines with the same text answer all that
 * follows in the same way. Bits of a real number stand for it.
 */
#include "world.h"

#include "plan/engine/engine_line.h"

#include <string.h>

static void add(struct buf *out, int64_t n)
{
    buf_addch(out, ' ');
    engine_line_add_number(out, n);
}

static void add_real(struct buf *out, double n)
{
    int64_t bits;
    memcpy(&bits, &n, sizeof(bits));
    add(out, bits);
}

static void add_bits(struct buf *out, const bool bits[], size_t n)
{
    buf_addch(out, ' ');
    for (size_t i = 0; i < n; i++)
        buf_addch(out, bits[i] ? '1' : '0');
}

static void add_tasks(struct buf *out, const char *name, const uint32_t *tasks, size_t n)
{
    buf_addstr(out, name);
    for (size_t i = 0; i < n; i++)
        add(out, tasks[i]);
    buf_addch(out, '\n');
}

static void add_use(struct buf *out, const struct budget_use *u)
{
    add_real(out, u->budget.usd);
    add(out, u->budget.tokens);
    add(out, u->tokens_in);
    add(out, u->tokens_out);
    add_real(out, u->usd);
    add_bits(out, (const bool[]){u->warned, u->exceeded}, 2);
}

static void add_counted(struct buf *out, const struct spent *s)
{
    add(out, s->in);
    add(out, s->out);
    add(out, s->cache_read);
    add(out, s->cache_made);
    add_real(out, s->usd);
}

static void print_task(struct buf *out, const struct engine *e, uint32_t task)
{
    const struct engine_task *t = &e->tasks[task];
    const struct landing_task *l = &e->landing.tasks[task];
    buf_addch(out, 't');
    engine_line_add_number(out, task);
    buf_addch(out, ' ');
    buf_addstr(out, task_state_name(t->state));
    add(out, t->start);
    add(out, t->repair);
    for (size_t f = 0; f < FAILURE_COUNT_; f++)
        add(out, t->retries_used[f]);
    add(out, t->lane);
    add(out, t->fallback_lane);
    add_counted(out, &t->counted);
    add(out, (int64_t)t->merged_tip);
    add_bits(out,
             (const bool[]){t->reverts, t->parked, t->in_conflict, t->has_message, t->start_at_tip,
                            t->follows_landing, t->follow_up_failed},
             7);
    buf_addstr(out, "; budget");
    add_use(out, &e->budgets.tasks[task]);
    buf_addstr(out, "; sched");
    add(out, e->sched.state[task]);
    add(out, e->sched.open[task]);
    add(out, e->sched.lane[task]);
    add(out, e->sched.spare[task]);
    add(out, e->sched.via[task]);
    add(out, e->lanes.used[task]);
    buf_addstr(out, "; landing");
    add(out, l->order);
    add(out, (int64_t)l->arrival);
    add(out, l->place);
    add(out, l->settled);
    buf_addch(out, '\n');
}

static void print_run(struct buf *out, const struct engine *e)
{
    buf_addstr(out, "run");
    add(out, e->phase);
    add(out, (int64_t)e->attempts);
    add(out, (int64_t)e->tip);
    add_bits(
        out,
        (const bool[]){e->publishing, e->no_wait, e->draining, e->stopping, e->failed, e->paused},
        6);
    buf_addstr(out, "; budget");
    add_use(out, &e->budgets.run);
    buf_addch(out, '\n');
}

static void print_sched(struct buf *out, const struct sched *s)
{
    buf_addstr(out, "sched");
    add(out, (int64_t)s->workers);
    add(out, (int64_t)s->running);
    add(out, (int64_t)s->left);
    buf_addch(out, '\n');
    add_tasks(out, "ready", s->ready.tasks.v, s->ready.tasks.n);
    for (size_t g = 0; g < s->plan->group_count; g++) {
        add_tasks(out, "held", s->held[g].tasks.v, s->held[g].tasks.n);
        add(out, s->in_group[g]);
    }
    for (size_t l = 0; l < s->lane_count; l++) {
        add_tasks(out, "shut", s->lanes[l].shut.tasks.v, s->lanes[l].shut.tasks.n);
        add_bits(out, (const bool[]){s->lanes[l].closed, s->lanes[l].room}, 2);
    }
    buf_addch(out, '\n');
}

static void print_lanes(struct buf *out, const struct lanes *l)
{
    for (size_t i = 0; i < l->count; i++) {
        buf_addstr(out, "lane");
        add(out, l->list[i].state);
        add(out, l->list[i].until);
        add(out, l->list[i].pauses);
        add(out, l->list[i].probe);
        buf_addch(out, '\n');
    }
}

static void print_queue(struct buf *out, const char *name, const struct landing_heap *h)
{
    buf_addstr(out, name);
    for (size_t i = 0; i < h->entries.n; i++) {
        add(out, h->entries.v[i].order);
        add(out, (int64_t)h->entries.v[i].arrival);
        add(out, h->entries.v[i].task);
    }
    buf_addch(out, '\n');
}

static void print_landing(struct buf *out, const struct landing *l)
{
    buf_addstr(out, "landing");
    add(out, (int64_t)l->open);
    add(out, (int64_t)l->waiting);
    add(out, (int64_t)l->arrivals);
    add(out, (int64_t)l->awaited);
    add(out, l->publishing_since);
    add(out, l->next_publication);
    buf_addch(out, '\n');
    print_queue(out, "ordered", &l->ordered);
    print_queue(out, "unordered", &l->unordered);
    add_tasks(out, "unpublished", l->unpublished.v, l->unpublished.n);
    add_tasks(out, "publishing", l->publishing.v, l->publishing.n);
}

void print_engine(struct buf *out, const struct engine *e)
{
    print_run(out, e);
    for (uint32_t t = 0; t < e->plan->task_count; t++)
        print_task(out, e, t);
    print_sched(out, &e->sched);
    print_lanes(out, &e->lanes);
    print_landing(out, &e->landing);
}
