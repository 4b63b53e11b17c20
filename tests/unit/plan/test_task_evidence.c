/* The evidence that a resume takes from the events of a task. */
#include "base/mem.h"
#include "base/node/node_build.h"
#include "doc/doc.h"
#include "plan/engine/rules/task_evidence.h"

#include <stddef.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

enum { EVENTS_MAX = 6, NOW = 1000 };

struct step {
    enum event_kind kind;
    int attempt;
    const char *data;
};

/* Everything that differs from a task without events, as words. */
static void describe(const struct task_evidence *t, struct buf *out)
{
    const struct {
        const char *name, *value;
    } texts[] = {{"session", t->next.session},    {"repair", repair_words[t->next.repair]},
                 {"origin", t->next.first_start}, {"from", t->next.remake_from},
                 {"resumed", t->resumed_session}, {"landed", t->landed},
                 {"committed", t->committed},     {"last", t->last_commit},
                 {"unverified", t->unverified}};
    const struct {
        const char *name;
        bool value;
    } flags[] = {{"remade", t->next.remake_workspace},
                 {"has_landed", t->has_landed},
                 {"stands", t->stands},
                 {"follows_landing", t->follows_landing},
                 {"in_conflict", t->in_conflict},
                 {"on_tip", t->on_tip},
                 {"message", t->has_message},
                 {"restarted", t->restarted}};
    if (t->waits)
        buf_addstr(out, "waits ");
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        if (texts[i].value)
            buf_addf(out, "%s=%s ", texts[i].name, texts[i].value);
    }
    for (size_t i = 0; i < ARRAY_LEN(flags); i++)
        buf_addf(out, "%s%s", flags[i].value ? flags[i].name : "", flags[i].value ? " " : "");
    for (int f = 0; f < FAILURE_COUNT_; f++) {
        if (t->retries_used[f])
            buf_addf(out, "%s:%d ", failure_names[f], t->retries_used[f]);
    }
    if (t->parked_until)
        buf_addf(out, "until:%d ", (int)t->parked_until);
    buf_cut(out, out->len - (out->len > 0));
}

static void apply(struct task_evidence *t, const struct step *s, struct arena *keep)
{
    struct arena a = {0};
    struct event ev = {.kind = s->kind, .attempt = s->attempt, .time = NOW};
    if (s->data) {
        assert_true(task_evidence_reads(s->kind));
        ev.data = doc_read_line(&a, s->data, strlen(s->data));
        assert_non_null(ev.data);
    }
    task_evidence_add(t, &ev, keep);
    arena_done(&a);
}

