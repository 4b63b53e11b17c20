#include "engine_words.h"

#include "base/buf.h"
#include "base/mem.h"
#include "plan/failure.h"

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

bool engine_skip_word(char **at, const char *word)
{
    size_t len = strlen(word);
    if (strncmp(*at, word, len) != 0 || ((*at)[len] && (*at)[len] != ' '))
        return false;
    *at += len + strspn(*at + len, " ");
    return true;
}

static bool skip_number(char **at, int64_t *ret)
{
    char *end;
    int64_t n = strtoll(*at, &end, 10);
    if (end == *at)
        return false;
    *ret = n;
    *at = end + strspn(end, " ");
    return true;
}

static int64_t read_number(const struct engine_fixture *f, char **at)
{
    int64_t n = 0;
    if (!skip_number(at, &n))
        fail_msg("%s: no number: %s", f->what, *at);
    return n;
}

static bool skip_failure(char **at, enum failure *ret)
{
    for (int i = 0; i < FAILURE_COUNT_; i++) {
        if (engine_skip_word(at, failure_names[i])) {
            *ret = (enum failure)i;
            return true;
        }
    }
    return false;
}

/* The plan: tasks with their words, and the run's words at the end. */

static int read_policy(const struct engine_fixture *f, char **at)
{
    if (engine_skip_word(at, "stop"))
        return RETRY_STOP;
    return engine_skip_word(at, "repair") ? RETRY_REPAIR : (int)read_number(f, at);
}

static void parse_task_word(struct engine_fixture *f, struct task *t, char **at)
{
    enum failure failure;
    if (engine_skip_word(at, "after"))
        t->deps[t->dep_count++] = (uint32_t)read_number(f, at);
    else if (engine_skip_word(at, "order"))
        t->order = read_number(f, at);
    else if (engine_skip_word(at, "tokens"))
        t->budget.tokens = read_number(f, at);
    else if (engine_skip_word(at, "fallback"))
        f->has_fallback[t->index] = true;
    else if (skip_failure(at, &failure))
        t->retry.times[failure] = read_policy(f, at);
    else
        fail_msg("%s: no word of a task: %s", f->what, *at);
}

static void parse_task(struct engine_fixture *f, char *at)
{
    static const char *const ids[ENGINE_TASKS_MAX] = {"0", "1", "2", "3"};
    uint32_t index = (uint32_t)f->plan.task_count++;
    struct task *t = &f->tasks[index];
    assert_int_equal(read_number(f, &at), index);
    *t = (struct task){.index = index,
                       .id = ids[index],
                       .deps = f->deps[index],
                       .order = INT64_MIN,
                       .estimate = PLAN_UNSET,
                       .budget = {.usd = PLAN_UNSET, .tokens = PLAN_UNSET}};
    for (int i = 0; i < FAILURE_COUNT_; i++)
        t->retry.times[i] = PLAN_UNSET;
    while (*at)
        parse_task_word(f, t, &at);
}

static void parse_run(struct engine_fixture *f, char *at)
{
    while (*at) {
        if (engine_skip_word(&at, "tokens"))
            f->plan.budget.tokens = read_number(f, &at);
        else if (engine_skip_word(&at, "workers"))
            f->workers = (size_t)read_number(f, &at);
        else if (engine_skip_word(&at, "at-end"))
            f->plan.land_at = LAND_AT_END;
        else if (engine_skip_word(&at, "no-wait"))
            f->no_wait = true;
        else
            fail_msg("%s: no word of a run: %s", f->what, at);
    }
}

static void parse_plan(struct engine_fixture *f, const char *text)
{
    char *copy = mem_str(text), *rest = NULL;
    f->plan = (struct plan){.tasks = f->tasks,
                            .overlap = OVERLAP_ALLOW,
                            .land_at = LAND_AT_EACH,
                            .budget = {.usd = PLAN_UNSET, .tokens = PLAN_UNSET}};
    f->workers = ENGINE_TASKS_MAX;
    for (char *at = strtok_r(copy, "|", &rest); at; at = strtok_r(NULL, "|", &rest)) {
        at += strspn(at, " ");
        if (engine_skip_word(&at, "run"))
            parse_run(f, at);
        else
            parse_task(f, at);
    }
    free(copy);
}

