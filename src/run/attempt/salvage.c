/*
 * Salvages the work of an attempt before its workspace is removed.
 */
#include "run/run_private.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "git/state_paths.h"
#include "run/land/durable.h"
#include "run/prepare/overlay_fill.h"
#include "run/watch/watch.h"
#include "sys/clock.h"
#include "sys/fs/file.h"
#include "workspace/commit/salvage_list.h"
#include "workspace/commit/vault.h"
#include "workspace/workspace_hold.h"

#include <string.h>

enum { LOG_MAX = 16 << 20 };

/* The commit to compare the attempt's files with: its start, or the tip that it was merged with. */
static const char *comparison_base(struct attempt *job)
{
    autobuf struct buf head = BUF_INIT;
    struct err none = {0};
    bool merged = job->candidate.len && workspace_head(&job->ws, &head, &none) == 0 &&
                  strcmp(head.s, job->candidate.s) == 0;
    return merged ? job->candidate_base.s : task_run(job)->start;
}

static void put_list(struct arena *a, struct node *data, const char *key, const struct strv *list)
{
    struct node *out = list->n ? node_put_list(a, data, key) : NULL;
    for (size_t i = 0; i < list->n; i++)
        node_add_string(a, out, list->v[i]);
}

static void record_salvaged(struct attempt *job, const char *ref, const struct salvaged *s)
{
    struct arena a = {0};
    if (s->vault.code) /* the salvaged work has its ref all the same */
        record_error(job->run, job->task, &s->vault);
    if (!s->commit.len && !s->dropped_count && !s->left_count)
        return;
    struct node *data = node_new_map(&a);
    node_put_string(&a, data, "ref", s->commit.len ? ref : NULL);
    node_put_string(&a, data, "commit", s->commit.len ? s->commit.s : NULL);
    if (s->commit.len)
        repo_watch_saved(job->run, ref, s->commit.s);
    put_list(&a, data, "nested", &s->nested);
    put_list(&a, data, "clones", &s->clones);
    if (s->stray_count)
        node_put_int(&a, data, "strays", (int64_t)s->stray_count);
    put_list(&a, data, "dropped", &s->dropped);
    if (s->dropped_count)
        node_put_int(&a, data, "dropped_count", (int64_t)s->dropped_count);
    put_list(&a, data, "left", &s->left);
    if (s->left_count) {
        node_put_int(&a, data, "left_count", (int64_t)s->left_count);
        node_put_int(&a, data, "left_bytes", s->left_bytes);
        node_put_string(&a, data, "workspace", job->ws.path);
    }
    record(job->run, EV_TASK_SALVAGED, job->task, data);
    arena_done(&a);
}

static void record_salvage_failure(struct attempt *job, const struct err *err)
{
    struct arena a = {0};
    struct node *data = node_new_map(&a);
    node_put_string(&a, data, "error", err->msg);
    node_put_string(&a, data, "workspace", job->ws.path);
    record(job->run, EV_TASK_SALVAGED, job->task, data);
    arena_done(&a);
}

/* True if `git add` warned about an embedded repository, whose files it does not add. Without `git
 * add` there is none. */
static bool has_nested(const struct attempt *job)
{
    if (job->staged_here)
        return false;
    autofree char *path = attempt_file(job, "prepare.log");
    autobuf struct buf log = BUF_INIT;
    return file_read(path, LOG_MAX, &log, NULL) || strstr(log.s, "embedded git repository");
}

static int write_salvage(struct attempt *job, struct salvage_job *sj, bool all,
                         struct salvaged *ret, struct err *err)
{
    static const char *const none[] = {NULL};
    const struct task_run *tr = task_run(job);
    autostrv struct strv kept = {0};
    if (all)
        return salvage_workspace(sj, ret, err);
    if (tr->commit)
        strv_push(&kept, tr->commit);
    if (tr->landed)
        strv_push(&kept, tr->landed);
    for (size_t i = 0; i < tr->own_heads.n; i++)
        strv_push(&kept, tr->own_heads.v[i]);
    return salvage_rest(sj, kept.n ? (const char *const *)kept.v : none, has_nested(job), ret, err);
}

char *salvage_ref(const struct run *run, const char *id, int attempt)
{
    struct git_place at = run_place(run);
    autofree char *ref = salvage_ref_name(run->id, id, attempt);
    for (int n = 2;; n++) {
        autobuf struct buf there = BUF_INIT;
        if (git_resolve(&at, ref, &there, NULL))
            return steal_ptr(ref);
        free(ref);
        ref = mem_printf(SALVAGE_REFS "%s/%s/%d-%d", run->id, id, attempt, n);
    }
}

