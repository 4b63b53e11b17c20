#include "cli/plan_opts.h"

#include "base/buf.h"
#include "cli/color.h"

#include <string.h>

/* By enum doc_syntax. */
const char *const plan_syntaxes[] = {"auto", "markdown", "yaml", "toml", "json", NULL};

struct doc_options plan_doc_options(const struct plan_opts *opts)
{
    return (struct doc_options){
        .syntax = (enum doc_syntax)opts->syntax,
        .max_bytes = (size_t)opts->max_size,
    };
}

static void print_count(const struct problems *ps)
{
    fprintf(stderr, "%zu error%s", ps->errors, ps->errors == 1 ? "" : "s");
    if (ps->warnings)
        fprintf(stderr, ", %zu warning%s", ps->warnings, ps->warnings == 1 ? "" : "s");
    fputc('\n', stderr);
}

void plan_print_problems(const struct problems *ps)
{
    autobuf struct buf text = BUF_INIT;
    for (size_t i = 0; i < ps->list.n; i++) {
        const struct problem *p = &ps->list.v[i];
        buf_addstr(&text,
                   color_on(stderr, p->severity == PROBLEM_ERROR ? COLOR_RED : COLOR_YELLOW));
        size_t start = text.len;
        problem_format(ps, p, &text);
        /* Colour ends with the line that the eye looks for; the hint stays plain. */
        autofree char *rest = strdup(strchr(text.s + start, '\n'));
        buf_cut(&text, text.len - strlen(rest));
        buf_addf(&text, "%s%s", color_on(stderr, COLOR_NONE), rest);
    }
    fwrite(text.s, 1, text.len, stderr);
    if (ps->errors)
        print_count(ps);
}
