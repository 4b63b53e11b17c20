/*
 * Salvages the work of an attempt before its workspace is removed.
 */
#include "run/attempt/salvage.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "git/state_paths.h"
#include "run/attempt/attempt.h"
#include "run/attempt/feedback.h"
#include "run/commit/commit_job.h"
#include "run/land/durable.h"
#include "run/prepare/overlay_fill.h"
#include "run/prepare/prepare.h"
#include "run/process/output_limits.h"
#include "run/state/record.h"
#include "run/state/run_state.h"
#include "run/watch/watch.h"
#include "sys/clock.h"
#include "sys/fs/file.h"
#include "workspace/commit/salvage_list.h"
#include "workspace/commit/vault.h"
#include "workspace/workspace_hold.h"

#include <string.h>

enum { LOG_MAX = 16 << 20 };

/* The commit to compare the attempt's files with: its start, or the tip that it was merged with. */
static const char *comparison_base(struct attempt *attempt)
{
    autobuf struct buf head = BUF_INIT;
    struct err none = {0};
    bool merged = attempt->landing.commit.len && workspace_head(&attempt->ws, &head, &none) == 0 &&
                  strcmp(head.s, attempt->landing.commit.s) == 0;
    return merged ? attempt->landing.base.s : task_run(attempt)->start;
}

static void put_list(struct arena *a, struct node *data, const char *key, const struct strv *list)
{
    struct node *out = list->n ? node_put_list(a, data, key) : NULL;
    for (size_t i = 0; i < list->n; i++)
        node_add_string(a, out, list->v[i]);
}

static void record_salvaged(struct attempt *attempt, const char *ref, const struct salvaged *s)
{
    struct arena a = {0};
    if (s->vault.code) /* the salvaged work has its ref all the same */
        record_error(attempt->run, attempt->task, &s->vault);
    if (!s->commit.len && !s->dropped_count && !s->left_count)
        return;
    struct node *data = node_new_map(&a);
    node_put_string(&a, data, "ref", s->commit.len ? ref : NULL);
    node_put_string(&a, data, "commit", s->commit.len ? s->commit.s : NULL);
    if (s->commit.len)
        repo_watch_saved(attempt->run, ref, s->commit.s);
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
        node_put_string(&a, data, "workspace", attempt->ws.path);
    }
    record(attempt->run, EV_TASK_SALVAGED, attempt->task, data);
    arena_done(&a);
}

static void record_salvage_failure(struct attempt *attempt, const struct err *err)
{
    struct arena a = {0};
    struct node *data = node_new_map(&a);
    node_put_string(&a, data, "error", err->msg);
    node_put_string(&a, data, "workspace", attempt->ws.path);
    record(attempt->run, EV_TASK_SALVAGED, attempt->task, data);
    arena_done(&a);
}

/* True if `git add` warned about an embedded repository, whose files it does not add. Without `git
 * add` there is none. */
static bool has_nested(const struct attempt *attempt)
{
    if (attempt->staged.without_git)
        return false;
    autofree char *path = attempt_file(attempt, "prepare.log");
    autobuf struct buf log = BUF_INIT;
    return file_read(path, LOG_MAX, &log, NULL) || strstr(log.s, "embedded git repository");
}

