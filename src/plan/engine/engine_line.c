#include "plan/engine/engine_line.h"

#include "plan/engine/engine_private.h"
#include "plan/failure.h"

#include <stdlib.h>
#include <string.h>

enum member_type {
    TASK,
    TASK_OR_RUN,
    NUMBER, /* int64_t */
    NUMBER32,
    RANDOM,
    COUNT,
    FLAG,
    REAL,
    WORD,
    RETRIES, /* retries_used */
};

/* The words of an enum, by value; NULL behind the last one. */
typedef const char *word_fn(unsigned value);

static const char *get_failure(unsigned value)
{
    return failure_names[value];
}

static const char *get_outcome(unsigned value)
{
    return outcome_words[value];
}

static const char *get_workspace_end(unsigned value)
{
    return workspace_end_words[value];
}

static const char *get_repair(unsigned value)
{
    return value == REPAIR_NONE ? "none" : value < REPAIR_COUNT_ ? repair_words[value] : NULL;
}

static const char *get_state(unsigned value)
{
    return value < TASK_STATE_COUNT_ ? task_state_name((enum task_state)value) : NULL;
}

struct member {
    const char *name;
    enum member_type type;
    size_t at;
    word_fn *get_word;
};

#define AT(member) offsetof(struct engine_event, member)

#define SESSION_ROWS(session)                                                                      \
    {"engine-resumes", FLAG, AT(session.engine_resumes)},                                          \
        {"session-known", FLAG, AT(session.is_known)},                                             \
        {"session-workspace", FLAG, AT(session.has_workspace)},                                    \
    {                                                                                              \
        "tampered", FLAG, AT(session.tampered)                                                     \
    }

static const struct member of_task[] = {{"task", TASK, AT(task)}};
static const struct member of_task_or_run[] = {{"task", TASK_OR_RUN, AT(task)}};
static const struct member with_now[] = {{"now", NUMBER, AT(now)}};
static const struct member with_random[] = {{"random", RANDOM, AT(random)}};
static const struct member with_yes[] = {{"yes", FLAG, AT(yes)}};
static const struct member with_workers[] = {{"workers", COUNT, AT(workers)}};
static const struct member with_lane[] = {{"lane", NUMBER32, AT(lane)}};
static const struct member with_index[] = {{"index-bytes", NUMBER, AT(index_bytes)}};
static const struct member with_reset[] = {{"reset", NUMBER, AT(reset)}};

static const struct member with_facts[] = {
    {"base", FLAG, AT(facts.has_base)},
    {"pool", FLAG, AT(facts.pool_filled)},
    {"observers", FLAG, AT(facts.observers_busy)},
};

static const struct member with_usage[] = {
    {"in", NUMBER, AT(usage.spent.in)},
    {"out", NUMBER, AT(usage.spent.out)},
    {"cache-read", NUMBER, AT(usage.spent.cache_read)},
    {"cache-made", NUMBER, AT(usage.spent.cache_made)},
    {"usd", REAL, AT(usage.spent.usd)},
    {"works", FLAG, AT(usage.works)},
    {"finished", FLAG, AT(usage.finished)},
    {"stopped", FLAG, AT(usage.stopped)},
    {"overran", FLAG, AT(usage.overran)},
};

static const struct member with_budget[] = {
    {"usd", REAL, AT(budget.usd)},
    {"tokens", NUMBER, AT(budget.tokens)},
};

/* The engine itself knows `has_fallback`, and sets `now`. */
static const struct member with_limit[] = {
    {"reset", NUMBER, AT(limit.reset)},
    SESSION_ROWS(limit.session),
};

