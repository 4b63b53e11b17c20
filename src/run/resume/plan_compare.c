#include "run/resume/plan_compare.h"

#include "run/state/run_folder.h"

#include <string.h>

bool resume_asks_the_same(const struct plan_file *was, const struct plan_file *now, uint32_t task)
{
    const struct task *old = plan_find(&was->plan, now->plan.tasks[task].id);
    autobuf struct buf before = BUF_INIT, after = BUF_INIT;
    if (!old)
        return false;
    run_folder_task_request(was, old->index, &before);
    run_folder_task_request(now, task, &after);
    return strcmp(before.s, after.s) == 0;
}

bool resume_compare(const struct plan_file *was, const struct plan_file *now, bool *changed,
                    bool *new)
{
    autobuf struct buf before = BUF_INIT, after = BUF_INIT;
    bool common = false;
    for (uint32_t t = 0; t < now->plan.task_count; t++) {
        const struct task *old = plan_find(&was->plan, now->plan.tasks[t].id);
        new[t] = !old;
        if (!old)
            continue;
        common = true;
        buf_cut(&before, 0);
        buf_cut(&after, 0);
        run_folder_task_text(was, old->index, &before);
        run_folder_task_text(now, t, &after);
        changed[t] = strcmp(before.s, after.s) != 0;
    }
    return common;
}
