/* Fault: the program dies after a landing and before its record, and the resume runs it again. */
#include "plan/engine/rules/resume_step.h"

bool __real_resume_step_decide(enum task_state state, const struct facts *f,
                               struct resume_verdict *ret, enum fact *ret_ask);
bool __wrap_resume_step_decide(enum task_state state, const struct facts *f,
                               struct resume_verdict *ret, enum fact *ret_ask);

bool __wrap_resume_step_decide(enum task_state state, const struct facts *f,
                               struct resume_verdict *ret, enum fact *ret_ask)
{
    bool decided = __real_resume_step_decide(state, f, ret, ret_ask);
    if (decided && ret->step == RESUME_FOUND)
        ret->step = RESUME_RUN;
    return decided;
}
