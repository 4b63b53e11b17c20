#include "cli/common/plan_opts.h"

#include "base/buf.h"
#include "base/mem.h"
#include "cli/frame/cli.h"
#include "cli/frame/color.h"
#include "plan/words.h"

#include <string.h>

/* By enum doc_syntax. */
const char *const plan_syntaxes[] = {"auto", "markdown", "yaml", "toml", "json", NULL};

const struct arg plan_args[] = {
    {.name = "PLAN", .help = "The plan's file, or - for standard input", .file = true},
    {0},
};

struct doc_options plan_doc_options(const struct plan_opts *opts)
{
    return (struct doc_options){
        .syntax = (enum doc_syntax)opts->syntax,
        .max_bytes = (size_t)opts->max_size,
    };
}

int plan_choose_tasks(const struct plan *plan, const char *only, bool *wanted)
{
    autofree char *list = mem_str(only);
    for (char *next = list, *id; (id = strsep(&next, ","));) {
        const struct task *t = plan_find(plan, id);
        if (!t) {
            (void)cli_fail(EXIT_USAGE, "--only: the plan has no task '%s'", id);
            return -1;
        }
        wanted[t->index] = true;
    }
    return 0;
}

int plan_find_engine(const char *name, enum agent_engine *ret)
{
    for (int i = 1; engine_words[i]; i++) {
        if (strcmp(name, engine_words[i]) == 0) {
            *ret = (enum agent_engine)i;
            return 0;
        }
    }
    (void)cli_fail(EXIT_USAGE, "--engine: there is no engine '%s'", name);
    return -1;
}

static void add_count(struct buf *out, const struct problems *ps)
{
    buf_addf(out, "%zu error%s", ps->errors, ps->errors == 1 ? "" : "s");
    if (ps->warnings)
        buf_addf(out, ", %zu warning%s", ps->warnings, ps->warnings == 1 ? "" : "s");
    buf_addch(out, '\n');
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
        /* Only the first line has a colour; the hint has none. */
        autofree char *rest = mem_str(strchr(text.s + start, '\n'));
        buf_cut(&text, text.len - strlen(rest));
        buf_addf(&text, "%s%s", color_on(stderr, COLOR_NONE), rest);
    }
    if (ps->errors)
        add_count(&text, ps);
    (void)fwrite(text.s, 1, text.len, stderr); /* we could not report a failure */
}

int plan_open(struct plan_file *pf, const char *path, const struct plan_opts *opts)
{
    autoproblems struct problems ps;
    struct doc_options doc = plan_doc_options(opts);
    problems_init(&ps, path);
    int rc = plan_file_open(pf, path, &doc, &ps);
    plan_print_problems(&ps);
    return rc ? EXIT_USAGE : EXIT_OK;
}
