#include "threads/status/conflicts.h"

#include "base/mem.h"
#include "git/merge/merge.h"
#include "git/merge/merge_plain_trees.h"
#include "sys/proc/capture_many.h"

#include <string.h>

enum { MIN_MERGES = 16 };

/* A path that a thread changes, or a folder that contains it. */
struct touch {
    const char *path; /* not terminated by a NUL */
    size_t len;
    size_t look;
    bool folder;
};

/* A merge that git must try: of a thread with its base, or with another thread. */
struct merge_test {
    size_t look, other; /* other == look: with its base */
};

struct merge_search {
    struct thread_looks *looks;
    const struct git_place *at;
    VEC(struct touch) touches;
    VEC(struct merge_test) tests;
};

static int test_base_merge(struct merge_search *m, size_t i, struct err *err)
{
    struct thread_look *l = &m->looks->v[i];
    autobuf struct buf tree = BUF_INIT;
    bool mergeable = l->fork;
    if (l->problem || !l->ahead)
        return 0;
    l->merge = THREAD_MERGE_CLEAN;
    if (!l->behind)
        return 0;
    if (mergeable &&
        merge_plain_trees(m->at->batch, l->fork, l->base, l->head, &tree, &mergeable, err))
        return -1;
    if (mergeable)
        return 0;
    l->merge = THREAD_MERGE_UNTESTED;
    vec_push(&m->tests, (struct merge_test){i, i});
    return 0;
}

static void add_touches(struct merge_search *m, size_t i)
{
    const struct thread_look *l = &m->looks->v[i];
    const char *end = l->paths.s + l->paths.len;
    for (const char *path = l->paths.s; path < end; path += strlen(path) + 1) {
        vec_push(&m->touches, (struct touch){path, strlen(path), i, false});
        for (const char *s = path; (s = strchr(s, '/')); s++)
            vec_push(&m->touches, (struct touch){path, (size_t)(s - path), i, true});
    }
}

static int compare_paths(const struct touch *a, const struct touch *b)
{
    size_t len = a->len < b->len ? a->len : b->len;
    int order = memcmp(a->path, b->path, len);
    return order ? order : (a->len > b->len) - (a->len < b->len);
}

/* Sorts files before folders of the same path, and by thread. */
static int compare_touches(const void *left, const void *right)
{
    const struct touch *a = left, *b = right;
    int order = compare_paths(a, b);
    if (order)
        return order;
    if (a->folder != b->folder)
        return a->folder ? 1 : -1;
    return (a->look > b->look) - (a->look < b->look);
}

static void add_meeting(struct merge_search *m, bool *known, size_t a, size_t b)
{
    size_t n = m->looks->n, low = a < b ? a : b, high = a < b ? b : a;
    if (low == high || known[low * n + high])
        return;
    known[low * n + high] = true;
    vec_push(&m->looks->v[low].meetings, (struct thread_meeting){high, THREAD_MERGE_UNTESTED});
    vec_push(&m->looks->v[high].meetings, (struct thread_meeting){low, THREAD_MERGE_UNTESTED});
    vec_push(&m->tests, (struct merge_test){low, high});
}

/* Compares all entries of one path: a file meets all others, folders meet only files. */
static void add_meetings(struct merge_search *m, bool *known, size_t first, size_t end)
{
    for (size_t i = first; i < end && !m->touches.v[i].folder; i++) {
        for (size_t k = i + 1; k < end; k++)
            add_meeting(m, known, m->touches.v[i].look, m->touches.v[k].look);
    }
}

static void find_meetings(struct merge_search *m)
{
    size_t n = m->looks->n;
    bool *known = mem_array(n * n + 1, sizeof(*known));
    for (size_t i = 0; i < n; i++)
        add_touches(m, i);
    if (m->touches.n)
        qsort(m->touches.v, m->touches.n, sizeof(*m->touches.v), compare_touches);
    for (size_t i = 0, end; i < m->touches.n; i = end) {
        for (end = i + 1; end < m->touches.n; end++) {
            if (compare_paths(&m->touches.v[i], &m->touches.v[end]) != 0)
                break;
        }
        add_meetings(m, known, i, end);
    }
    free(known);
}

static void set_meeting(struct thread_look *l, size_t other, enum thread_merge merge)
{
    for (size_t i = 0; i < l->meetings.n; i++) {
        if (l->meetings.v[i].other == other)
            l->meetings.v[i].merge = merge;
    }
}

static void record_result(struct merge_search *m, const struct merge_test *q,
                          const struct merge_result *result)
{
    enum thread_merge merge = result->clean ? THREAD_MERGE_CLEAN : THREAD_MERGE_CONFLICT;
    struct thread_look *l = &m->looks->v[q->look];
    const char *end = result->conflicts.s + result->conflicts.len;
    if (q->look != q->other) {
        set_meeting(l, q->other, merge);
        set_meeting(&m->looks->v[q->other], q->look, merge);
        return;
    }
    l->merge = merge;
    for (const char *path = result->conflicts.s; path < end; path += strlen(path) + 1)
        strv_push(&l->conflicts, path);
}

static void prepare_merge(const struct merge_search *m, const struct merge_test *q,
                          struct proc_job *job)
{
    const struct thread_look *l = &m->looks->v[q->look], *other = &m->looks->v[q->other];
    *job = (struct proc_job)PROC_JOB_INIT;
    git_prepare(m->at, &job->argv, &job->env);
    merge_ask(m->at, q->look == q->other ? l->base : l->head, other->head, &job->argv);
}

static int run_merges(struct merge_search *m, struct err *err)
{
    size_t limit = m->looks->n > MIN_MERGES ? m->looks->n : MIN_MERGES;
    size_t n = m->tests.n < limit ? m->tests.n : limit;
    struct proc_job *jobs = mem_array(n + 1, sizeof(*jobs));
    for (size_t i = 0; i < n; i++)
        prepare_merge(m, &m->tests.v[i], &jobs[i]);
    int rc = capture_many(jobs, n, err);
    for (size_t i = 0; i < n; i++) {
        automerge struct merge_result result = MERGE_RESULT_INIT;
        if (rc == 0)
            rc = merge_answer(&jobs[i].out, &jobs[i].errout, jobs[i].status, &result, err);
        if (rc == 0)
            record_result(m, &m->tests.v[i], &result);
        proc_job_done(&jobs[i]);
    }
    free(jobs);
    return rc;
}

int thread_conflicts(struct thread_looks *ls, const struct git_place *at, struct err *err)
{
    struct merge_search m = {.looks = ls, .at = at};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < ls->n; i++)
        rc = test_base_merge(&m, i, err);
    if (rc == 0) {
        find_meetings(&m);
        rc = run_merges(&m, err);
    }
    vec_done(&m.touches);
    vec_done(&m.tests);
    return rc;
}