void engine_fixture_build(struct engine_fixture *f, const char *plan)
{
    parse_plan(f, plan);
    problems_init(&f->ps, "plan");
    assert_int_equal(graph_init(&f->graph, &f->plan, &f->ps), 0);
    engine_init(&f->engine, &f->plan, f->no_wait);
    engine_schedule(&f->engine, &f->graph, &f->claims, f->workers, NULL);
    engine_make_lanes(&f->engine, ENGINE_LANES);
    for (uint32_t t = 0; t < f->plan.task_count; t++)
        engine_set_lanes(&f->engine, t, 0, f->has_fallback[t] ? 1 : -1);
}

void engine_fixture_drop(struct engine_fixture *f)
{
    engine_done(&f->engine);
    graph_done(&f->graph);
    problems_done(&f->ps);
}

/* Actions as text. */

static const char *const starts[] = {"new", "landing", "resumed", "restored"};
static const char *const overruns[] = {"none", "task", "run"};

static void add_flag(struct buf *out, bool on, const char *word)
{
    if (on)
        buf_addf(out, " %s", word);
}

static void add_outcome(struct buf *out, const struct failure_outcome *o)
{
    buf_addf(out, " %s", outcome_words[o->kind]);
    add_flag(out, o->repair, repair_words[o->repair]);
    buf_addf(out, " %s", workspace_end_words[o->workspace]);
    if (o->delay_ms)
        buf_addf(out, " in %lld", (long long)o->delay_ms);
    add_flag(out, o->at_tip, "at-tip");
    add_flag(out, o->drains, "drains");
}

static const struct {
    const char *words;
    bool names_task; /* or the run */
} action_words[ACTION_COUNT_] = {
    [DO_LAND] = {"land", true},
    [DO_ABANDON] = {"abandon", true},
    [DO_START] = {"start", true},
    [DO_PUBLISH] = {"publish"},
    [DO_PUBLISH_LATER] = {"publish later"},
    [DO_PUBLISH_LAST] = {"publish last"},
    [DO_EMPTY_POOL] = {"empty pool"},
    [DO_FINISH] = {"finish"},
    [DO_CLOSE] = {"close"},
    [DO_WAKE] = {"wake"},
    [DO_STOP_AGENTS] = {"stop agents"},
    [DO_KILL_AGENTS] = {"kill agents"},
    [DO_GIVE_UP] = {"give up"},
    [DO_REPORT_CLOSED] = {"closed by", true},
    [DO_REPORT_OPEN] = {"opened by", true},
    [DO_WAKE_LANE] = {"wake lane"},
    [DO_RECORD_USAGE] = {"record", true},
    [DO_WARN_BUDGET] = {"warn", true},
    [DO_REPORT_BUDGET] = {"used up", true},
    [DO_NOTE_OVERRUN] = {"overrun", true},
    [DO_STOP_AGENT] = {"stop agent", true},
    [DO_STOP_FOR_RUN] = {"stop for run"},
    [DO_RUN_AGENT] = {"run agent", true},
    [DO_COMMIT] = {"commit", true},
    [DO_END_UNLANDED] = {"end unlanded", true},
    [DO_FAIL_CONFLICT] = {"fail conflict", true},
    [DO_LEAVE_CONFLICT] = {"leave conflict", true},
    [DO_SAVE] = {"save", true},
    [DO_END_ATTEMPT] = {"end", true},
    [DO_TAKE_BACK] = {"take back", true},
    [DO_SKIP] = {"skip", true},
    [DO_UNSKIP] = {"unskip", true},
    [DO_REFUSE] = {"refuse", true},
};

const char *engine_action_words(enum action_kind kind)
{
    return action_words[kind].words;
}

static void add_details(struct buf *out, const struct action *a)
{
    switch ((int)a->kind) {
    case DO_LAND:
        add_flag(out, a->yes, "verified");
        break;
    case DO_START:
        buf_addf(out, " %s", starts[a->start]);
        break;
    case DO_PUBLISH:
        buf_addstr(out, a->yes ? " base" : " record");
        break;
    case DO_STOP_AGENTS:
        add_flag(out, a->yes, "by person");
        break;
    case DO_PUBLISH_LATER:
        buf_addf(out, " in %lld", (long long)a->ms);
        break;
    case DO_WAKE_LANE:
        buf_addf(out, " %d in %lld", (int)a->lane, (long long)a->ms);
        break;
    case DO_REPORT_CLOSED:
        buf_addf(out, " lane %d reset %lld", (int)a->lane, (long long)a->reset);
        break;
    case DO_REPORT_OPEN:
        buf_addf(out, " lane %d", (int)a->lane);
        break;
    case DO_NOTE_OVERRUN:
        buf_addf(out, " %s", overruns[a->overrun]);
        break;
    case DO_FAIL_CONFLICT:
        add_flag(out, a->yes, "and tell");
        break;
    case DO_END_ATTEMPT:
        add_outcome(out, &a->outcome);
        break;
    default:
        break;
    }
}