/* The engine itself knows `run_ends` and `in_conflict`, and sets `drains`. */
static const struct member with_failure[] = {
    {"failure", WORD, AT(failure.failure), get_failure},
    {"by-user", FLAG, AT(failure.by_user)},
    {"keeps-workspaces", FLAG, AT(failure.keeps_workspaces)},
    {"workspace", FLAG, AT(failure.has_workspace)},
    {"saved", FLAG, AT(failure.saved)},
    {"verification-broken", FLAG, AT(failure.verification_broken)},
    {"candidate", FLAG, AT(failure.has_candidate)},
    {"feedback", FLAG, AT(failure.has_feedback)},
    SESSION_ROWS(failure.session),
    {"at-limit", WORD, AT(failure.at_limit.kind), get_outcome},
    {"limit-repair", WORD, AT(failure.at_limit.repair), get_repair},
    {"limit-workspace", WORD, AT(failure.at_limit.workspace), get_workspace_end},
    {"limit-delay", NUMBER, AT(failure.at_limit.delay_ms)},
    {"limit-reset", NUMBER, AT(failure.at_limit.resets_at)},
    {"closes-lane", FLAG, AT(failure.at_limit.closes_lane)},
    {"uses-retry", FLAG, AT(failure.at_limit.uses_retry)},
    {"at-tip", FLAG, AT(failure.at_limit.at_tip)},
};

/* The shell has carried out the rest of the outcome. */
static const struct member with_outcome[] = {
    {"repair", WORD, AT(outcome.repair), get_repair},
    {"at-tip", FLAG, AT(outcome.at_tip)},
    {"uses-retry", FLAG, AT(outcome.uses_retry)},
    {"failure", WORD, AT(class), get_failure},
};

static const struct member with_next[] = {
    {"repair", WORD, AT(next.repair), get_repair},
    {"remade", FLAG, AT(next.remade)},
    {"parked", FLAG, AT(next.parked)},
    {"message", FLAG, AT(next.has_message)},
};

static const struct member with_found[] = {
    {"state", WORD, AT(found.state), get_state},
    {"in", NUMBER, AT(found.tokens_in)},
    {"out", NUMBER, AT(found.tokens_out)},
    {"usd", REAL, AT(found.usd)},
    {"retries", RETRIES, AT(found.retries_used)},
    {"at-tip", FLAG, AT(found.start_at_tip)},
    {"in-conflict", FLAG, AT(found.in_conflict)},
    {"follows-landing", FLAG, AT(found.follows_landing)},
    {"follow-up-failed", FLAG, AT(found.follow_up_failed)},
};

#define PART(part, members)                                                                        \
    {                                                                                              \
        part, members, ARRAY_LEN(members)                                                          \
    }

static const struct {
    enum event_parts part;
    const struct member *members;
    size_t n;
} parts[] = {
    PART(OF_TASK, of_task),           PART(OF_TASK_OR_RUN, of_task_or_run),
    PART(WITH_NOW, with_now),         PART(WITH_RANDOM, with_random),
    PART(WITH_YES, with_yes),         PART(WITH_WORKERS, with_workers),
    PART(WITH_LANE, with_lane),       PART(WITH_INDEX, with_index),
    PART(WITH_RESET, with_reset),     PART(WITH_FACTS, with_facts),
    PART(WITH_USAGE, with_usage),     PART(WITH_BUDGET, with_budget),
    PART(WITH_LIMIT, with_limit),     PART(WITH_FAILURE, with_failure),
    PART(WITH_OUTCOME, with_outcome), PART(WITH_NEXT, with_next),
    PART(WITH_FOUND, with_found),
};

/* The digits, without the sign. */
static void add_digits(struct buf *out, uint64_t n, bool negative)
{
    char text[24], *at = text + sizeof(text);
    do
        *--at = (char)('0' + n % 10);
    while (n /= 10);
    if (negative)
        *--at = '-';
    buf_add(out, at, (size_t)(text + sizeof(text) - at));
}

void engine_line_add_number(struct buf *out, int64_t n)
{
    add_digits(out, n < 0 ? -(uint64_t)n : (uint64_t)n, n < 0);
}

/* Tells -0 from 0, and finds that "not a number" is the same. */
static uint64_t get_bits(double n)
{
    uint64_t bits;
    memcpy(&bits, &n, sizeof(bits));
    return bits;
}

/* The shortest text that gives the same number again. */
static void add_real(struct buf *out, double n)
{
    size_t len = out->len;
    for (int digits = 15; digits <= 17; digits++) {
        buf_cut(out, len);
        buf_addf(out, "%.*g", digits, n);
        if (get_bits(strtod(out->s + len, NULL)) == get_bits(n))
            return;
    }
}

