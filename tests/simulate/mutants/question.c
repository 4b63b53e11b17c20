/* Fault: the journal leaves out each question without an answer, also if it changed something. */
#include "plan/engine/engine_journal.h"

bool __real_engine_hear(struct engine *e, const struct engine_event *ev, struct actions *ret);
bool __wrap_engine_hear(struct engine *e, const struct engine_event *ev, struct actions *ret);

bool __wrap_engine_hear(struct engine *e, const struct engine_event *ev, struct actions *ret)
{
    bool asks = ev->kind == ENGINE_LANDS_NEXT || ev->kind == ENGINE_STARTS_NEXT;
    size_t answers = ret->list.n;
    return __real_engine_hear(e, ev, ret) && (!asks || ret->list.n > answers);
}
