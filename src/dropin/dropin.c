#include "dropin/dropin.h"

#include "agent/agent.h"
#include "base/buf.h"

#include <stdio.h>
#include <string.h>

void dropin_cut_option(struct err *err)
{
    char *option = strstr(err->msg, " --");
    while (option && option > err->msg && !strchr(":;", *option))
        option--;
    if (option && option > err->msg)
        *option = '\0';
}

void dropin_print_problems(const struct problems *ps, const char *before, bool warnings)
{
    for (size_t i = 0; i < ps->list.n; i++) {
        autobuf struct buf out = BUF_INIT;
        struct problem shown = ps->list.v[i];
        bool is_error = shown.severity == PROBLEM_ERROR;
        if (!is_error && !warnings)
            continue;
        if (shown.hint && strstr(shown.hint, "--"))
            shown.hint = NULL;
        problem_format(ps, &shown, &out);
        (void)fprintf(stderr, "%s%s", is_error ? before : "", out.s);
    }
}

bool dropin_finds_claude(const struct plan *plan, const char *program)
{
    for (size_t i = 0; i < plan->task_count; i++) {
        const struct task *t = &plan->tasks[i];
        if ((!t->engine || t->engine == ENGINE_CLAUDE) &&
            agent_check(ENGINE_CLAUDE, t, program, NULL))
            return false;
    }
    return true;
}
