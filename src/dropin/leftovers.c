#include "dropin/leftovers.h"

#include "base/mem.h"
#include "base/text/str.h"
#include "clean/leftovers.h"
#include "git/state_paths.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { IS_KILLED = 1, IS_STOPPED = 2 };

struct run_search {
    int states;
    struct strv ids; /* oldest first */
};

static bool note_row(void *ctx, const struct store_run *row)
{
    struct run_search *s = ctx;
    int state = strcmp(row->state, "running") == 0   ? IS_KILLED
                : strcmp(row->state, "stopped") == 0 ? IS_STOPPED
                                                     : 0;
    if (state & s->states)
        strv_push(&s->ids, row->id);
    return true;
}

/* The ids of unfinished runs; their processes may be alive. */
static int find_unfinished(const char *state_dir, int states, struct strv *ret, struct err *err)
{
    autostore struct store *store = NULL;
    struct run_search s = {.states = states};
    int rc = access(state_dir, F_OK) < 0 ? 0
             : store_open(&store, state_dir, false, err) || store_each_run(store, note_row, &s, err)
                 ? -1
                 : 0;
    if (s.ids.n)
        qsort(s.ids.v, s.ids.n, sizeof(*s.ids.v), str_compare);
    *ret = s.ids;
    return rc;
}

static bool is_run_of_tool(const struct run_folder *saved, const char *prefix)
{
    const char *branch = saved->options.branch;
    return branch && strncmp(branch, prefix, strlen(prefix)) == 0;
}

static bool is_same_file(const char *a, const char *b)
{
    autofree char *ra = realpath(a, NULL), *rb = realpath(b, NULL);
    return ra && rb && strcmp(ra, rb) == 0;
}

static bool load_run(struct left_run *l, const char *state_dir, const char *id, const char *prefix,
                     const char *plan)
{
    *l = (struct left_run){.lock = -1, .dir = run_path(state_dir, id)};
    return run_folder_load(&l->saved, l->dir, NULL) == 0 && is_run_of_tool(&l->saved, prefix) &&
           l->saved.plan_file && is_same_file(l->saved.plan_file, plan) &&
           run_folder_lock(l->dir, &l->lock, NULL) == 0 && l->lock >= 0;
}

void left_run_find(struct left_run *l, const char *state_dir, const char *prefix, const char *plan)
{
    autostrv struct strv ids = {0};
    struct err none = {0};
    *l = (struct left_run){.lock = -1};
    if (find_unfinished(state_dir, IS_KILLED | IS_STOPPED, &ids, &none))
        return;
    for (size_t i = ids.n; i-- > 0;) {
        struct left_run candidate;
        if (load_run(&candidate, state_dir, ids.v[i], prefix, plan)) {
            *l = candidate;
            return;
        }
        left_run_done(&candidate);
    }
}

void left_run_done(struct left_run *l)
{
    run_folder_done(&l->saved);
    free(l->dir);
    if (l->lock >= 0)
        (void)close(l->lock);
    *l = (struct left_run){.lock = -1};
}

static void list_remains(const struct leftovers *r, const char *id, struct strv *out)
{
    for (size_t i = 0; i < r->tasks.n; i++) {
        const struct leftover_task *t = r->tasks.v[i];
        if (strcmp(t->run->id, id) != 0 || t->run->alive)
            continue;
        if (t->path && (t->has_tree || t->has_admin))
            strv_pushf(out, "worktree %s", t->path);
        if (t->branch)
            strv_pushf(out, "branch %s", t->branch + strlen("refs/heads/"));
    }
}

static void report_run(const struct leftovers *r, const char *state_dir, const char *id,
                       const char *prefix, left_tell_fn *tell, void *ctx)
{
    autofree char *dir = run_path(state_dir, id);
    autosaved struct run_folder saved;
    autostrv struct strv things = {0};
    struct left_remains left = {.run = id, .things = &things};
    if (run_folder_load(&saved, dir, NULL) || !is_run_of_tool(&saved, prefix))
        return;
    list_remains(r, id, &things);
    left.plan = saved.plan;
    if (things.n)
        tell(ctx, &left);
}

int left_each(const struct git_repo *repo, const char *state_dir, const char *prefix,
              left_tell_fn *tell, void *ctx, struct err *err)
{
    autostrv struct strv ids = {0};
    autostore struct store *store = NULL;
    if (find_unfinished(state_dir, IS_KILLED, &ids, err))
        return -1;
    if (!ids.n) /* the usual case: no need to read the repository */
        return 0;
    if (store_open(&store, state_dir, false, err))
        return -1;
    autoremains struct leftovers remains = {0};
    if (leftovers_find(&remains, repo, state_dir, store, err))
        return -1;
    for (size_t i = 0; i < ids.n; i++)
        report_run(&remains, state_dir, ids.v[i], prefix, tell, ctx);
    return 0;
}
