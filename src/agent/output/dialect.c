#include "agent/output/dialect.h"

#include "base/mem.h"
#include "sys/clock.h"

#include <stdlib.h>
#include <string.h>

size_t dialect_count(const struct dialect_line *line, int id)
{
    return line->fields[id].count;
}

const char *dialect_text(const struct dialect_line *line, int id)
{
    bool there = line->fields[id].count && line->fields[id].kind == JSON_STRING;
    return there ? line->fields[id].text.s : "";
}

bool dialect_is(const struct dialect_line *line, int id, const char *text)
{
    return strcmp(dialect_text(line, id), text) == 0;
}

bool dialect_true(const struct dialect_line *line, int id)
{
    return line->fields[id].count && line->fields[id].kind == JSON_TRUE;
}

static bool is_number(const struct dialect_line *line, int id)
{
    return line->fields[id].count && line->fields[id].kind == JSON_NUMBER;
}

/* Limits the number, so that a thousand of them can be added up. */
static int64_t parse_number(const char *text)
{
    const int64_t most = 1000000000000000;
    int64_t n = strtoll(text, NULL, 10);
    return n > most ? most : n < -most ? -most : n;
}

int64_t dialect_int(const struct dialect_line *line, int id, int64_t otherwise)
{
    return is_number(line, id) ? parse_number(line->fields[id].text.s) : otherwise;
}

int64_t dialect_sum(const struct dialect_line *line, int id)
{
    return line->fields[id].count ? line->fields[id].sum : 0;
}

double dialect_real(const struct dialect_line *line, int id, double otherwise)
{
    return is_number(line, id) ? strtod(line->fields[id].text.s, NULL) : otherwise;
}

void dialect_set(struct agent_report *report, struct buf *slot, const char *text)
{
    size_t len = strlen(text), most = slot == &report->text ? JSON_TEXT_MAX : DIALECT_TEXT_MAX;
    buf_cut(slot, 0);
    buf_add(slot, text, len < most ? len : most);
    report->changed = true;
}

static void report_message(struct agent_report *report, enum agent_saying kind, const char *text)
{
    buf_cut(&report->said, 0);
    buf_addstr(&report->said, text);
    if (report->saying && *text)
        report->saying(report->saying_ctx, kind, text);
}

static void report_error(struct agent_report *report, const char *text)
{
    if (strcmp(report->said.s, text) != 0)
        report_message(report, AGENT_TROUBLE, text);
}

void dialect_say(struct agent_report *report, enum agent_saying kind, const char *text)
{
    if (kind == AGENT_WORDS)
        dialect_set(report, &report->text, text);
    report->speaks = report->speaks || kind == AGENT_WORDS || kind == AGENT_ACTION;
    report->again = 0;
    report->waits_on = false;
    report->waits = 0;
    dialect_set(report, &report->question, kind == AGENT_ASK ? text : "");
    if (kind == AGENT_ACTION || kind == AGENT_ASK || kind == AGENT_WAIT)
        dialect_set(report, &report->action, text);
    report_message(report, kind, text);
}

void dialect_add_words(struct agent_report *report, const char *piece)
{
    if (report->partial.len + strlen(piece) > JSON_TEXT_MAX) /* keeps memory bounded */
        dialect_end_words(report);
    buf_addstr(&report->partial, piece);
    dialect_set(report, &report->text, report->partial.s);
}

void dialect_end_words(struct agent_report *report)
{
    if (report->partial.len)
        dialect_say(report, AGENT_WORDS, report->partial.s);
    buf_cut(&report->partial, 0);
}

void dialect_deny(struct agent_report *report, const char *tool)
{
    report->denials++;
    dialect_set(report, &report->denied, tool);
}

void dialect_end(struct agent_report *report, bool ok, const char *text)
{
    tool_calls_done(&report->tools);
    dialect_set(report, &report->question, "");
    report->finished = true;
    report->ok = ok;
    report->failed = report->failed && !ok; /* success clears a failure of an earlier turn */
    if (*text)
        dialect_set(report, &report->text, text);
    if (!ok)
        report_error(report, text);
}

void dialect_fail(struct agent_report *report, enum failure failure, const char *reason)
{
    report->failed = true;
    report->failure = failure;
    dialect_set(report, &report->reason, reason);
    report_error(report, reason);
}

int64_t dialect_number_behind(const char *text, const char *mark)
{
    const char *at = strstr(text, mark);
    return at ? parse_number(at + strlen(mark)) : 0;
}

void dialect_act(struct agent_report *report, const char *tool, const char *on)
{
    autofree char *action = mem_printf("%s%s%s", tool, *on ? " " : "", on);
    dialect_say(report, AGENT_ACTION, action);
}

/* Tools with which an agent asks a person. */
static bool is_question(const char *tool)
{
    static const char *const known[] = {"AskUserQuestion", "ask_user_question", "ExitPlanMode",
                                        "exit_plan_mode"};
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (strcmp(tool, known[i]) == 0)
            return true;
    }
    return false;
}

