#include "dropin/dropin.h"

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

void dropin_format(const struct problems *ps, const struct problem *p, struct buf *out)
{
    struct problem shown = *p;
    if (shown.hint && strstr(shown.hint, "--"))
        shown.hint = NULL;
    problem_format(ps, &shown, out);
}

void dropin_print_errors(const struct problems *ps, const char *before)
{
    for (size_t i = 0; i < ps->list.n; i++) {
        autobuf struct buf out = BUF_INIT;
        if (ps->list.v[i].severity != PROBLEM_ERROR)
            continue;
        dropin_format(ps, &ps->list.v[i], &out);
        (void)fprintf(stderr, "%s%s", before, out.s);
    }
}
