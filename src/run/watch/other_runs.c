#include "run/watch/other_runs.h"

#include "base/mem.h"
#include "base/text/str.h"
#include "git/state_paths.h"
#include "run/resume/evidence.h"
#include "run/run_private.h"
#include "run/state/run_folder.h"

#include <string.h>

void other_runs_done(struct other_runs *o)
{
    map_done(&o->by_ref);
    strv_done(&o->refs);
    strv_done(&o->files);
    *o = (struct other_runs){0};
}

struct run_search {
    const struct run *run;
    struct strv ids;
};

/* Notes the runs that were not over when ours began. */
static bool note_run(void *ctx, const struct store_run *row)
{
    struct run_search *s = ctx;
    bool is_other = strcmp(row->id, s->run->id) != 0;
    if (is_other && (strcmp(row->state, "running") == 0 || row->finished >= s->run->started))
        strv_push(&s->ids, row->id);
    return true;
}

struct task_search {
    struct other_runs *others;
    const struct run_folder *saved;
};

static bool note_branch(void *ctx, const struct store_task *row)
{
    const struct task_search *s = ctx;
    autofree char *ref = evidence_branch(s->saved->options.branch, row->run, row->id);
    strv_push(&s->others->refs, ref);
    return true;
}

static void note_folder(struct other_runs *o, const struct run *run, const char *id)
{
    autofree char *dir = run_path(run->state_dir, id);
    autosaved struct run_folder saved;
    struct task_search s = {.others = o, .saved = &saved};
    struct err none = {0};
    if (run_folder_load(&saved, dir, &none))
        return;
    if (saved.options.branch)
        (void)store_each_task(run->store, id, note_branch, &s, &none);
    if (saved.options.own_file)
        strv_push(&o->files, saved.options.own_file);
    if (saved.options.log_dir)
        strv_pushf(&o->files, "%s/", saved.options.log_dir);
}

static void load_others(struct other_runs *o, const struct run *run)
{
    struct run_search s = {.run = run};
    struct err none = {0}; /* without an answer we report the changes */
    if (o->loaded)
        return;
    o->loaded = true;
    (void)store_each_run(run->store, note_run, &s, &none);
    for (size_t i = 0; i < s.ids.n; i++)
        note_folder(o, run, s.ids.v[i]);
    for (size_t i = 0; i < o->refs.n; i++)
        (void)map_put(&o->by_ref, o->refs.v[i], strlen(o->refs.v[i]), o);
    strv_done(&s.ids);
}

bool other_runs_have_ref(struct other_runs *o, const struct run *run, const char *ref)
{
    load_others(o, run);
    return map_get(&o->by_ref, ref, strlen(ref)) != NULL;
}

static bool is_in(const char *path, const char *folder)
{
    size_t len = strlen(folder);
    return len && folder[len - 1] == '/' && strncmp(path, folder, len) == 0;
}

bool other_runs_have_file(struct other_runs *o, const struct run *run, const char *path)
{
    autofree char *full = mem_printf("%s/%s", run->pf->repo.root, path);
    bool found = false;
    load_others(o, run);
    for (size_t i = 0; i < o->files.n; i++) {
        const char *file = o->files.v[i];
        found = found || strcmp(full, file) == 0 || is_in(full, file) || is_in(file, full);
    }
    return found;
}