static void add_retries(struct buf *out, const int *used)
{
    size_t len = out->len;
    for (unsigned f = 0; f < FAILURE_COUNT_; f++) {
        if (!used[f])
            continue;
        if (out->len > len)
            buf_addch(out, ',');
        buf_addstr(out, failure_names[f]);
        buf_addch(out, ':');
        engine_line_add_number(out, used[f]);
    }
    if (out->len == len)
        buf_addstr(out, "none");
}

static void add_value(struct buf *out, const struct member *m, const void *value)
{
    switch (m->type) {
    case TASK:
    case TASK_OR_RUN:
    case NUMBER:
        engine_line_add_number(out, *(const int64_t *)value);
        break;
    case NUMBER32:
        engine_line_add_number(out, *(const int32_t *)value);
        break;
    case RANDOM:
        add_digits(out, *(const uint32_t *)value, false);
        break;
    case COUNT:
        add_digits(out, *(const size_t *)value, false);
        break;
    case FLAG:
        buf_addstr(out, *(const bool *)value ? "yes" : "no");
        break;
    case REAL:
        add_real(out, *(const double *)value);
        break;
    case WORD:
        buf_addstr(out, m->get_word(*(const unsigned *)value));
        break;
    case RETRIES:
        add_retries(out, value);
        break;
    }
}

void engine_line_write(struct buf *out, const struct engine_event *ev)
{
    unsigned has = engine_event_parts(ev->kind);
    buf_addstr(out, engine_event_name(ev->kind));
    for (size_t p = 0; p < ARRAY_LEN(parts); p++) {
        for (size_t i = 0; (has & parts[p].part) && i < parts[p].n; i++) {
            const struct member *m = &parts[p].members[i];
            buf_addch(out, ' ');
            buf_addstr(out, m->name);
            buf_addch(out, '=');
            add_value(out, m, (const char *)ev + m->at);
        }
    }
    buf_addch(out, '\n');
}

bool engine_line_skip(struct engine_cursor *c, const char *text)
{
    size_t len = strlen(text);
    if ((size_t)(c->end - c->at) < len || memcmp(c->at, text, len) != 0)
        return false;
    c->at += len;
    return true;
}

/* Without a sign, leading zeros or anything else that we would not write. */
static bool read_digits(struct engine_cursor *c, uint64_t max, uint64_t *ret)
{
    const char *first = c->at;
    uint64_t n = 0;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
        unsigned digit = (unsigned)(*c->at - '0');
        if (n > max / 10 || digit > max - n * 10 || (c->at > first && *first == '0'))
            return false;
        n = n * 10 + digit;
    }
    *ret = n;
    return c->at > first;
}

bool engine_line_read_number(struct engine_cursor *c, int64_t min, int64_t max, int64_t *ret)
{
    bool negative = engine_line_skip(c, "-");
    uint64_t n;
    if (!read_digits(c, (uint64_t)INT64_MAX + negative, &n) || (negative && !n))
        return false;
    *ret = (int64_t)(negative ? -n : n);
    return *ret >= min && *ret <= max;
}

/* The length of the value, up to a blank or one of `ends`. */
static size_t measure_value(const struct engine_cursor *c, const char *ends)
{
    const char *at = c->at;
    while (at < c->end && *at && *at != ' ' && !strchr(ends, *at))
        at++;
    return (size_t)(at - c->at);
}

static bool read_word(struct engine_cursor *c, word_fn *get_word, const char *ends, unsigned *ret)
{
    size_t len = measure_value(c, ends);
    const char *word;
    for (unsigned value = 0; (word = get_word(value)); value++) {
        if (strlen(word) != len || memcmp(word, c->at, len) != 0)
            continue;
        c->at += len;
        *ret = value;
        return true;
    }
    return false;
}

/* Only the text that add_real() writes. */
static bool read_real(struct engine_cursor *c, double *ret)
{
    autobuf struct buf text = BUF_INIT, again = BUF_INIT;
    size_t len = measure_value(c, "");
    buf_add(&text, c->at, len < 32 ? len : 32);
    double n = strtod(text.s, NULL);
    add_real(&again, n);
    if (again.len != len || memcmp(again.s, c->at, len) != 0)
        return false;
    c->at += len;
    *ret = n;
    return true;
}

