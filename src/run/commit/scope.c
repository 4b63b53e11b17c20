#include "run/commit/scope.h"

#include "base/arena.h"
#include "base/node/node_build.h"
#include "plan/schedule/claims.h"
#include "run/attempt/attempt.h"
#include "run/attempt/fail.h"
#include "run/attempt/feedback.h"
#include "run/commit/own_work.h"
#include "run/report.h"
#include "run/state/record.h"
#include "run/state/run_state.h"

#include <string.h>

static void record_scope_violation(struct attempt *attempt, const struct buf *paths, size_t n)
{
    struct arena a = {0};
    struct node *data = node_new_map(&a);
    struct node *list = node_put_list(&a, data, "paths");
    for (const char *p = paths->s; p < paths->s + paths->len; p += strlen(p) + 1)
        node_add_string(&a, list, p);
    node_put_int(&a, data, "count", (int64_t)n);
    record(attempt->run, EV_SCOPE_VIOLATED, attempt->task, data);
    arena_done(&a);
}

static void add_stray_feedback(struct attempt *attempt, const struct buf *paths)
{
    enum { SHOWN = 200 };
    autobuf struct buf text = BUF_INIT;
    size_t n = 0;
    buf_addstr(&text, "Your last attempt at this changed paths that this task may not change:\n");
    for (const char *p = paths->s; p < paths->s + paths->len; p += strlen(p) + 1, n++) {
        if (n < SHOWN)
            buf_addf(&text, "\n    %s", p);
    }
    if (n > SHOWN)
        buf_addf(&text, "\n    ... and %zu more", n - SHOWN);
    buf_addf(
        &text,
        "\n\nRestore them as they are in the commit %s, and remove those that it does not have. "
        "Do the task without them.",
        task_run(attempt)->start);
    attempt_tell(attempt, text.s);
}

bool attempt_check_paths(struct attempt *attempt, const struct buf *paths)
{
    struct run *run = attempt->run;
    autobuf struct buf strays = BUF_INIT, shown = BUF_INIT;
    size_t n = 0;
    for (const char *p = paths->s; p < paths->s + paths->len; p += strlen(p) + 1) {
        if (claims_allow(&run->pf->claims, attempt->task, p))
            continue;
        buf_add(&strays, p, strlen(p) + 1);
        if (n++ < 10)
            buf_addf(&shown, "%s%s", n > 1 ? ", " : "", p);
    }
    if (!n)
        return true;
    record_scope_violation(attempt, &strays, n);
    enum enforce enforce =
        task_of(attempt)->enforce ? task_of(attempt)->enforce : run->pf->plan.enforce;
    if (enforce == ENFORCE_WARN)
        return true;
    add_stray_feedback(attempt, &strays);
    attempt_fail(attempt, FAILURE_SCOPE, "changed %zu path%s that it does not own: %s%s", n,
                 n == 1 ? "" : "s", shown.s, n > 10 ? ", ..." : "");
    return false;
}

bool attempt_check_scope(struct attempt *attempt, const struct commit_draft *draft,
                         const char *commit)
{
    autobuf struct buf paths = BUF_INIT;
    struct err err = {0};
    if (!attempt->run->pf->claims.list.n)
        return true;
    if (own_work_paths(attempt, draft, commit, &paths, &err)) {
        attempt_error(attempt, &err);
        return false;
    }
    return attempt_check_paths(attempt, &paths);
}

static void add_revert_feedback(struct attempt *attempt, const struct strv *paths,
                                const char *landed)
{
    enum { SHOWN = 200 };
    autobuf struct buf text = BUF_INIT;
    buf_addstr(&text, "Your last attempt at this would have undone what others have landed. At "
                      "these paths their changes are missing:\n");
    for (size_t i = 0; i < paths->n && i < SHOWN; i++)
        buf_addf(&text, "\n    %s", paths->v[i]);
    if (paths->n > SHOWN)
        buf_addf(&text, "\n    ... and %zu more", paths->n - SHOWN);
    buf_addf(&text,
             "\n\nThese changes are in the commit %s. Restore them, and keep yours as well. "
             "Do not merge with -s ours or -X ours, and do not check out older versions.",
             landed);
    attempt_tell(attempt, text.s);
}

bool attempt_check_reverts(struct attempt *attempt, const struct commit_draft *draft)
{
    autostrv struct strv paths = {0};
    autobuf struct buf list = BUF_INIT, shown = BUF_INIT;
    struct err err = {0};
    if (own_work_reverts(attempt, draft, &paths, &err)) {
        attempt_error(attempt, &err);
        return false;
    }
    task_report_if(attempt->run, attempt->task, ENGINE_COMPARED, paths.n > 0);
    if (!paths.n)
        return true;
    for (size_t i = 0; i < paths.n; i++) {
        buf_add(&list, paths.v[i], strlen(paths.v[i]) + 1);
        if (i < 10)
            buf_addf(&shown, "%s%s", i ? ", " : "", paths.v[i]);
    }
    record_scope_violation(attempt, &list, paths.n);
    add_revert_feedback(attempt, &paths, draft->own.bases.v[0]);
    attempt_fail(attempt, FAILURE_SCOPE, "would undo what others have landed: %s%s", shown.s,
                 paths.n > 10 ? ", ..." : "");
    return false;
}
