/* Fault: the journal leaves out each question without an answer, also if it changed something. */
#include "plan/engine/engine_journal.h"

void __real_engine_journal_event(struct buf *out, struct engine *e, const struct engine_event *ev,
                                 struct actions *ret);
void __wrap_engine_journal_event(struct buf *out, struct engine *e, const struct engine_event *ev,
                                 struct actions *ret);

void __wrap_engine_journal_event(struct buf *out, struct engine *e, const struct engine_event *ev,
                                 struct actions *ret)
{
    size_t len = out->len, answers = ret->list.n;
    __real_engine_journal_event(out, e, ev, ret);
    if ((ev->kind == ENGINE_LANDS_NEXT || ev->kind == ENGINE_STARTS_NEXT) && ret->list.n == answers)
        buf_cut(out, len);
}
