#include "project/plan_file.h"

#include "agent/agent.h"
#include "base/mem.h"
#include "base/text/str.h"
#include "plan/words.h"
#include "project/plan_writes.h"
#include "project/secrets.h"
#include "sys/fs/beneath.h"
#include "sys/fs/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PROMPT_MAX = 8 << 20, SAVED_MAX = 1 << 30 }; /* bytes; a saved plan contains all prompts */

/* The folder of the plan's file; for standard input, the current folder. */
static char *find_folder(const char *path)
{
    const char *slash = strcmp(path, "-") == 0 ? NULL : strrchr(path, '/');
    autofree char *dir = slash ? mem_dup(path, (size_t)(slash - path) + 1) : mem_str(".");
    return realpath(dir, NULL);
}

static char *join_path(const char *dir, const char *path)
{
    return *path == '/' ? mem_str(path) : mem_printf("%s/%s", dir, path);
}

static bool is_inside(const char *path, const char *dir)
{
    size_t len = strlen(dir);
    if (strcmp(dir, "/") == 0)
        return true;
    return strncmp(path, dir, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/* Finds the project: `cwd`, or else the repository that contains the plan, or else the plan's
 * folder. */
static int find_project(struct plan_file *pf, struct problems *ps)
{
    struct err err = {0};
    if (pf->plan.cwd) {
        autofree char *cwd = join_path(pf->dir, pf->plan.cwd);
        pf->project = realpath(cwd, NULL);
        struct stat st;
        if (!pf->project || stat(pf->project, &st) < 0 || !S_ISDIR(st.st_mode)) {
            problem_error(ps, RULE_FILE, pf->plan.cwd_node, "'%.200s' is not a folder: %s",
                          pf->plan.cwd, pf->project ? "it is a file" : strerror(errno));
            return problem_hint(ps, "it is relative to the plan's own folder");
        }
    }
    if (git_open(&pf->repo, pf->project ? pf->project : pf->dir, &err)) {
        problem_warn(ps, RULE_FILE, pf->doc.root, "cannot read the repository: %s", err.msg);
        git_close(&pf->repo);
        pf->repo_unknown = true;
    }
    if (!pf->project) {
        pf->project = mem_str(pf->repo.root ? pf->repo.root : pf->dir);
        if (pf->repo.root) /* the plan's own folder within it does not matter */
            *pf->repo.prefix = '\0';
    }
    return 0;
}

static void check_prompt_file(const struct plan_file *pf, const struct task *t, struct problems *ps)
{
    autofree char *path = join_path(pf->project, t->prompt_file);
    autofree char *real = realpath(path, NULL);
    const char *top = pf->repo.root ? pf->repo.root : pf->project;
    struct stat st;
    const char *wrong = NULL;
    if (!real)
        wrong = strerror(errno);
    else if (!is_inside(real, top))
        wrong = "it is outside the project";
    else if (stat(real, &st) < 0)
        wrong = strerror(errno);
    else if (!S_ISREG(st.st_mode))
        wrong = "it is not a file";
    else if (access(real, R_OK) < 0)
        wrong = strerror(errno);
    else if (st.st_size == 0)
        wrong = "it is empty";
    if (wrong)
        problem_error(ps, RULE_FILE, t->prompt_file_node, "'%.200s' cannot be the prompt: %s",
                      t->prompt_file, wrong);
    if (!real)
        problem_hint(ps, "it is relative to the project's folder");
}

static void check_prompt_files(const struct plan_file *pf, struct problems *ps)
{
    for (size_t i = 0; i < pf->plan.task_count; i++) {
        if (pf->plan.tasks[i].prompt_file)
            check_prompt_file(pf, &pf->plan.tasks[i], ps);
    }
}

/* Checks personas against the plan's engine; the user may run it with another one. */
static void check_personas(const struct plan_file *pf, struct problems *ps)
{
    for (size_t i = 0; i < pf->plan.task_count; i++) {
        const struct task *t = &pf->plan.tasks[i];
        const struct node *own = t->node ? node_get(t->node, "agent") : NULL;
        if (!t->agent || agent_has_personas(t->engine))
            continue;
        problem_error(ps, RULE_COMBINATION, own ? own : t->node,
                      "'%s' has no personas: leave out 'agent: %.100s'", engine_words[t->engine],
                      t->agent);
        problem_hint(ps, "describe the persona in the prompt");
    }
}

static void check_options(const struct plan_file *pf, struct problems *ps)
{
    for (size_t i = 0; i < pf->plan.task_count; i++)
        agent_check_options(&pf->plan.tasks[i], ps);
}

static void check_words(const struct task *t, const char *key, const struct strings *words,
                        const struct secrets *secrets, struct problems *ps)
{
    const struct node *own = node_get(t->node, key);
    for (size_t i = 0; i < words->n; i++) {
        if (!secrets_are_told_by(secrets, words->v[i]))
            continue;
        problem_error(
            ps, RULE_COMBINATION, own ? own : t->node,
            "'%s' contains the value of a secret: every user of this machine could see it", key);
        problem_hint(ps, "pass it in the environment: 'env'");
        return;
    }
}

/* Arguments of a program must not contain secrets. */
static void check_secrets(const struct plan_file *pf, struct problems *ps)
{
    struct secrets secrets = {0};
    secrets_collect(&secrets, &pf->plan);
    for (size_t i = 0; secrets.values.n && i < pf->plan.task_count; i++) {
        const struct task *t = &pf->plan.tasks[i];
        struct strings line = {.v = (const char *[]){t->command.shell},
                               .n = t->command.shell != NULL};
        check_words(t, "engine_args", &t->engine_args, &secrets, ps);
        check_words(t, "command", &t->command.argv, &secrets, ps);
        check_words(t, "command", &line, &secrets, ps);
    }
    secrets_done(&secrets);
}

/* The folder to which claims are relative, within the repository. A manifest's folder may be
 * outside of it. */
static char *claims_prefix(const struct plan_file *pf)
{
    if (!pf->plan.claims_from_file)
        return mem_str(pf->plan.cwd && pf->repo.root ? pf->repo.prefix : "");
    const char *top = pf->repo.root ? pf->repo.root : pf->project;
    if (!is_inside(pf->dir, top))
        return mem_str("");
    const char *below = pf->dir + strlen(top);
    return mem_str(below + (*below == '/'));
}

static void check_tracked(struct plan_file *pf, struct problems *ps)
{
    struct err err = {0};
    autobuf struct buf out = BUF_INIT;
    if (!pf->repo.root || !pf->claims.list.n)
        return;
    if (git_tracked(&pf->repo, &out, &err)) {
        problem_warn(ps, RULE_FILE, pf->doc.root, "cannot list tracked files: %s", err.msg);
        return;
    }
    VEC(const char *) files = {0};
    for (const char *s = out.s; s < out.s + out.len; s += strlen(s) + 1)
        vec_push(&files, s);
    if (files.n) { /* git sorts them, except for the stages of an unmerged index */
        qsort(files.v, files.n, sizeof(*files.v), str_compare);
        claims_check_tracked(&pf->claims, files.v, files.n, ps);
    }
    vec_done(&files);
}

/* False after an error about a dependency: then we do not know which tasks run at the same time. */
static bool order_is_known(const struct problems *ps)
{
    for (size_t i = 0; i < ps->list.n; i++) {
        const struct problem *p = &ps->list.v[i];
        if (p->rule == RULE_DEPENDENCY ||
            (p->severity == PROBLEM_ERROR && strstr(p->path, "depend")))
            return false;
    }
    return true;
}

static void check_claims(struct plan_file *pf, bool refuse, struct problems *ps)
{
    autofree char *prefix = claims_prefix(pf);
    struct claim_scope scope = {.prefix = prefix, .fold = pf->repo.core.ignore_case};
    if (pf->plan.claims_from_file)
        plan_writes_resolve(pf, ps);
    claims_init(&pf->claims, &pf->plan, &scope, ps);
    if (order_is_known(ps) && refuse && pf->plan.overlap != OVERLAP_SERIALISE &&
        pf->plan.overlap != OVERLAP_ALLOW)
        claims_refuse_overlaps(&pf->claims, &pf->graph, ps);
    check_tracked(pf, ps);
}

/* Does everything that follows from the tree and the folder. */
static int check_plan(struct plan_file *pf, size_t errors, bool refuse, struct problems *ps)
{
    (void)graph_init(&pf->graph, &pf->plan, ps);
    if (find_project(pf, ps) == 0) {
        check_prompt_files(pf, ps);
        check_claims(pf, refuse, ps);
    }
    check_personas(pf, ps);
    check_options(pf, ps);
    check_secrets(pf, ps);
    problems_sort(ps);
    return ps->errors > errors ? -1 : 0;
}

static int complete_doc(struct plan_file *pf, const char *path, bool refuse, struct problems *ps)
{
    size_t errors = ps->errors;
    pf->dir = find_folder(path);
    if (!pf->dir) {
        struct pos nowhere = {0};
        return problem_error_at(ps, RULE_FILE, nowhere, "cannot find its folder: %s",
                                strerror(errno));
    }
    (void)plan_decode(&pf->plan, pf->doc.root, &pf->doc.arena, ps);
    return check_plan(pf, errors, refuse, ps);
}

int plan_file_open(struct plan_file *pf, const char *path, const struct doc_options *opts,
                   struct problems *ps)
{
    *pf = (struct plan_file){0};
    return doc_load(&pf->doc, path, opts, ps) ? -1 : complete_doc(pf, path, true, ps);
}

int plan_file_take(struct plan_file *pf, struct doc *doc, const char *path, struct problems *ps)
{
    *pf = (struct plan_file){.doc = *doc};
    *doc = (struct doc){0};
    return complete_doc(pf, path, false, ps);
}

int plan_file_build(struct plan_file *pf, struct arena *a, struct node *root, const char *dir,
                    struct problems *ps)
{
    size_t errors = ps->errors;
    *pf = (struct plan_file){.doc = {.arena = *a, .syntax = DOC_JSON, .root = root}};
    *a = (struct arena){0};
    pf->dir = mem_str(dir);
    (void)plan_decode_encoded(&pf->plan, root, PLAN_TASKS, ps);
    return check_plan(pf, errors, true, ps);
}

int plan_file_reopen(struct plan_file *pf, const char *path, const struct plan_origin *origin,
                     struct problems *ps)
{
    struct doc_options opts = {.syntax = DOC_JSON, .max_bytes = SAVED_MAX};
    *pf = (struct plan_file){0};
    size_t errors = ps->errors;
    if (doc_load(&pf->doc, path, &opts, ps))
        return -1;
    pf->dir = mem_str(origin->dir);
    (void)plan_decode_encoded(&pf->plan, pf->doc.root, origin->kind, ps);
    return check_plan(pf, errors, true, ps);
}

int plan_file_reclaim(struct plan_file *pf, struct problems *ps)
{
    size_t errors = ps->errors;
    claims_done(&pf->claims);
    check_claims(pf, false, ps); /* the overlaps have not changed */
    return ps->errors > errors ? -1 : 0;
}

char *plan_file_work(const struct plan_file *pf, const char *top)
{
    const char *dir = pf->plan.workspace_dir ? pf->plan.workspace_dir : ".anabranch/worktrees";
    autofree char *path = *dir == '/' ? mem_str(dir) : mem_printf("%s/%s", top, dir);
    return beneath_real(path);
}

int plan_file_prompt(const struct plan_file *pf, const struct task *t, struct buf *out,
                     struct err *err)
{
    if (t->prompt) {
        buf_addstr(out, t->prompt);
        return 0;
    }
    autofree char *path = join_path(pf->project, t->prompt_file);
    return file_read(path, PROMPT_MAX, out, err);
}

void plan_file_forget_tree(struct plan_file *pf)
{
    if (pf->plan.kind != PLAN_TASKS)
        return;
    plan_forget_tree(&pf->plan);
    pf->doc.root = NULL;
    arena_forget_records(&pf->doc.arena);
}

void plan_file_close(struct plan_file *pf)
{
    claims_done(&pf->claims);
    graph_done(&pf->graph);
    plan_done(&pf->plan);
    doc_done(&pf->doc);
    git_close(&pf->repo);
    free(pf->dir);
    free(pf->project);
}