static void add_action(struct buf *out, const struct action *a)
{
    buf_addf(out, "%s%s", out->len ? ", " : "", action_words[a->kind].words);
    if (action_words[a->kind].names_task && a->task >= 0)
        buf_addf(out, " %d", (int)a->task);
    else if (action_words[a->kind].names_task)
        buf_addstr(out, " run");
    add_details(out, a);
}

/* The words of an event set members of it. A number that comes first is its task. */

enum member_type { FLAG, NO_FLAG, INT, INT64, SESSION };

#define MEMBER(name) offsetof(struct engine_event, name)

static const struct {
    enum engine_event_kind kind; /* ENGINE_EVENT_COUNT_: any */
    const char *word;
    enum member_type type;
    size_t at;
} event_words[] = {
    {ENGINE_EVENT_COUNT_, "now", INT64, MEMBER(now)},
    {ENGINE_COMPARED, "yes", FLAG, MEMBER(yes)},
    {ENGINE_SESSION_KEPT, "yes", FLAG, MEMBER(yes)},
    {ENGINE_RESTARTED_FRESH, "yes", FLAG, MEMBER(yes)},
    {ENGINE_FOLLOW_UP_BEGAN, "yes", FLAG, MEMBER(yes)},
    {ENGINE_PUBLISH_DUE, "index", INT64, MEMBER(index_bytes)},
    {ENGINE_TURN_ENDED, "base", FLAG, MEMBER(facts.has_base)},
    {ENGINE_TURN_ENDED, "pool", FLAG, MEMBER(facts.pool_filled)},
    {ENGINE_TURN_ENDED, "observers", FLAG, MEMBER(facts.observers_busy)},
    {ENGINE_PUBLISHED_LAST, "base", FLAG, MEMBER(facts.has_base)},
    {ENGINE_LIMIT_SEEN, "reset", INT64, MEMBER(reset)},
    {ENGINE_LIMIT_RECALLED, "reset", INT64, MEMBER(reset)},
    {ENGINE_LIMIT_MET, "reset", INT64, MEMBER(limit.reset)},
    {ENGINE_LIMIT_MET, "session", SESSION, MEMBER(limit.session)},
    {ENGINE_USED, "tokens", INT64, MEMBER(usage.spent.in)},
    {ENGINE_USED, "ended", NO_FLAG, MEMBER(usage.works)},
    {ENGINE_USED, "finished", FLAG, MEMBER(usage.finished)},
    {ENGINE_USED, "stopped", FLAG, MEMBER(usage.stopped)},
    {ENGINE_USED, "overran", FLAG, MEMBER(usage.overran)},
    {ENGINE_BUDGET_RAISED, "tokens", INT64, MEMBER(budget.tokens)},
    {ENGINE_ATTEMPT_FAILED, "by-user", FLAG, MEMBER(failure.by_user)},
    {ENGINE_ATTEMPT_FAILED, "kept", FLAG, MEMBER(failure.keeps_workspaces)},
    {ENGINE_ATTEMPT_FAILED, "bare", NO_FLAG, MEMBER(failure.has_workspace)},
    {ENGINE_ATTEMPT_FAILED, "unsaved", NO_FLAG, MEMBER(failure.saved)},
    {ENGINE_ATTEMPT_FAILED, "candidate", FLAG, MEMBER(failure.has_candidate)},
    {ENGINE_ATTEMPT_FAILED, "feedback", FLAG, MEMBER(failure.has_feedback)},
    {ENGINE_ATTEMPT_FAILED, "session", SESSION, MEMBER(failure.session)},
    {ENGINE_SESSION_RESUMED, "remade", FLAG, MEMBER(next.remade)},
    {ENGINE_SESSION_RESUMED, "parked", FLAG, MEMBER(next.parked)},
    {ENGINE_SESSION_RESUMED, "message", FLAG, MEMBER(next.has_message)},
    {ENGINE_FOUND, "tokens", INT64, MEMBER(found.tokens_in)},
    {ENGINE_FOUND, "transient-retries", INT, MEMBER(found.retries_used[FAILURE_TRANSIENT])},
    {ENGINE_FOUND, "at-tip", FLAG, MEMBER(found.start_at_tip)},
    {ENGINE_FOUND, "in-conflict", FLAG, MEMBER(found.in_conflict)},
    {ENGINE_FOUND, "follows-landing", FLAG, MEMBER(found.follows_landing)},
    {ENGINE_FOUND, "follow-up-failed", FLAG, MEMBER(found.follow_up_failed)},
};

