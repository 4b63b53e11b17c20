#include "run/resume/evidence.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/strv.h"
#include "base/vec.h"
#include "doc/doc.h"
#include "git/state_paths.h"
#include "run/rework/repair.h"

#include <string.h>

struct loader {
    struct evidence *past;
    const char *run;
    VEC(struct evidence_task) tasks;
};

static const char *keep(struct evidence *past, const char *s)
{
    return s ? arena_str(&past->arena, s) : NULL;
}

static enum task_state parse_state(const char *name)
{
    for (int i = 0; i < TASK_STATE_COUNT_; i++) {
        if (strcmp(task_state_name((enum task_state)i), name) == 0)
            return (enum task_state)i;
    }
    return TASK_WAITING;
}

static bool load_task(void *ctx, const struct store_task *task)
{
    struct loader *l = ctx;
    struct evidence_task t = {.row = store_keep_task(task, &l->past->arena),
                              .state = parse_state(task->state)};
    vec_push(&l->tasks, t);
    return true;
}

static void count_retry(struct evidence_task *t, const char *class)
{
    for (int f = 0; class && f < FAILURE_COUNT_; f++)
        t->retries_used[f] += strcmp(failure_names[f], class) == 0;
}

static int parse_repair(const struct node *data)
{
    const char *word = node_new_string(data, "tree", "");
    for (int i = REPAIR_OWN; i < REPAIR_COUNT_; i++) {
        if (strcmp(word, repair_words[i]) == 0)
            return i;
    }
    return REPAIR_NONE;
}

/* An event says that the next attempt resumes the agent. That attempt may have started. */
static void load_session(struct evidence *past, struct evidence_task *t,
                         const struct store_event *ev, const struct node *data, bool parked)
{
    const char *session = data ? keep(past, node_new_string(data, "session", NULL)) : NULL;
    const char *class = data ? node_new_string(data, "class", "") : "";
    int repair = session && !parked ? parse_repair(data) : REPAIR_NONE;
    bool conflict =
        strcmp(class, failure_names[FAILURE_CONFLICT]) == 0 || repair == REPAIR_CONFLICT;
    t->in_conflict = t->in_conflict || (conflict && session);
    t->on_tip = t->on_tip || conflict;
    if (ev->attempt + 1 == t->row.attempts)
        t->resumed_session = session;
    if (ev->attempt != t->row.attempts)
        return;
    t->parked_until = parked && data ? ev->time + node_new_int(data, "delay_ms", 0) : 0;
    t->session = session;
    t->first_start = data ? keep(past, node_new_string(data, "origin", NULL)) : NULL;
    t->repair = repair;
    t->has_message = strcmp(ev->name, "task.continued") == 0;
    t->remake_workspace = data && node_get(data, "remade");
    t->remake_from = data ? keep(past, node_new_string(data, "from", NULL)) : NULL;
    /* The row may still show the last attempt, but the session waits for the next one. */
    t->state = t->session ? TASK_RUNNING : TASK_WAITING;
}

/* The task has ended: forget an earlier intent to resume its agent. */
static void forget_session(struct evidence_task *t, const struct store_event *ev)
{
    memset(t->retries_used, 0, sizeof(t->retries_used));
    if (ev->attempt != t->row.attempts)
        return;
    t->session = t->remake_from = t->first_start = NULL;
    t->parked_until = 0;
    t->repair = REPAIR_NONE;
    t->has_message = t->remake_workspace = t->restarted = false;
    t->state = parse_state(t->row.state);
}

/* A task that waits for a limit uses a retry only if the reset is unknown. A switch to the fallback
 * uses none. */
static void load_retry(struct evidence *past, struct evidence_task *t, const struct store_event *ev,
                       bool parked)
{
    struct arena a = {0};
    const struct node *data = ev->data ? doc_read_line(&a, ev->data, strlen(ev->data)) : NULL;
    if (data && node_get(data, "fresh")) { /* parts of its workspace may be left */
        t->restarted = ev->attempt == t->row.attempts;
        arena_done(&a);
        return;
    }
    if (data && !node_get(data, parked ? "reset" : "fallback"))
        count_retry(t, node_new_string(data, "class", NULL));
    load_session(past, t, ev, data, parked);
    arena_done(&a);
}

/* True if the event ends the conflict that an agent had to resolve. */
static bool ends_conflict(const char *name)
{
    static const char *const names[] = {"task.committed",  "task.preparing", "task.landed",
                                        "task.conflicted", "task.failed",    NULL};
    for (size_t i = 0; names[i]; i++) {
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    return false;
}

/* Later attempts do not undo a landing. */
static void note_commit(struct evidence *past, struct evidence_task *t,
                        const struct store_event *ev, bool landed)
{
    struct arena a = {0};
    const struct node *data = ev->data ? doc_read_line(&a, ev->data, strlen(ev->data)) : NULL;
    const char *commit = data ? keep(past, node_new_string(data, "commit", NULL)) : NULL;
    if (!landed)
        t->last_commit = commit;
    else if (!data || !node_get(data, "unchanged"))
        t->committed = t->last_commit;
    if (landed) {
        t->has_landed = true;
        t->landed = commit;
    }
    arena_done(&a);
}

/* Parses only the data of failed verifications, which are rare. */
static void load_failure(struct evidence *past, struct evidence_task *t,
                         const struct store_event *ev)
{
    struct arena a = {0};
    const struct node *data = ev->data && strstr(ev->data, "\"unverified\"")
                                  ? doc_read_line(&a, ev->data, strlen(ev->data))
                                  : NULL;
    t->unverified = data ? keep(past, node_new_string(data, "unverified", NULL)) : NULL;
    arena_done(&a);
}

static bool load_event(void *ctx, const struct store_event *ev)
{
    struct evidence *past = ctx;
    struct evidence_task *t = ev->task ? evidence_find(past, ev->task) : NULL;
    past->last_event = ev->time;
    if (!t)
        return true;
    bool parked = strcmp(ev->name, "task.parked") == 0;
    if (parked || strcmp(ev->name, "task.retried") == 0 || strcmp(ev->name, "task.continued") == 0)
        load_retry(past, t, ev, parked);
    bool landed = strcmp(ev->name, "task.landed") == 0;
    if (landed || strcmp(ev->name, "task.failed") == 0 || strcmp(ev->name, "task.conflicted") == 0)
        forget_session(t, ev);
    if (strcmp(ev->name, "task.failed") == 0)
        load_failure(past, t, ev);
    if (strcmp(ev->name, "task.said") == 0)
        t->has_message = ev->attempt == t->row.attempts;
    if (landed || strcmp(ev->name, "task.committed") == 0)
        note_commit(past, t, ev, landed);
    t->in_conflict = t->in_conflict && !ends_conflict(ev->name);
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
    return store_each_event(store, l->run, 0, load_event, past, err);
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
