#include "view/report/details.h"

#include "base/text/text.h"
#include "base/text/timestamp.h"

#include <inttypes.h>
#include <string.h>

/* Characters that XML cannot contain become U+FFFD. */
static bool is_xml(uint32_t c)
{
    return c == '\t' || c == '\n' || (c >= 0x20 && c != 0x7f && c != 0xfffe && c != 0xffff);
}

static void add_char(struct buf *out, uint32_t c, const char *s, size_t n)
{
    if (c == '&')
        buf_addstr(out, "&amp;");
    else if (c == '<')
        buf_addstr(out, "&lt;");
    else if (c == '>')
        buf_addstr(out, "&gt;");
    else if (c == '"')
        buf_addstr(out, "&quot;");
    else
        buf_add(out, s, n);
}

static void add_text(struct buf *out, const char *s)
{
    for (size_t len = strlen(s); len;) {
        uint32_t c = 0;
        size_t n = text_decode(s, len, &c);
        if (n && is_xml(c))
            add_char(out, c, s, n);
        else
            text_encode(out, 0xfffd);
        n += n == 0;
        s += n;
        len -= n;
    }
}

/* One line, because XML parsers turn a line end in an attribute into a blank. */
static void add_attribute(struct buf *out, const char *name, const char *value)
{
    autobuf struct buf line = BUF_INIT;
    if (!value)
        return;
    text_add_harmless(&line, value);
    buf_addf(out, " %s=\"", name);
    add_text(out, line.s);
    buf_addch(out, '"');
}

static void add_seconds(struct buf *out, int64_t ms)
{
    ms = ms > 0 ? ms : 0;
    buf_addf(out, " time=\"%" PRId64 ".%03" PRId64 "\"", ms / 1000, ms % 1000);
}

static void add_counts(const struct report *r, struct buf *out)
{
    buf_addf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"%zu\"", r->n,
             r->ends[REPORT_FAILED] + r->ends[REPORT_CONFLICTED],
             r->ends[REPORT_SKIPPED] + r->ends[REPORT_UNFINISHED]);
    add_seconds(out, r->duration);
}

static void add_property(struct buf *out, const char *name, const char *value)
{
    if (!value)
        return;
    buf_addstr(out, "      <property");
    add_attribute(out, "name", name);
    add_attribute(out, "value", value);
    buf_addstr(out, "/>\n");
}

static void add_properties(const struct report *r, struct buf *out)
{
    buf_addstr(out, "    <properties>\n");
    add_property(out, "run", r->row.id);
    add_property(out, "plan", r->row.plan);
    add_property(out, "state", r->row.state);
    add_property(out, "base", r->row.base);
    add_property(out, "base_commit", r->row.base_commit);
    add_property(out, "tip", r->row.tip);
    add_property(out, "logs", r->logs);
    if (r->row.finished)
        buf_addf(out, "      <property name=\"exit_code\" value=\"%d\"/>\n", r->row.exit_code);
    buf_addstr(out, "    </properties>\n");
}

static void add_failure(const struct report_task *t, struct buf *out)
{
    buf_addstr(out, "      <failure");
    add_attribute(out, "type", t->row.failure ? t->row.failure : t->row.state);
    add_attribute(out, "message", t->row.reason ? t->row.reason : t->row.state);
    buf_addch(out, '>');
    add_text(out, t->output ? t->output : "");
    buf_addstr(out, "</failure>\n");
}

static void add_skipped(const struct report_task *t, struct buf *out)
{
    buf_addstr(out, "      <skipped");
    add_attribute(out, "message", t->row.reason ? t->row.reason : t->row.state);
    buf_addstr(out, "/>\n");
}

static void add_fact(struct buf *out, const char *label, const char *value)
{
    if (!value)
        return;
    buf_addf(out, "%s: ", label);
    add_text(out, value);
    buf_addch(out, '\n');
}

static void add_facts(const struct report_task *t, struct buf *out)
{
    const struct store_task *row = &t->row;
    buf_addf(out, "      <system-out>state: %s\nattempts: %d\n", row->state, row->attempts);
    add_fact(out, "title", row->title);
    add_fact(out, "commit", row->commit);
    add_fact(out, "landed", row->landed);
    if (report_task_failed_after_landing(t)) {
        autobuf struct buf further = BUF_INIT;
        report_task_add_further_work(t, &further);
        buf_addstr(&further, "\n");
        add_text(out, further.s);
    }
    add_fact(out, "branch", row->branch);
    add_fact(out, "workspace", row->workspace);
    add_fact(out, "logs", t->logs);
    if (report_task_ran(t))
        buf_addf(out, "exit code: %d\n", row->exit_code);
    if (report_task_knows_tokens(t))
        buf_addf(out, "tokens: %" PRId64 " in, %" PRId64 " out\n", row->tokens_in, row->tokens_out);
    if (row->usd >= 0)
        buf_addf(out, "cost: $%.4f%s%s\n", row->usd, t->prices ? ", estimated with prices of " : "",
                 t->prices ? t->prices : "");
    buf_addstr(out, "</system-out>\n");
}

static void add_task(const struct report_task *t, struct buf *out)
{
    buf_addstr(out, "    <testcase");
    add_attribute(out, "name", t->row.id);
    add_attribute(out, "classname", t->row.engine);
    add_seconds(out, t->duration);
    buf_addstr(out, ">\n");
    if (t->end == REPORT_FAILED || t->end == REPORT_CONFLICTED)
        add_failure(t, out);
    else if (t->end == REPORT_SKIPPED || t->end == REPORT_UNFINISHED)
        add_skipped(t, out);
    add_facts(t, out);
    buf_addstr(out, "    </testcase>\n");
}

void report_junit(struct report_details *m, struct buf *out)
{
    const struct report *r = m->r;
    const char *name = r->row.name ? r->row.name : r->row.plan ? r->row.plan : r->row.id;
    autobuf struct buf time = BUF_INIT;
    timestamp_format(&time, r->row.started);
    buf_addstr(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites");
    add_attribute(out, "name", name);
    add_counts(r, out);
    buf_addstr(out, ">\n  <testsuite");
    add_attribute(out, "name", name);
    add_counts(r, out);
    add_attribute(out, "timestamp", time.s);
    buf_addstr(out, ">\n");
    add_properties(r, out);
    for (size_t i = 0; i < r->n; i++)
        add_task(&r->tasks[i], out);
    buf_addstr(out, "  </testsuite>\n</testsuites>\n");
}
