#include "run/resume/evidence.h"

#include "base/mem.h"
#include "base/strv.h"
#include "base/vec.h"
#include "doc/doc.h"
#include "git/state_paths.h"
#include "run/resume/decide.h"
#include "run/resume/resume_private.h"

#include <string.h>

struct loader {
    struct evidence *past;
    const char *run;
    VEC(struct evidence_task) tasks;
};

static bool load_task(void *ctx, const struct store_task *task)
{
    struct loader *l = ctx;
    struct evidence_task t = {.row = store_keep_task(task, &l->past->arena),
                              .events = {.attempts = task->attempts},
                              .state = task_state_find(task->state, TASK_WAITING)};
    vec_push(&l->tasks, t);
    return true;
}

static bool load_event(void *ctx, const struct store_event *row)
{
    struct evidence *past = ctx;
    struct evidence_task *t = row->task ? evidence_find(past, row->task) : NULL;
    struct event ev = {.time = row->time, .kind = event_find(row->name), .attempt = row->attempt};
    struct arena a = {0};
    past->last_event = row->time;
    if (!t || ev.kind == EV_COUNT_)
        return true;
    if (row->data && task_evidence_reads(ev.kind))
        ev.data = doc_read_line(&a, row->data, strlen(row->data));
    task_evidence_add(&t->events, &ev, &past->arena);
    arena_done(&a);
    return true;
}

static int read_rows(struct loader *l, struct store *store, struct err *err)
{
    struct evidence *past = l->past;
    if (store_find_run(store, l->run, &past->arena, &past->row, err) ||
        store_each_task(store, l->run, load_task, l, err))
        return -1;
    past->n = l->tasks.n;
    past->tasks = arena_array(&past->arena, past->n + 1, sizeof(*past->tasks));
    for (size_t i = 0; i < past->n; i++) {
        past->tasks[i] = l->tasks.v[i];
        (void)map_put(&past->by_id, past->tasks[i].row.id, strlen(past->tasks[i].row.id),
                      &past->tasks[i]);
    }
    if (store_each_event(store, l->run, 0, load_event, past, err))
        return -1;
    for (size_t i = 0; i < past->n; i++) {
        struct evidence_task *t = &past->tasks[i];
        if (t->events.waits)
            t->state = t->events.next.session ? TASK_RUNNING : TASK_WAITING;
        t->life = past_life_of_events(&t->events);
    }
    return 0;
}

char *evidence_branch(const char *pattern, const char *run, const char *task)
{
    static const char place[] = "{id}";
    const char *at = pattern ? strstr(pattern, place) : NULL;
    if (!at)
        return mem_printf(PAST_BRANCH "%s/%s", run, task);
    return mem_printf("refs/heads/%.*s%s%s", (int)(at - pattern), pattern, task,
                      at + strlen(place));
}

/* For a run with a template for its branches. */
static void load_templated_ref(struct evidence *past, const struct evidence_query *q,
                               const char *ref, const char *commit)
{
    for (size_t i = 0; q->branch && i < past->n; i++) {
        autofree char *own = evidence_branch(q->branch, q->run, past->tasks[i].row.id);
        if (strcmp(ref, own) == 0)
            past->tasks[i].branch_commit = commit;
    }
}

static void load_ref(struct evidence *past, const struct evidence_query *q, const char *ref,
                     const char *commit)
{
    autofree char *tip = tip_ref_name(q->run);
    autofree char *own = mem_printf(PAST_BRANCH "%s/", q->run);
    if (strcmp(ref, q->base_ref) == 0)
        past->base = commit;
    else if (strcmp(ref, tip) == 0)
        past->tip = commit;
    load_templated_ref(past, q, ref, commit);
    if (strncmp(ref, own, strlen(own)) != 0)
        return;
    struct evidence_task *t = evidence_find(past, ref + strlen(own));
    if (t)
        t->branch_commit = commit;
    else if (strcmp(ref + strlen(own), STORE_RESULT) == 0)
        past->result = commit;
}

static int read_refs(struct evidence *past, const struct evidence_query *q, struct err *err)
{
    autofree char *tip = tip_ref_name(q->run);
    autofree char *own = mem_printf(PAST_BRANCH "%s/", q->run);
    autobuf struct buf out = BUF_INIT, errout = BUF_INIT;
    autostrv struct strv args = {0};
    int status;
    strv_pushl(&args, "for-each-ref", "--format=%(objectname) %(refname)", tip, own, q->base_ref,
               NULL);
    for (size_t i = 0; q->branch && i < past->n; i++) {
        autofree char *ref = evidence_branch(q->branch, q->run, past->tasks[i].row.id);
        strv_push(&args, ref);
    }
    if (git_try(q->at, &args, &out, &errout, &status, err))
        return -1;
    if (status != 0)
        return err_set(err, ERR_ENV, "git for-each-ref: %s", errout.s);
    for (char *next = arena_str(&past->arena, out.s), *line; (line = strsep(&next, "\n"));) {
        char *blank = strchr(line, ' ');
        if (!blank)
            continue;
        *blank = '\0';
        load_ref(past, q, blank + 1, line);
    }
    return 0;
}

static int read_history(struct evidence *past, const struct evidence_query *q, struct err *err)
{
    autostrv struct strv args = {0};
    autobuf struct buf out = BUF_INIT, errout = BUF_INIT, found = BUF_INIT;
    const char *const ends[] = {past->tip, past->result, past->base};
    int status;
    strv_push(&args, "rev-list");
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        if (ends[i])
            strv_push(&args, ends[i]);
    }
    /* If a user rewrote history, the commit that the run began at may be gone. */
    if (git_resolve(q->at, q->base_commit, &found, NULL) == 0)
        strv_pushf(&args, "^%s", q->base_commit);
    strv_push(&args, "--");
    if (!past->tip && !past->result && !past->base)
        return 0;
    if (git_try(q->at, &args, &out, &errout, &status, err))
        return -1;
    if (status != 0)
        return err_set(err, ERR_ENV, "git rev-list: %s", errout.s);
    for (char *next = arena_str(&past->arena, out.s), *line; (line = strsep(&next, "\n"));) {
        if (*line)
            (void)map_put(&past->history, line, strlen(line), line);
    }
    return 0;
}

int evidence_load(struct evidence *past, struct store *store, const struct evidence_query *query,
                  struct err *err)
{
    struct loader l = {.past = past, .run = query->run};
    *past = (struct evidence){0};
    int rc = read_rows(&l, store, err);
    vec_done(&l.tasks);
    if (rc == 0 && query->base_ref)
        rc = read_refs(past, query, err) || read_history(past, query, err) ? -1 : 0;
    return rc;
}

void evidence_done(struct evidence *past)
{
    map_done(&past->by_id);
    map_done(&past->history);
    arena_done(&past->arena);
}

struct evidence_task *evidence_find(const struct evidence *past, const char *id)
{
    return map_get(&past->by_id, id, strlen(id));
}

bool evidence_has_commit(const struct evidence *past, const char *commit)
{
    return commit && map_get(&past->history, commit, strlen(commit));
}

void resume_free(struct resume *r)
{
    if (r)
        evidence_done(&r->past);
    free(r);
}