static const struct {
    const char *what;
    const char *expected;
    struct step events[EVENTS_MAX]; /* of a task with two attempts */
} cases[] = {
    {"other events",
     "",
     {{EV_TASK_READY, 1, NULL}, {EV_TASK_STARTED, 1, NULL}, {EV_TASK_EXITED, 2, NULL}}},

    {"parked until a known reset",
     "waits session=s until:1500",
     {{EV_TASK_PARKED, 2,
       "{\"class\":\"limit\",\"delay_ms\":500,\"reset\":\"at\",\"session\":\"s\"}"}}},
    {"parked without a known reset",
     "waits session=s limit:1 until:1500",
     {{EV_TASK_PARKED, 2, "{\"class\":\"limit\",\"delay_ms\":500,\"session\":\"s\"}"}}},
    {"parked without a session",
     "waits limit:1 until:1500",
     {{EV_TASK_PARKED, 2, "{\"class\":\"limit\",\"delay_ms\":500}"}}},
    {"parked with broken data", "waits", {{EV_TASK_PARKED, 2, NULL}}},
    {"parked, and the next attempt has begun",
     "resumed=s",
     {{EV_TASK_PARKED, 1,
       "{\"class\":\"limit\",\"delay_ms\":500,\"reset\":\"at\",\"session\":\"s\"}"}}},
    {"parked, then started again",
     "waits transient:1",
     {{EV_TASK_PARKED, 1, "{\"class\":\"limit\",\"delay_ms\":5,\"reset\":\"at\"}"},
      {EV_TASK_RETRIED, 2, "{\"class\":\"transient\",\"delay_ms\":5}"}}},

    {"retries of two classes",
     "waits transient:2 verify:1",
     {{EV_TASK_RETRIED, 1, "{\"class\":\"transient\",\"delay_ms\":5}"},
      {EV_TASK_RETRIED, 1, "{\"class\":\"verify\",\"delay_ms\":5}"},
      {EV_TASK_RETRIED, 2, "{\"class\":\"transient\",\"delay_ms\":5}"}}},
    {"the fallback uses no retry",
     "waits",
     {{EV_TASK_RETRIED, 2, "{\"class\":\"limit\",\"delay_ms\":0,\"fallback\":true}"}}},
    {"a class of a newer program",
     "waits",
     {{EV_TASK_RETRIED, 2, "{\"class\":\"new\",\"delay_ms\":0}"}}},
    {"a retry without data", "waits", {{EV_TASK_RETRIED, 2, NULL}}},
    {"a person restarted it",
     "restarted",
     {{EV_TASK_RETRIED, 2, "{\"fresh\":true,\"delay_ms\":0}"}}},
    {"a person restarted an earlier attempt",
     "",
     {{EV_TASK_RETRIED, 1, "{\"fresh\":true,\"delay_ms\":0}"}}},

    {"a repair of its own files",
     "waits session=s repair=own scope:1",
     {{EV_TASK_RETRIED, 2,
       "{\"class\":\"scope\",\"delay_ms\":0,\"session\":\"s\",\"tree\":\"own\"}"}}},
    {"a repair of the merged files",
     "waits session=s repair=merged origin=o verify:1",
     {{EV_TASK_RETRIED, 2,
       "{\"class\":\"verify\",\"session\":\"s\",\"tree\":\"merged\",\"origin\":\"o\"}"}}},
    {"a repair of a conflict",
     "waits session=s repair=conflict origin=o in_conflict on_tip conflict:1",
     {{EV_TASK_RETRIED, 2,
       "{\"class\":\"conflict\",\"session\":\"s\",\"tree\":\"conflict\",\"origin\":\"o\"}"}}},
    {"a repair without a session starts again",
     "waits on_tip conflict:1",
     {{EV_TASK_RETRIED, 2, "{\"class\":\"conflict\",\"tree\":\"conflict\"}"}}},
    {"an unknown kind of repair",
     "waits session=s verify:1",
     {{EV_TASK_RETRIED, 2, "{\"class\":\"verify\",\"session\":\"s\",\"tree\":\"new\"}"}}},
    {"an agent that resolves a conflict",
     "resumed=s in_conflict on_tip conflict:1",
     {{EV_TASK_RETRIED, 1, "{\"class\":\"conflict\",\"session\":\"s\",\"tree\":\"conflict\"}"},
      {EV_TASK_STARTED, 2, NULL}}},
    {"... committed",
     "resumed=s last=c on_tip conflict:1",
     {{EV_TASK_RETRIED, 1, "{\"class\":\"conflict\",\"session\":\"s\",\"tree\":\"conflict\"}"},
      {EV_TASK_COMMITTED, 2, "{\"commit\":\"c\"}"}}},
    {"... starts again",
     "resumed=s on_tip conflict:1",
     {{EV_TASK_RETRIED, 1, "{\"class\":\"conflict\",\"session\":\"s\",\"tree\":\"conflict\"}"},
      {EV_TASK_PREPARING, 2, NULL}}},
    {"... gave up",
     "resumed=s on_tip",
     {{EV_TASK_RETRIED, 1, "{\"class\":\"conflict\",\"session\":\"s\",\"tree\":\"conflict\"}"},
      {EV_TASK_CONFLICTED, 2, NULL}}},

    {"a person's message to an ended task",
     "waits session=s repair=own message",
     {{EV_TASK_CONTINUED, 2, "{\"text\":\"hi\",\"session\":\"s\",\"tree\":\"own\"}"}}},
    {"... whose workspace is gone",
     "waits session=s repair=own from=f remade message",
     {{EV_TASK_CONTINUED, 2,
       "{\"text\":\"hi\",\"session\":\"s\",\"tree\":\"own\",\"remade\":true,\"from\":\"f\"}"}}},
    {"... in a conflict",
     "waits session=s repair=conflict in_conflict on_tip message",
     {{EV_TASK_CONTINUED, 2, "{\"session\":\"s\",\"tree\":\"conflict\"}"}}},
    {"... and the next attempt has begun",
     "resumed=s",
     {{EV_TASK_CONTINUED, 1, "{\"session\":\"s\",\"tree\":\"own\"}"}}},
    {"a message to a working agent", "message", {{EV_TASK_SAID, 2, NULL}}},
    {"a message to an earlier attempt", "", {{EV_TASK_SAID, 1, NULL}}},
    {"two messages", "", {{EV_TASK_SAID, 2, NULL}, {EV_TASK_SAID, 1, NULL}}},
    {"a message, then a retry",
     "waits transient:1",
     {{EV_TASK_SAID, 2, NULL}, {EV_TASK_RETRIED, 2, "{\"class\":\"transient\"}"}}},

    {"it landed",
     "landed=l committed=c last=c has_landed stands",
     {{EV_TASK_COMMITTED, 2, "{\"commit\":\"c\"}"}, {EV_TASK_LANDED, 2, "{\"commit\":\"l\"}"}}},
    {"it landed again",
     "landed=m committed=d last=d has_landed stands",
     {{EV_TASK_COMMITTED, 1, "{\"commit\":\"c\"}"},
      {EV_TASK_LANDED, 1, "{\"commit\":\"l\"}"},
      {EV_TASK_COMMITTED, 2, "{\"commit\":\"d\"}"},
      {EV_TASK_LANDED, 2, "{\"commit\":\"m\"}"}}},
    {"it landed, and a message changed nothing",
     "landed=l committed=c last=d has_landed stands",
     {{EV_TASK_COMMITTED, 1, "{\"commit\":\"c\"}"},
      {EV_TASK_LANDED, 1, "{\"commit\":\"l\"}"},
      {EV_TASK_COMMITTED, 2, "{\"commit\":\"d\"}"},
      {EV_TASK_LANDED, 2, "{\"commit\":\"l\",\"unchanged\":true}"}}},
    {"it landed, and failed after a message",
     "resumed=s landed=l committed=c last=c has_landed stands",
     {{EV_TASK_COMMITTED, 1, "{\"commit\":\"c\"}"},
      {EV_TASK_LANDED, 1, "{\"commit\":\"l\"}"},
      {EV_TASK_CONTINUED, 1, "{\"session\":\"s\",\"tree\":\"own\"}"},
      {EV_TASK_FAILED, 2, "{\"class\":\"verify\"}"}}},

    {"... failed, and is landed as before",
     "resumed=s landed=l committed=c last=c has_landed stands",
     {{EV_TASK_COMMITTED, 1, "{\"commit\":\"c\"}"},
      {EV_TASK_LANDED, 1, "{\"commit\":\"l\"}"},
      {EV_TASK_CONTINUED, 1, "{\"session\":\"s\",\"tree\":\"own\"}"},
      {EV_TASK_STARTED, 2, NULL},
      {EV_TASK_FAILED, 2, "{\"class\":\"verify\",\"landed\":\"l\"}"},
      {EV_TASK_LANDED, 2, "{\"commit\":\"l\",\"unchanged\":true}"}}},
    {"a landed task works on because of a message",
     "resumed=s landed=l has_landed stands follows_landing",
     {{EV_TASK_LANDED, 1, "{\"commit\":\"l\"}"},
      {EV_TASK_CONTINUED, 1, "{\"session\":\"s\",\"tree\":\"own\"}"},
      {EV_TASK_PREPARING, 2, NULL},
      {EV_TASK_STARTED, 2, NULL}}},
    {"... in a later attempt too",
     "resumed=s landed=l last=d has_landed stands follows_landing transient:1",
     {{EV_TASK_LANDED, 1, "{\"commit\":\"l\"}"},
      {EV_TASK_CONTINUED, 1, "{\"session\":\"s\",\"tree\":\"own\"}"},
      {EV_TASK_STARTED, 1, NULL},
      {EV_TASK_RETRIED, 1, "{\"class\":\"transient\",\"session\":\"s\"}"},
      {EV_TASK_STARTED, 2, NULL},
      {EV_TASK_COMMITTED, 2, "{\"commit\":\"d\"}"}}},
    {"... and conflicts",
     "resumed=s landed=l last=d has_landed stands follows_landing on_tip",
     {{EV_TASK_LANDED, 1, "{\"commit\":\"l\"}"},
      {EV_TASK_CONTINUED, 1, "{\"session\":\"s\",\"tree\":\"own\"}"},
      {EV_TASK_STARTED, 2, NULL},
      {EV_TASK_COMMITTED, 2, "{\"commit\":\"d\"}"},
      {EV_TASK_CONFLICTED, 2, NULL}}},
    {"... and lands that",
     "resumed=s landed=m committed=d last=d has_landed stands",
     {{EV_TASK_LANDED, 1, "{\"commit\":\"l\"}"},
      {EV_TASK_CONTINUED, 1, "{\"session\":\"s\",\"tree\":\"own\"}"},
      {EV_TASK_STARTED, 2, NULL},
      {EV_TASK_COMMITTED, 2, "{\"commit\":\"d\"}"},
      {EV_TASK_LANDED, 2, "{\"commit\":\"m\"}"}}},
    {"a landed task runs again because the plan was edited",
     "landed=l has_landed",
     {{EV_TASK_LANDED, 1, "{\"commit\":\"l\"}"}, {EV_TASK_PREPARING, 2, NULL}}},
    {"... without a workspace",
     "landed=l has_landed",
     {{EV_TASK_LANDED, 1, "{\"commit\":\"l\"}"}, {EV_TASK_STARTED, 2, NULL}}},
    {"... fails, and gets a message",
     "waits session=s repair=own landed=l has_landed message",
     {{EV_TASK_LANDED, 1, "{\"commit\":\"l\"}"},
      {EV_TASK_STARTED, 2, NULL},
      {EV_TASK_FAILED, 2, "{\"class\":\"transient\"}"},
      {EV_TASK_CONTINUED, 2, "{\"session\":\"s\",\"tree\":\"own\"}"}}},
    {"a message to a task that has not landed",
     "waits session=s repair=own message",
     {{EV_TASK_FAILED, 2, "{\"class\":\"transient\"}"},
      {EV_TASK_CONTINUED, 2, "{\"session\":\"s\",\"tree\":\"own\"}"}}},

    {"its verification could not start",
     "last=c unverified=c",
     {{EV_TASK_COMMITTED, 2, "{\"commit\":\"c\"}"},
      {EV_TASK_FAILED, 2, "{\"class\":\"verify\",\"unverified\":\"c\"}"}}},
    {"... and then it failed otherwise",
     "",
     {{EV_TASK_FAILED, 1, "{\"class\":\"verify\",\"unverified\":\"c\"}"},
      {EV_TASK_FAILED, 2, "{\"class\":\"timeout\"}"}}},
    {"a failure forgets all intents",
     "on_tip",
     {{EV_TASK_RETRIED, 1, "{\"class\":\"transient\"}"},
      {EV_TASK_CONTINUED, 2,
       "{\"session\":\"s\",\"tree\":\"conflict\",\"remade\":true,\"from\":\"f\"}"},
      {EV_TASK_FAILED, 2, NULL}}},
    {"... also the wait for a limit",
     "",
     {{EV_TASK_PARKED, 2, "{\"class\":\"limit\",\"delay_ms\":500,\"session\":\"s\"}"},
      {EV_TASK_FAILED, 2, NULL}}},
    {"... also a restart",
     "",
     {{EV_TASK_RETRIED, 2, "{\"fresh\":true}"}, {EV_TASK_FAILED, 2, NULL}}},
    {"the failure of an earlier attempt forgets only its retries",
     "waits session=s repair=own",
     {{EV_TASK_RETRIED, 2, "{\"class\":\"scope\",\"session\":\"s\",\"tree\":\"own\"}"},
      {EV_TASK_FAILED, 1, NULL}}},
};

