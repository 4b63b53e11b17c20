#include "project/streams_file.h"

#include "base/mem.h"

#include <stdlib.h>

int streams_check_kind(const struct plan_file *pf, struct problems *ps)
{
    if (pf->plan.kind == PLAN_BATCHES)
        return 0;
    problem_error(ps, RULE_REQUIRED, pf->doc.root, "has no 'batches', which streams are made of");
    return problem_hint(ps, "`anabranch run` runs plans of tasks");
}

/* Prompts may refer to the text around the block with the plan. */
static char *describe_file(const struct plan_file *pf, const char *path)
{
    autofree char *real = pf->doc.prose_lines ? realpath(path, NULL) : NULL;
    return real ? mem_printf(
                      "These batches come from the plan in the file %s. Read there what is missing "
                      "here, but\ndo only your batches.\n",
                      real)
                : NULL;
}

int streams_file_take(struct streams_file *sf, struct doc *doc, const char *path,
                      struct problems *ps)
{
    *sf = (struct streams_file){0};
    if (plan_file_take(&sf->manifest, doc, path, ps) || streams_check_kind(&sf->manifest, ps))
        return -1;
    sf->about = describe_file(&sf->manifest, path);
    return 0;
}

int streams_file_open(struct streams_file *sf, const char *path, const struct doc_options *opts,
                      struct problems *ps)
{
    autodoc struct doc doc;
    *sf = (struct streams_file){0};
    return doc_load(&doc, path, opts, ps) || streams_file_take(sf, &doc, path, ps) ? -1 : 0;
}

int streams_file_divide(struct streams_file *sf, const struct streams_options *opts,
                        struct problems *ps)
{
    struct plan_file *pf = &sf->manifest;
    return streams_init(&sf->streams, &pf->plan, &pf->graph, &pf->claims, opts, ps);
}

/* Reads the prompts of the tasks, from their files if they have any. */
static int read_prompts(const struct plan_file *pf, const char **prompts, struct arena *a,
                        struct problems *ps)
{
    for (size_t i = 0; i < pf->plan.task_count; i++) {
        const struct task *t = &pf->plan.tasks[i];
        autobuf struct buf text = BUF_INIT;
        struct err err = {0};
        if (plan_file_prompt(pf, t, &text, &err))
            return problem_error(ps, RULE_FILE, t->prompt_file_node, "%s", err.msg);
        prompts[i] = arena_dup(a, text.s, text.len);
    }
    return 0;
}

/* Problems of the manifest are reported already, so this reports only those that the streams add.
 */
static int build_plans(struct streams_file *sf, struct arena *a, struct node *root,
                       struct problems *ps)
{
    autoproblems struct problems own;
    problems_init(&own, ps->file);
    int rc = plan_file_build(&sf->plan, a, root, sf->manifest.dir, &own);
    for (size_t i = 0; rc && i < own.list.n; i++) {
        if (own.list.v[i].severity == PROBLEM_ERROR)
            problem_error(ps, own.list.v[i].rule, sf->manifest.doc.root, "as streams: %s: %s",
                          own.list.v[i].path, own.list.v[i].message);
    }
    return rc;
}

int streams_file_plan(struct streams_file *sf, struct problems *ps)
{
    autoarena struct arena a = {0}, texts = {0};
    const char **prompts = mem_array(sf->manifest.plan.task_count + 1, sizeof(*prompts));
    struct streams_texts given = {.prompts = prompts, .about = sf->about};
    int rc = read_prompts(&sf->manifest, prompts, &texts, ps);
    struct node *root = rc ? NULL : streams_plan(&sf->streams, &given, &a, ps);
    if (root)
        rc = build_plans(sf, &a, root, ps);
    free(prompts);
    return root ? rc : -1;
}

void streams_file_close(struct streams_file *sf)
{
    plan_file_close(&sf->plan);
    streams_done(&sf->streams);
    plan_file_close(&sf->manifest);
    free(sf->about);
}