enum { FRESH_MS = 1000 }; /* a process may have written there since */

bool attempt_has_scan(const struct attempt *job)
{
    return job->is_found && clock_mono() - job->found_at < FRESH_MS;
}

/* Reuses the last scan if we have started nothing in the work tree since. Otherwise keeps the new
 * scan for the pool. */
static void use_scan(struct attempt *job, struct commit_job *commit)
{
    commit->tracked = overlay_fill_tracked(job);
    if (attempt_has_scan(job)) {
        commit->scan = &job->found;
        return;
    }
    work_scan_close(&job->found);
    job->found = (struct work_scan){0};
    job->is_found = false;
    commit->found = &job->found;
}

/* Keeps the scan for the pool, which expects differences from the task's start. In a merged tree
 * the scan shows something else. */
static void keep_scan(struct attempt *job)
{
    if (comparison_base(job) != task_run(job)->start || job->is_found || !job->found.no_attributes)
        return;
    job->is_found = true;
    job->found_at = clock_mono();
}

static bool salvage_work(struct attempt *job, bool all, const char *start, const char *why)
{
    const struct plan *plan = &job->run->pf->plan;
    const char *task = task_of(job)->id;
    autofree char *index = attempt_file(job, "salvage.index");
    autofree char *ref = salvage_ref(job->run, task, job->attempt);
    autofree char *message =
        salvage_message(job->run->id, task, job->attempt, comparison_base(job), why);
    struct salvage_job sj = {.commit = attempt_commit(job, index, message),
                             .ref = ref,
                             .patterns = plan->salvage.v,
                             .pattern_count = plan->salvage.n,
                             .no_files = !workspace_is_there(&job->ws),
                             .plain = job->staged_here && job->tree.len};
    autosalvaged struct salvaged saved = SALVAGED_INIT;
    struct err err = {0};
    struct change_limits change = output_limits_of(job).change;
    sj.commit.start = start;
    sj.made_again = (const char *const *)task_run(job)->own_heads.v;
    if (!job->is_whole)
        sj.bounds = (struct change_bounds){change.files, change.bytes};
    if (all)
        use_scan(job, &sj.commit);
    /* Without the workspace's own git folder, git would use another repository. */
    if ((workspace_lost_admin(&job->ws) && workspace_repair(&job->ws, start, &err)) ||
        write_salvage(job, &sj, all, &saved, &err)) {
        record_salvage_failure(job, &err);
        return false;
    }
    keep_scan(job);
    if (saved.commit.len && durable_sync(job->run, &err)) {
        record_salvage_failure(job, &err);
        return false;
    }
    record_salvaged(job, ref, &saved);
    return !saved.left_count; /* otherwise only the workspace has the rest */
}

bool attempt_salvage_commit(struct attempt *job, const char *commit)
{
    struct git_place at = run_place(job->run);
    autofree char *ref = salvage_ref(job->run, task_of(job)->id, job->attempt);
    autosalvaged struct salvaged saved = SALVAGED_INIT;
    struct err err = {0};
    bool moved = false;
    if (git_move_ref(&at, ref, "", commit, "anabranch: salvage", &moved, &err) ||
        (!moved && err_set(&err, ERR_ENV, "'%s' exists already", ref))) {
        record_salvage_failure(job, &err);
        return false;
    }
    buf_addstr(&saved.commit, commit);
    const char *start = task_run(job)->start;
    vault_keep(&at, ref, commit, start ? start : job->run->base_commit, &saved.vault);
    if (durable_sync(job->run, &err)) {
        record_salvage_failure(job, &err);
        return false;
    }
    record_salvaged(job, ref, &saved);
    return true;
}

bool attempt_salvage(struct attempt *job)
{
    const struct task_status *s = &task_run(job)->status;
    if (job->has_workspace &&
        job->ready) /* made again from a commit, to land it or from salvaged work */
        return job->session || attempt_salvage_commit(job, task_run(job)->commit);
    if (!job->has_workspace || !job->agent_started) /* no agent has worked in it */
        return true;
    autofree char *why = s->reason ? mem_printf("%s: %s", failure_names[s->failure], s->reason)
                                   : mem_str("done, with nothing to land");
    return salvage_work(job, true, task_run(job)->start, why);
}

bool attempt_salvage_rest(struct attempt *job)
{
    if (!job->has_workspace)
        return true;
    return salvage_work(job, false, task_run(job)->start, "left over after the landing");
}

bool attempt_salvage_since(struct attempt *job, const char *start, const char *why)
{
    return !job->has_workspace || !job->agent_started || salvage_work(job, true, start, why);
}
