#include "plan/engine/rules/task_evidence.h"

#include "base/node/node_build.h"

#include <string.h>

static const char *keep_string(const struct event *ev, const char *member, struct arena *a)
{
    const char *s = node_get_string(ev->data, member, NULL);
    return s ? arena_str(a, s) : NULL;
}

static enum repair find_repair(const char *word)
{
    for (int i = REPAIR_OWN; i < REPAIR_COUNT_; i++) {
        if (strcmp(word, repair_words[i]) == 0)
            return (enum repair)i;
    }
    return REPAIR_NONE;
}

void next_session_encode(const struct next_session *next, struct arena *a, struct node *data)
{
    node_put_string(a, data, "session", next->session);
    node_put_string(a, data, "tree", repair_words[next->repair]);
    node_put_string(a, data, "origin", next->first_start);
    if (next->remake_workspace)
        node_put_bool(a, data, "remade", true);
    node_put_string(a, data, "from", next->remake_from);
}

static struct next_session decode_next_session(const struct event *ev, struct arena *a)
{
    struct next_session next = {.session = keep_string(ev, "session", a),
                                .first_start = keep_string(ev, "origin", a),
                                .remake_workspace = node_get(ev->data, "remade"),
                                .remake_from = keep_string(ev, "from", a)};
    if (next.session)
        next.repair = find_repair(node_get_string(ev->data, "tree", ""));
    return next;
}

static void count_retry(struct task_evidence *t, const char *class)
{
    for (int f = 0; f < FAILURE_COUNT_; f++)
        t->retries_used[f] += strcmp(failure_names[f], class) == 0;
}

/* An event says how the next attempt begins. That attempt may have started. */
static void note_next_attempt(struct task_evidence *t, const struct event *ev, struct arena *a)
{
    const struct next_session next = decode_next_session(ev, a);
    const char *class = node_get_string(ev->data, "class", "");
    bool conflict =
        strcmp(class, failure_names[FAILURE_CONFLICT]) == 0 || next.repair == REPAIR_CONFLICT;
    t->in_conflict = t->in_conflict || (conflict && next.session);
    t->on_tip = t->on_tip || conflict;
    if (ev->attempt + 1 == t->attempts)
        t->resumed_session = next.session;
    if (ev->attempt != t->attempts)
        return;
    t->next = next;
    t->parked_until = 0;
    t->waits = true;
    t->has_message = ev->kind == EV_TASK_CONTINUED;
}

/* A task that waits for a limit uses a retry only if the reset is unknown. */
static void note_parked(struct task_evidence *t, const struct event *ev, struct arena *a)
{
    if (!node_get(ev->data, "reset"))
        count_retry(t, node_get_string(ev->data, "class", ""));
    note_next_attempt(t, ev, a);
    if (ev->attempt == t->attempts && ev->data)
        t->parked_until = ev->time + node_get_int(ev->data, "delay_ms", 0);
}

/* A switch to the fallback uses no retry. */
static void note_retried(struct task_evidence *t, const struct event *ev, struct arena *a)
{
    if (node_get(ev->data, "fresh")) { /* parts of its workspace may be left */
        t->restarted = ev->attempt == t->attempts;
        return;
    }
    if (!node_get(ev->data, "fallback"))
        count_retry(t, node_get_string(ev->data, "class", ""));
    note_next_attempt(t, ev, a);
}

/* A landed task works again because a person resumed its agent, or because the plan was edited. */
static void note_continued(struct task_evidence *t, const struct event *ev, struct arena *a)
{
    t->follows_landing = t->stands;
    note_next_attempt(t, ev, a);
}

static void note_message(struct task_evidence *t, const struct event *ev, struct arena *a)
{
    (void)a;
    t->has_message = ev->attempt == t->attempts;
}

static void note_commit(struct task_evidence *t, const struct event *ev, struct arena *a)
{
    t->last_commit = keep_string(ev, "commit", a);
}

/* Later attempts do not undo a landing. */
static void note_landing(struct task_evidence *t, const struct event *ev, struct arena *a)
{
    t->has_landed = true;
    t->stands = true;
    t->follows_landing = false;
    t->landed = keep_string(ev, "commit", a);
    if (!node_get(ev->data, "unchanged"))
        t->committed = t->last_commit;
}

static void note_conflict(struct task_evidence *t, const struct event *ev, struct arena *a)
{
    (void)ev, (void)a;
    t->on_tip = true;
}

static void note_failure(struct task_evidence *t, const struct event *ev, struct arena *a)
{
    t->follows_landing = false;
    t->unverified = keep_string(ev, "unverified", a);
}

/* An event may begin an attempt, which undoes a landing unless it follows that; or end the task,
 * which forgets an earlier intent to resume its agent; or end the conflict that its agent had to
 * resolve. */
static const struct {
    bool begins_attempt, ends_task, ends_conflict;
    void (*note)(struct task_evidence *t, const struct event *ev, struct arena *a);
} effects[EV_COUNT_] = {
    [EV_TASK_PREPARING] = {.begins_attempt = true, .ends_conflict = true},
    [EV_TASK_STARTED] = {.begins_attempt = true},
    [EV_TASK_PARKED] = {.note = note_parked},
    [EV_TASK_RETRIED] = {.note = note_retried},
    [EV_TASK_CONTINUED] = {.note = note_continued},
    [EV_TASK_SAID] = {.note = note_message},
    [EV_TASK_COMMITTED] = {.ends_conflict = true, .note = note_commit},
    [EV_TASK_LANDED] = {.ends_task = true, .ends_conflict = true, .note = note_landing},
    [EV_TASK_DONE] = {.ends_task = true, .ends_conflict = true},
    [EV_TASK_CONFLICTED] = {.ends_task = true, .ends_conflict = true, .note = note_conflict},
    [EV_TASK_FAILED] = {.ends_task = true, .ends_conflict = true, .note = note_failure},
};

bool task_evidence_reads(enum event_kind kind)
{
    return effects[kind].note;
}

static void end_task(struct task_evidence *t, const struct event *ev)
{
    memset(t->retries_used, 0, sizeof(t->retries_used));
    if (ev->attempt != t->attempts)
        return;
    t->next = (struct next_session){0};
    t->parked_until = 0;
    t->waits = t->has_message = t->restarted = false;
}

void task_evidence_add(struct task_evidence *t, const struct event *ev, struct arena *a)
{
    if (effects[ev->kind].ends_task)
        end_task(t, ev);
    if (effects[ev->kind].note)
        effects[ev->kind].note(t, ev, a);
    t->stands = t->stands && (t->follows_landing || !effects[ev->kind].begins_attempt);
    t->in_conflict = t->in_conflict && !effects[ev->kind].ends_conflict;
}