static int write_salvage(struct attempt *attempt, struct salvage_job *sj, bool all,
                         struct salvaged *ret, struct err *err)
{
    static const char *const none[] = {NULL};
    const struct task_run *tr = task_run(attempt);
    autostrv struct strv kept = {0};
    if (all)
        return salvage_workspace(sj, ret, err);
    if (tr->commit)
        strv_push(&kept, tr->commit);
    if (tr->landed)
        strv_push(&kept, tr->landed);
    for (size_t i = 0; i < tr->own_heads.n; i++)
        strv_push(&kept, tr->own_heads.v[i]);
    return salvage_rest(sj, kept.n ? (const char *const *)kept.v : none, has_nested(attempt), ret,
                        err);
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

/* Reuses the last scan if we have started nothing in the work tree since. Otherwise keeps the new
 * scan for the pool. */
static void use_scan(struct attempt *attempt, struct commit_job *commit)
{
    commit->tracked = overlay_fill_tracked(attempt);
    if (attempt_has_scan(attempt)) {
        commit->scan = &attempt->staged.scan;
        return;
    }
    work_scan_close(&attempt->staged.scan);
    attempt->staged.scan = (struct work_scan){0};
    attempt->staged.scan_is_valid = false;
    commit->found = &attempt->staged.scan;
}

/* Keeps the scan for the pool, which expects differences from the task's start. In a merged tree
 * the scan shows something else. */
static void keep_scan(struct attempt *attempt)
{
    if (comparison_base(attempt) != task_run(attempt)->start || attempt->staged.scan_is_valid ||
        !attempt->staged.scan.no_attributes)
        return;
    attempt->staged.scan_is_valid = true;
    attempt->staged.scanned_at = clock_mono();
}

static bool salvage_work(struct attempt *attempt, bool all, const char *start, const char *why)
{
    const struct plan *plan = &attempt->run->pf->plan;
    const char *task = task_of(attempt)->id;
    autofree char *index = attempt_file(attempt, "salvage.index");
    autofree char *ref = salvage_ref(attempt->run, task, attempt->number);
    autofree char *message =
        salvage_message(attempt->run->id, task, attempt->number, comparison_base(attempt), why);
    struct salvage_job sj = {.commit = attempt_commit(attempt, index, message),
                             .ref = ref,
                             .patterns = plan->salvage.v,
                             .pattern_count = plan->salvage.n,
                             .no_files = !workspace_is_there(&attempt->ws),
                             .plain = attempt->staged.without_git && attempt->staged.tree.len};
    autosalvaged struct salvaged saved = SALVAGED_INIT;
    struct err err = {0};
    struct change_limits change = output_limits_of(attempt).change;
    sj.commit.start = start;
    sj.made_again = (const char *const *)task_run(attempt)->own_heads.v;
    if (!attempt->staged.is_whole)
        sj.bounds = (struct change_bounds){change.files, change.bytes};
    if (all)
        use_scan(attempt, &sj.commit);
    /* Without the workspace's own git folder, git would use another repository. */
    if ((workspace_lost_admin(&attempt->ws) && workspace_repair(&attempt->ws, start, &err)) ||
        write_salvage(attempt, &sj, all, &saved, &err)) {
        record_salvage_failure(attempt, &err);
        return false;
    }
    keep_scan(attempt);
    if (saved.commit.len && durable_sync(attempt->run, &err)) {
        record_salvage_failure(attempt, &err);
        return false;
    }
    record_salvaged(attempt, ref, &saved);
    return !saved.left_count; /* otherwise only the workspace has the rest */
}

bool attempt_salvage_commit(struct attempt *attempt, const char *commit)
{
    struct git_place at = run_place(attempt->run);
    autofree char *ref = salvage_ref(attempt->run, task_of(attempt)->id, attempt->number);
    autosalvaged struct salvaged saved = SALVAGED_INIT;
    struct err err = {0};
    bool moved = false;
    if (git_move_ref(&at, ref, "", commit, "anabranch: salvage", &moved, &err) ||
        (!moved && err_set(&err, ERR_ENV, "'%s' exists already", ref))) {
        record_salvage_failure(attempt, &err);
        return false;
    }
    buf_addstr(&saved.commit, commit);
    const char *start = task_run(attempt)->start;
    if (!start)
        start = attempt->run->base.start;
    if (vault_keep(&at, ref, commit, start, &saved.vault, &err) ||
        durable_sync(attempt->run, &err)) {
        record_salvage_failure(attempt, &err);
        return false;
    }
    record_salvaged(attempt, ref, &saved);
    return true;
}

bool attempt_salvage(struct attempt *attempt)
{
    const struct task_status *s = &task_run(attempt)->status;
    if (attempt->has_workspace &&
        attempt->prepare
            .after_prepare) /* made again from a commit, to land it or from salvaged work */
        return attempt->agent.session || attempt_salvage_commit(attempt, task_run(attempt)->commit);
    if (!attempt->has_workspace || !attempt->agent.started) /* no agent has worked in it */
        return true;
    autofree char *why = s->reason ? mem_printf("%s: %s", failure_names[s->failure], s->reason)
                                   : mem_str("done, with nothing to land");
    return salvage_work(attempt, true, task_run(attempt)->start, why);
}

bool attempt_salvage_rest(struct attempt *attempt)
{
    if (!attempt->has_workspace)
        return true;
    return salvage_work(attempt, false, task_run(attempt)->start, "left over after the landing");
}

bool attempt_salvage_since(struct attempt *attempt, const char *start, const char *why)
{
    return !attempt->has_workspace || !attempt->agent.started ||
           salvage_work(attempt, true, start, why);
}