static void set_member(const struct engine_fixture *f, void *member, enum member_type type,
                       char **at)
{
    static const struct session_facts resumable = {true, true, true, false};
    switch (type) {
    case FLAG:
    case NO_FLAG:
        *(bool *)member = type == FLAG;
        break;
    case INT:
        *(int *)member = (int)read_number(f, at);
        break;
    case INT64:
        *(int64_t *)member = read_number(f, at);
        break;
    case SESSION:
        *(struct session_facts *)member = resumable;
        break;
    }
}

static bool parse_member(const struct engine_fixture *f, struct engine_event *ev, char **at)
{
    for (size_t i = 0; i < ARRAY_LEN(event_words); i++) {
        bool fits = event_words[i].kind == ev->kind || event_words[i].kind == ENGINE_EVENT_COUNT_;
        if (!fits || !engine_skip_word(at, event_words[i].word))
            continue;
        set_member(f, (char *)ev + event_words[i].at, event_words[i].type, at);
        return true;
    }
    return false;
}

static bool parse_state(enum task_state *ret, char **at)
{
    for (int s = 0; s < TASK_STATE_COUNT_; s++) {
        if (engine_skip_word(at, task_state_name((enum task_state)s))) {
            *ret = (enum task_state)s;
            return true;
        }
    }
    return false;
}

static bool parse_repair(enum repair *ret, char **at)
{
    for (int r = REPAIR_OWN; r < REPAIR_COUNT_; r++) {
        if (engine_skip_word(at, repair_words[r])) {
            *ret = (enum repair)r;
            return true;
        }
    }
    return false;
}

static void parse_event_word(const struct engine_fixture *f, struct engine_event *ev, char **at)
{
    if (parse_member(f, ev, at) ||
        (ev->kind == ENGINE_ATTEMPT_FAILED && skip_failure(at, &ev->failure.failure)) ||
        (ev->kind == ENGINE_SESSION_RESUMED && parse_repair(&ev->next.repair, at)) ||
        (ev->kind == ENGINE_FOUND && parse_state(&ev->found.state, at)))
        return;
    fail_msg("%s: no word of '%s': %s", f->what, engine_event_name(ev->kind), *at);
}

/* Members that most events of a kind have. */
static void set_usual(const struct engine_fixture *f, struct engine_event *ev)
{
    if (ev->kind == ENGINE_USED)
        ev->usage = (struct budget_report){.spent = {.usd = -1}, .works = true};
    else if (ev->kind == ENGINE_BUDGET_RAISED)
        ev->budget = (struct budget){.usd = -1, .tokens = -1};
    else if (ev->kind == ENGINE_ATTEMPT_FAILED)
        ev->failure = (struct failure_facts){.has_workspace = true, .saved = true};
    else if (ev->kind == ENGINE_FOUND)
        ev->found.usd = -1;
    else if (ev->kind == ENGINE_FAILURE_CARRIED_OUT)
        ev->outcome = f->outcome, ev->class = f->failure;
}

static void parse_number(struct engine_event *ev, int64_t n)
{
    if (ev->kind == ENGINE_WORKERS_SET)
        ev->workers = (size_t)n;
    else if (ev->kind == ENGINE_LANE_DUE)
        ev->lane = (int32_t)n;
    else
        ev->task = n;
}

/* The length of the event's name if the step begins with it, or 0. A step has blanks in a name that
 * has hyphens. */
static size_t match_name(const char *step, int kind)
{
    const char *name = engine_event_name((enum engine_event_kind)kind);
    size_t n = 0;
    while (name[n] && (step[n] == name[n] || (name[n] == '-' && step[n] == ' ')))
        n++;
    return name[n] || !strchr(" ", step[n]) ? 0 : n;
}

/* The event with the longest name that fits. */
static int find_event(const char *step)
{
    int found = ENGINE_EVENT_COUNT_;
    size_t longest = 0;
    for (int i = 0; i < ENGINE_EVENT_COUNT_; i++) {
        size_t len = match_name(step, i);
        if (len > longest)
            longest = len, found = i;
    }
    return found;
}