static void each_event_is_added(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct task_evidence t = {.attempts = 2};
        struct arena keep = {0};
        autobuf struct buf got = BUF_INIT;
        for (size_t k = 0; k < EVENTS_MAX && cases[i].events[k].kind; k++)
            apply(&t, &cases[i].events[k], &keep);
        describe(&t, &got);
        if (strcmp(got.s, cases[i].expected) != 0)
            fail_msg("%s: '%s'", cases[i].what, got.s);
        arena_done(&keep);
    }
}

static void a_session_is_read_as_it_was_written(void **state)
{
    static const struct next_session sessions[] = {
        {.session = "s"},
        {.session = "s", .repair = REPAIR_OWN},
        {.session = "s", .repair = REPAIR_MERGED, .first_start = "o"},
        {.session = "s", .repair = REPAIR_CONFLICT, .remake_workspace = true},
        {"s", REPAIR_OWN, "o", true, "f"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(sessions); i++) {
        struct arena a = {0};
        struct node *data = node_new_map(&a);
        struct task_evidence got = {.attempts = 1}, expected = {.attempts = 1};
        struct event ev = {.kind = EV_TASK_CONTINUED, .attempt = 1, .data = data};
        autobuf struct buf is = BUF_INIT, was = BUF_INIT;
        next_session_encode(&sessions[i], &a, data);
        task_evidence_add(&got, &ev, &a);
        expected.next = sessions[i];
        got.waits = got.has_message = got.in_conflict = got.on_tip = false;
        describe(&got, &is);
        describe(&expected, &was);
        assert_string_equal(is.s, was.s);
        arena_done(&a);
    }
}

static void kinds_are_found_by_name(void **state)
{
    (void)state;
    for (int kind = 0; kind < EV_COUNT_; kind++)
        assert_int_equal(event_find(event_name((enum event_kind)kind)), kind);
    assert_int_equal(event_find("task.new"), EV_COUNT_);
    assert_false(task_evidence_reads(EV_TASK_ACTION));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_event_is_added),
        cmocka_unit_test(a_session_is_read_as_it_was_written),
        cmocka_unit_test(kinds_are_found_by_name),
    };
    return cmocka_run_group_tests_name("task_evidence", tests, NULL, NULL);
}