void dialect_begin_tool(struct agent_report *report, const char *id, const char *tool,
                        const char *on)
{
    dialect_act(report, tool, on);
    tool_calls_begin(&report->tools, id, report->action.s, is_question(tool));
}

void dialect_end_tool(struct agent_report *report, const char *id)
{
    tool_calls_end(&report->tools, id);
    report->changed = true;
}

void dialect_wait(struct agent_report *report, const char *what, int64_t ms)
{
    autofree char *text =
        ms < 0 ? mem_str(what) : mem_printf("%s in %lld s", what, (long long)((ms + 500) / 1000));
    dialect_say(report, AGENT_WAIT, text);
    dialect_set(report, &report->action, what);
    int64_t now = clock_mono();
    report->waits = now; /* each wait counts by itself: many short ones are not one long one */
    report->again = ms < 0 ? 0 : now + ms;
}

void dialect_wait_on(struct agent_report *report, const char *what)
{
    dialect_wait(report, what, -1);
    report->waits_on = true;
}

void dialect_tried(struct agent_report *report)
{
    report->waits = report->again = 0;
    report->waits_on = false;
}

void dialect_add_helper(struct agent_report *report, const char *name)
{
    enum { NAMES_MAX = 1024 };
    struct buf *names = &report->helper_names;
    report->helpers++;
    if (*name && names->len + strlen(name) < NAMES_MAX)
        buf_addf(names, "%s%s", names->len ? ", " : "", name);
    report->changed = true;
}

static int64_t subtract_earlier(int64_t all, int64_t before)
{
    return all > before ? all - before : 0;
}

void dialect_take_off(struct agent_report *report)
{
    report->tokens_in = subtract_earlier(report->tokens_in, report->before.in);
    report->tokens_out = subtract_earlier(report->tokens_out, report->before.out);
    report->cache_read = subtract_earlier(report->cache_read, report->before.cache_read);
    report->cache_made = subtract_earlier(report->cache_made, report->before.cache_made);
    report->changed = true;
}

bool dialect_counted(struct agent_report *report, const char *message)
{
    uint64_t id = tool_calls_hash(message);
    for (size_t i = 0; i < AGENT_COUNTED && i < report->counts; i++) {
        if (report->counted[i] == id)
            return true;
    }
    report->counted[report->counts++ % AGENT_COUNTED] = id;
    return false;
}

/* Clears the fields from that id on. */
static void clear_fields(struct dialect_line *line, int id)
{
    for (; id < DIALECT_FIELDS_MAX; id++)
        line->fields[id].count = 0;
}

static void set_field(struct dialect_line *line, int id, enum json_kind kind, const char *text,
                      size_t len)
{
    struct buf *to = &line->fields[id].text;
    if (!line->fields[id].count++)
        line->fields[id].sum = 0;
    line->fields[id].kind = kind;
    if (kind == JSON_NUMBER && line->fields[id].count < 1000)
        line->fields[id].sum += parse_number(text);
    buf_cut(to, 0);
    buf_add(to, text, len);
}

static void end_line(struct dialect_reader *r, bool whole)
{
    if (whole) {
        r->lines++;
        r->dialect->read_line(r->report, &r->line);
    }
    clear_fields(&r->line, 0);
}

static void on_json(void *ctx, int id, enum json_kind kind, const char *text, size_t len)
{
    struct dialect_reader *r = ctx;
    bool part = id > 0 && id == r->shape->part;
    if (kind == JSON_LINE || kind == JSON_JUNK)
        end_line(r, kind == JSON_LINE);
    else if (part && kind == JSON_OPEN)
        clear_fields(&r->line, id + 1);
    else if (part && kind == JSON_CLOSE)
        r->shape->read_part(r->report, &r->line);
    else if (kind != JSON_CLOSE)
        set_field(&r->line, id, kind, text, len);
}

void dialect_reader_init(struct dialect_reader *r, const struct dialect *dialect,
                         struct agent_report *report)
{
    *r = (struct dialect_reader){.dialect = dialect, .shape = dialect, .report = report};
    if (dialect && dialect->like)
        r->shape = dialect->like;
    for (size_t i = 0; i < DIALECT_FIELDS_MAX; i++)
        r->line.fields[i].text = (struct buf)BUF_INIT;
    if (dialect)
        json_lines_init(&r->json, r->shape->fields, r->shape->n, on_json, r);
}

void dialect_reader_done(struct dialect_reader *r)
{
    if (!r->report) /* it was never initialised */
        return;
    for (size_t i = 0; i < DIALECT_FIELDS_MAX; i++)
        buf_done(&r->line.fields[i].text);
    if (r->dialect)
        json_lines_done(&r->json);
    *r = (struct dialect_reader){0};
}

void dialect_reader_feed(struct dialect_reader *r, const char *bytes, size_t n)
{
    if (r->dialect)
        json_lines_feed(&r->json, bytes, n);
}

void dialect_reader_end(struct dialect_reader *r)
{
    if (r->dialect)
        json_lines_end(&r->json);
}
