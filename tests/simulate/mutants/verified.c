/* Fault: what lands is not the tree that was verified. A verified commit is merged again. */
#include "plan/engine/engine.h"

void __real_engine_event(struct engine *e, const struct engine_event *ev, struct actions *ret);
void __wrap_engine_event(struct engine *e, const struct engine_event *ev, struct actions *ret);

void __wrap_engine_event(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    __real_engine_event(e, ev, ret);
    for (size_t i = 0; i < ret->list.n; i++) {
        struct action *a = &ret->list.v[i];
        if (a->kind == DO_LAND && e->tasks[a->task].merged_tip)
            a->yes = true;
    }
}