/* Parses "EVENT [TASK] WORD...". Returns false if no event has this name. */
static bool parse_event(const struct engine_fixture *f, char *at, struct engine_event *ret)
{
    int64_t number;
    int kind = find_event(at);
    if (kind == ENGINE_EVENT_COUNT_)
        return false;
    *ret = (struct engine_event){
        .kind = (enum engine_event_kind)kind, .task = -1, .random = RETRY_MIDDLE};
    set_usual(f, ret);
    at += match_name(at, kind);
    at += strspn(at, " ");
    if (skip_number(&at, &number))
        parse_number(ret, number);
    while (*at)
        parse_event_word(f, ret, &at);
    return true;
}

/* The shell hands the answers on: from the limit to the failure, and from there to its outcome. */
static void pass_on(struct engine_fixture *f, const struct engine_event *ev, const struct action *a)
{
    if (a->kind != DO_END_ATTEMPT)
        return;
    f->outcome = a->outcome;
    f->at_limit = ev->kind == ENGINE_LIMIT_MET ? a->outcome : (struct failure_outcome){0};
}

static void report_event(struct engine_fixture *f, struct engine_event *ev, struct buf *ret)
{
    struct actions actions = {0};
    if (ev->kind == ENGINE_ATTEMPT_FAILED) {
        f->failure = ev->failure.failure;
        ev->failure.at_limit = f->at_limit;
    }
    engine_event(&f->engine, ev, &actions);
    f->counts->events[ev->kind]++;
    for (size_t i = 0; i < actions.list.n; i++) {
        f->counts->actions[actions.list.v[i].kind]++;
        add_action(ret, &actions.list.v[i]);
        pass_on(f, ev, &actions.list.v[i]);
    }
    vec_done(&actions.list);
}

/* "task 0" and "run" show the state and the members that are set. */

static void show_task(const struct engine_fixture *f, int64_t task, struct buf *ret)
{
    const struct engine_task *t = &f->engine.tasks[task];
    int used = 0;
    for (int i = 0; i < FAILURE_COUNT_; i++)
        used += t->retries_used[i];
    buf_addstr(ret, task_state_name(t->state));
    if (used)
        buf_addf(ret, " retries %d", used);
    if (t->repair)
        buf_addf(ret, " repair %s", repair_words[t->repair]);
    add_flag(ret, t->reverts, "reverts");
    add_flag(ret, t->parked, "parked");
    add_flag(ret, t->in_conflict, "in-conflict");
    add_flag(ret, t->has_message, "message");
    add_flag(ret, t->start_at_tip, "at-tip");
    add_flag(ret, t->follows_landing, "follows-landing");
    add_flag(ret, t->follow_up_failed, "follow-up-failed");
}

static void show_run(const struct engine_fixture *f, struct buf *ret)
{
    static const char *const phases[] = {"working", "publishing", "over", "finishing", "closed"};
    const struct engine *e = &f->engine;
    buf_addf(ret, "%s attempts %zu left %zu tip %llu", phases[e->phase], e->attempts, e->sched.left,
             (unsigned long long)e->tip);
    add_flag(ret, e->publishing, "publishes");
    add_flag(ret, e->draining, "draining");
    add_flag(ret, e->stopping, "stopping");
    add_flag(ret, e->failed, "failed");
    add_flag(ret, e->paused, "paused");
}

static void answer_step(struct engine_fixture *f, char *step, struct buf *ret)
{
    struct engine_event ev;
    char *at = step;
    if (parse_event(f, step, &ev))
        report_event(f, &ev, ret);
    else if (engine_skip_word(&at, "task"))
        show_task(f, read_number(f, &at), ret);
    else if (engine_skip_word(&at, "run"))
        show_run(f, ret);
    else
        fail_msg("%s: no event: %s", f->what, step);
}

void engine_fixture_carry_out(struct engine_fixture *f, char *step)
{
    autobuf struct buf got = BUF_INIT;
    char *equals = strstr(step, " = ");
    const char *expected = equals ? equals + strlen(" = ") : "";
    if (equals)
        *equals = '\0';
    answer_step(f, step, &got);
    if (strcmp(got.s, expected) != 0)
        fail_msg("%s: %s = %s, not '%s'", f->what, step, got.s, expected);
}