static bool read_flag(struct engine_cursor *c, bool *ret)
{
    *ret = engine_line_skip(c, "yes");
    return *ret || engine_line_skip(c, "no");
}

static bool read_retries(struct engine_cursor *c, int *used)
{
    unsigned first = 0, failure;
    int64_t n;
    if (engine_line_skip(c, "none"))
        return true;
    do {
        if (!read_word(c, get_failure, ":", &failure) || failure < first ||
            !engine_line_skip(c, ":") || !engine_line_read_number(c, INT32_MIN, INT32_MAX, &n) ||
            !n)
            return false;
        used[failure] = (int)n;
        first = failure + 1;
    } while (engine_line_skip(c, ","));
    return true;
}

static bool read_small(struct engine_cursor *c, int32_t *ret)
{
    int64_t n;
    if (!engine_line_read_number(c, INT32_MIN, INT32_MAX, &n))
        return false;
    *ret = (int32_t)n;
    return true;
}

static bool read_random(struct engine_cursor *c, uint32_t *ret)
{
    uint64_t n;
    if (!read_digits(c, UINT32_MAX, &n))
        return false;
    *ret = (uint32_t)n;
    return true;
}

static bool read_count(struct engine_cursor *c, size_t *ret)
{
    uint64_t n;
    if (!read_digits(c, SIZE_MAX, &n))
        return false;
    *ret = (size_t)n;
    return true;
}

static bool read_value(struct engine_cursor *c, const struct member *m, void *value)
{
    switch (m->type) {
    case TASK:
        return engine_line_read_number(c, 0, UINT32_MAX, value);
    case TASK_OR_RUN:
        return engine_line_read_number(c, -1, UINT32_MAX, value);
    case NUMBER:
        return engine_line_read_number(c, INT64_MIN, INT64_MAX, value);
    case NUMBER32:
        return read_small(c, value);
    case RANDOM:
        return read_random(c, value);
    case COUNT:
        return read_count(c, value);
    case FLAG:
        return read_flag(c, value);
    case REAL:
        return read_real(c, value);
    case WORD:
        return read_word(c, m->get_word, "", value);
    case RETRIES:
        return read_retries(c, value);
    }
    return false;
}

static bool read_member(struct engine_cursor *c, const struct member *m, struct engine_event *ev)
{
    return engine_line_skip(c, " ") && engine_line_skip(c, m->name) && engine_line_skip(c, "=") &&
           read_value(c, m, (char *)ev + m->at);
}

static bool read_name(struct engine_cursor *c, enum engine_event_kind *ret)
{
    size_t len = measure_value(c, "");
    for (int kind = 0; len && kind < ENGINE_EVENT_COUNT_; kind++) {
        const char *name = engine_event_name((enum engine_event_kind)kind);
        if (*name != *c->at || strlen(name) != len || memcmp(name, c->at, len) != 0)
            continue;
        c->at += len;
        *ret = (enum engine_event_kind)kind;
        return true;
    }
    return false;
}

/* The messages have no text of the line, which may be anything. */
static int read_members(struct engine_cursor *c, struct engine_event *ev, struct err *err)
{
    const char *name = engine_event_name(ev->kind);
    unsigned has = engine_event_parts(ev->kind);
    for (size_t p = 0; p < ARRAY_LEN(parts); p++) {
        for (size_t i = 0; (has & parts[p].part) && i < parts[p].n; i++) {
            if (!read_member(c, &parts[p].members[i], ev))
                return err_set(err, ERR_ENV, "the event '%s' has no '%s', or a bad one", name,
                               parts[p].members[i].name);
        }
    }
    return c->at == c->end ? 0 : err_set(err, ERR_ENV, "text follows the event '%s'", name);
}

int engine_line_read(const char *line, size_t len, struct engine_event *ret, struct err *err)
{
    struct engine_cursor c = {line, line + len};
    struct engine_event ev = {.task = -1};
    if (!read_name(&c, &ev.kind))
        return err_set(err, ERR_ENV, "there is no event of this name");
    if (read_members(&c, &ev, err))
        return -1;
    *ret = ev;
    return 0;
}
