#include "plan/schedule/path_locks.h"

static bool add_meeting(void *ctx, struct claimed *a, struct claimed *b)
{
    struct path_locks *l = ctx;
    if (a != b) {
        vec_push(&l->meets[a->place].paths, b->place);
        vec_push(&l->meets[b->place].paths, a->place);
    }
    return true;
}

static void add_owners(struct path_locks *l, const struct claimed *path)
{
    for (size_t i = 0; i < path->owners.n; i++)
        vec_push(&l->owned[path->owners.v[i].task].paths, path->place);
}

void path_locks_init(struct path_locks *l, struct claims *claims)
{
    *l = (struct path_locks){.count = claims->list.n, .tasks = claims->plan->task_count};
    l->owned = mem_array(l->tasks, sizeof(*l->owned));
    l->meets = mem_array(l->count, sizeof(*l->meets));
    l->locks = mem_array(l->count, sizeof(*l->locks));
    for (size_t i = 0; i < l->count; i++)
        add_owners(l, claims->list.v[i]);
    claims_meet(claims, add_meeting, l);
}

void path_locks_done(struct path_locks *l)
{
    for (size_t i = 0; i < l->tasks; i++)
        vec_done(&l->owned[i].paths);
    for (size_t i = 0; i < l->count; i++)
        vec_done(&l->meets[i].paths);
    free(l->owned);
    free(l->meets);
    free(l->locks);
    *l = (struct path_locks){0};
}

bool path_locks_find(const struct path_locks *l, uint32_t task, uint32_t *ret_path)
{
    const struct path_list *own = &l->owned[task];
    for (size_t i = 0; i < own->paths.n; i++) {
        if (l->locks[own->paths.v[i]]) {
            *ret_path = own->paths.v[i];
            return true;
        }
    }
    return false;
}

void path_locks_take(struct path_locks *l, uint32_t task)
{
    const struct path_list *own = &l->owned[task];
    for (size_t i = 0; i < own->paths.n; i++) {
        const struct path_list *meets = &l->meets[own->paths.v[i]];
        l->locks[own->paths.v[i]]++;
        for (size_t k = 0; k < meets->paths.n; k++)
            l->locks[meets->paths.v[k]]++;
    }
}

static void drop_lock(struct path_locks *l, uint32_t path, struct path_list *ret_free)
{
    if (--l->locks[path] == 0)
        vec_push(&ret_free->paths, path);
}

void path_locks_drop(struct path_locks *l, uint32_t task, struct path_list *ret_free)
{
    const struct path_list *own = &l->owned[task];
    for (size_t i = 0; i < own->paths.n; i++) {
        const struct path_list *meets = &l->meets[own->paths.v[i]];
        drop_lock(l, own->paths.v[i], ret_free);
        for (size_t k = 0; k < meets->paths.n; k++)
            drop_lock(l, meets->paths.v[k], ret_free);
    }
}
