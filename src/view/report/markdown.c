#include "view/report/details.h"

#include "base/mem.h"
#include "base/text/text.h"
#include "base/text/timestamp.h"
#include "view/plan/graph.h"
#include "view/state_change_text.h"

#include <string.h>

/* GitHub allows 65536 characters per comment (a character is at least a byte), and 50000
 * characters and 500 arrows per drawing. */
enum {
    COMMENT_MAX = 64000,
    TABLE_MAX = 32000,
    GRAPH_MAX = 12000,
    NODES_MAX = 120,
    EDGES_MAX = 400,
    OUTPUT_MAX = 3000
};

/* Appends one line, with all characters escaped that Markdown, tables or HTML would interpret. */
static void add_safe(struct buf *out, const char *s)
{
    autobuf struct buf line = BUF_INIT;
    text_add_harmless(&line, s);
    text_escape(out, line.s, "\\`*_{}[]<>()#+!|~&$@");
}

/* Whole characters of at most `max` bytes; limiting the width would not limit the bytes. */
static size_t fit_bytes(const char *s, size_t len, size_t max)
{
    if (len <= max)
        return len;
    while (max && ((unsigned char)s[max] & 0xc0) == 0x80)
        max--;
    return max;
}

/* The same for a text that may be long; cuts it. */
static void add_short(struct buf *out, const char *s, size_t max)
{
    autobuf struct buf line = BUF_INIT;
    text_add_harmless(&line, s);
    size_t fits = fit_bytes(line.s, line.len, max);
    bool cut = fits < line.len;
    buf_cut(&line, fits);
    add_safe(out, line.s);
    buf_addstr(out, cut ? "..." : "");
}

static void add_commit(struct buf *out, const char *commit)
{
    if (commit)
        buf_addf(out, "%.10s", commit);
}

static void add_tokens(struct buf *out, bool known, int64_t in, int64_t tokens_out)
{
    if (!known) {
        buf_addstr(out, "unknown");
        return;
    }
    text_format_count(out, in);
    buf_addstr(out, " / ");
    text_format_count(out, tokens_out);
}

static void add_usd(struct buf *out, double usd, const char *prices)
{
    if (usd >= 0)
        buf_addf(out, "$%.4f", usd);
    else
        buf_addstr(out, "unknown");
    if (usd >= 0 && prices)
        buf_addf(out, " (estimated, prices of %s)", prices);
}

static void add_item(struct buf *out, const char *label, const char *value)
{
    if (!value)
        return;
    buf_addf(out, "- %s: ", label);
    add_short(out, value, 600);
    buf_addch(out, '\n');
}

static void add_time(struct buf *out, const char *label, int64_t time)
{
    autobuf struct buf text = BUF_INIT;
    if (time)
        timestamp_format(&text, time);
    add_item(out, label, time ? text.s : NULL);
}

static void add_run(const struct report *r, struct buf *out)
{
    const struct store_run *row = &r->row;
    buf_addstr(out, "# ");
    add_short(out, row->name ? row->name : row->id, 200);
    buf_addstr(out, "\n\n");
    add_item(out, "Run", row->id);
    add_item(out, "Plan", row->plan);
    add_item(out, "State", report_state(r));
    if (row->finished)
        buf_addf(out, "- Exit code: %d\n", row->exit_code);
    add_item(out, "Base", row->base);
    add_item(out, "Base commit", row->base_commit);
    add_item(out, "Result", row->tip);
    add_item(out, "Not on the base, but on", r->kept);
    add_time(out, "Started", row->started);
    add_time(out, "Finished", row->finished);
    buf_addstr(out, "- Duration: ");
    text_format_duration(out, r->duration > 0 ? r->duration : 0);
    buf_addstr(out, "\n- Tokens in / out: ");
    add_tokens(out, r->tokens_in > 0 || r->tokens_out > 0, r->tokens_in, r->tokens_out);
    buf_addstr(out, "\n- Cost: ");
    add_usd(out, r->usd, r->prices);
    if (r->unpriced && r->usd >= 0)
        buf_addf(out, ", plus unknown cost of %zu task%s", r->unpriced,
                 r->unpriced == 1 ? "" : "s");
    buf_addch(out, '\n');
    add_item(out, "Logs", r->logs);
}

static void add_classes(struct buf *out)
{
    buf_addstr(out, "  classDef landed stroke:#2a7d46,stroke-width:2px\n"
                    "  classDef done stroke:#1f7a8c,stroke-width:2px\n"
                    "  classDef failed stroke:#c0262d,stroke-width:3px\n"
                    "  classDef conflicted stroke:#b25e09,stroke-width:3px\n"
                    "  classDef skipped stroke-dasharray:4 3\n"
                    "  classDef unfinished stroke:#4a6fa5\n");
}

static void add_node(const struct report *r, size_t i, struct buf *out)
{
    const struct report_task *t = &r->tasks[i];
    buf_addf(out, "  t%zu[\"", i);
    plan_graph_mermaid_label(out, t->row.id);
    buf_addstr(out, "<br/>");
    plan_graph_mermaid_label(out, t->row.state);
    buf_addf(out, "\"]:::%s\n", report_end_names[t->end]);
}

static void add_graph(const struct report_details *m, struct buf *out)
{
    autobuf struct buf graph = BUF_INIT;
    if (!m->dependencies)
        return;
    for (size_t i = 0; i < m->r->n && m->r->n <= NODES_MAX; i++)
        add_node(m->r, i, &graph);
    for (size_t i = 0; i < m->r->n && m->dependencies <= EDGES_MAX; i++) {
        for (size_t k = 0; k < m->task_details[i].dependencies.n; k++)
            buf_addf(&graph, "  t%u --> t%zu\n", m->task_details[i].dependencies.v[k], i);
    }
    if (m->r->n > NODES_MAX || m->dependencies > EDGES_MAX || graph.len > GRAPH_MAX) {
        buf_addf(out, "\nThe graph of %zu tasks and %zu dependencies is too large to draw here.\n",
                 m->r->n, m->dependencies);
        return;
    }
    buf_addstr(out, "\n```mermaid\ngraph LR\n");
    buf_add(out, graph.s, graph.len);
    add_classes(out);
    buf_addstr(out, "```\n");
}

static void add_reason(const struct report_task *t, struct buf *out)
{
    const struct store_task *row = &t->row;
    autobuf struct buf further = BUF_INIT;
    if (report_task_failed_after_landing(t)) {
        report_task_add_further_work(t, &further);
        add_short(out, further.s, 300);
        return;
    }
    if (row->failure)
        buf_addf(out, "%s: ", row->failure);
    add_short(out, row->reason && !report_task_is_well(t) ? row->reason : "", 300);
}

static void add_row(const struct report_task *t, struct buf *out)
{
    const struct store_task *row = &t->row;
    buf_addstr(out, "| ");
    add_safe(out, row->id);
    buf_addstr(out, " | ");
    add_short(out, row->title ? row->title : "", 200);
    buf_addf(out, " | %s | %s | %d | ", row->engine, row->state, row->attempts);
    if (t->duration >= 0)
        text_format_duration(out, t->duration);
    buf_addstr(out, " | ");
    add_commit(out, row->landed ? row->landed : row->commit);
    buf_addstr(out, " | ");
    if (report_task_ran(t))
        add_tokens(out, report_task_knows_tokens(t), row->tokens_in, row->tokens_out);
    buf_addstr(out, " | ");
    if (report_task_ran(t))
        add_usd(out, row->usd, t->prices);
    buf_addstr(out, " | ");
    add_reason(t, out);
    buf_addstr(out, " |\n");
}

/* If the table is too long, leaves out successful tasks first. */
static void add_table(const struct report *r, struct buf *out)
{
    autofree bool *shown = mem_array(r->n + 1, sizeof(*shown));
    size_t room = TABLE_MAX, left_out = 0; /* the part before the table is short */
    for (int well = 0; well < 2; well++) {
        for (size_t i = 0; i < r->n; i++) {
            autobuf struct buf row = BUF_INIT;
            if (report_task_is_well(&r->tasks[i]) != (well == 1))
                continue;
            add_row(&r->tasks[i], &row);
            shown[i] = row.len <= room;
            room =
                shown[i] ? room - row.len : 0; /* once a row does not fit, no shorter one follows */
            left_out += !shown[i];
        }
    }
    buf_addstr(out,
               "\n| Task | Title | Engine | State | Attempts | Duration | Commit | Tokens in / "
               "out | Cost | Failure |\n|---|---|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < r->n; i++) {
        if (shown[i])
            add_row(&r->tasks[i], out);
    }
    if (left_out)
        buf_addf(out, "\n%zu more task%s not in the table, to keep this short.\n", left_out,
                 left_out == 1 ? " is" : "s are");
}

/* Indented code needs no escaping. Cuts long lines. */
static void add_code(struct buf *out, const char *text)
{
    size_t start = out->len;
    while (*text) {
        size_t len = strcspn(text, "\n"), shown = fit_bytes(text, len, 400);
        buf_addf(out, "    %.*s%s\n", (int)shown, text, shown < len ? "..." : "");
        text += len + (text[len] == '\n');
        if (*text && out->len - start > OUTPUT_MAX) {
            buf_addstr(out, "\nCut here.\n");
            return;
        }
    }
}

static void add_outside_paths(const struct report_life *l, struct buf *out)
{
    if (!l->outside_paths.n)
        return;
    buf_addstr(out, "- Changed outside its paths:");
    for (size_t i = 0; i < l->outside_paths.n && i < 10; i++) {
        buf_addch(out, ' ');
        add_short(out, l->outside_paths.v[i], 200);
        buf_addstr(out, i + 1 < l->outside_paths.n && i < 9 ? "," : "");
    }
    if (l->outside_paths.n > 10)
        buf_addf(out, " and %zu more", l->outside_paths.n - 10);
    buf_addch(out, '\n');
}

static void add_failure(const struct report_details *m, const struct report_task *t,
                        struct buf *out)
{
    const struct store_task *row = &t->row;
    buf_addstr(out, "\n## ");
    add_safe(out, row->id);
    buf_addstr(out, "\n\n");
    add_item(out, "State", row->state);
    add_item(out, "Failure", row->failure);
    add_item(out, "Reason", row->reason);
    add_outside_paths(report_life(m, t), out);
    if (report_task_ran(t))
        buf_addf(out, "- Exit code: %d\n", row->exit_code);
    add_item(out, "Branch", row->branch);
    add_item(out, "Workspace", row->workspace);
    add_item(out, "Logs", t->logs);
    if (t->output) {
        buf_addstr(out, "\n<details><summary>The end of its output</summary>\n\n");
        add_code(out, t->output);
        buf_addstr(out, "\n</details>\n");
    }
}

static void add_change(const struct report_change *c, struct buf *out)
{
    autobuf struct buf who = BUF_INIT, text = BUF_INIT, safe = BUF_INIT;
    if (c->task)
        buf_addstr(&who, c->task);
    else
        state_change_text_tasks(c->data, &who);
    state_change_text(c->data, &text);
    add_safe(&safe, who.s);
    add_item(out, safe.s, text.s);
}

/* Appends a piece if it fits and leaves room for a line about the pieces left out. */
static bool add_piece(struct buf *out, const struct buf *piece)
{
    if (out->len + piece->len > COMMENT_MAX)
        return false;
    buf_add(out, piece->s, piece->len);
    return true;
}

static void add_failures(const struct report_details *m, struct buf *out)
{
    size_t left_out = 0;
    for (size_t i = 0; i < m->r->n; i++) {
        const struct report_task *t = &m->r->tasks[i];
        autobuf struct buf piece = BUF_INIT;
        if (t->end != REPORT_FAILED && t->end != REPORT_CONFLICTED)
            continue;
        add_failure(m, t, &piece);
        left_out += !add_piece(out, &piece);
    }
    if (left_out)
        buf_addf(out, "\n%zu more failed tasks %s left out to keep this short.\n", left_out,
                 left_out == 1 ? "is" : "are");
}

static void add_changes(const struct report *r, struct buf *out)
{
    size_t left_out = 0;
    if (r->changes.n)
        buf_addstr(out, "\n## Changed outside the workspaces\n\n");
    for (size_t i = 0; i < r->changes.n; i++) {
        autobuf struct buf piece = BUF_INIT;
        add_change(&r->changes.v[i], &piece);
        left_out += !add_piece(out, &piece);
    }
    if (left_out)
        buf_addf(out, "- and %zu more\n", left_out);
}

void report_md(struct report_details *m, struct buf *out)
{
    const struct report *r = m->r;
    add_run(r, out);
    buf_addf(out,
             "\n%zu landed, %zu done, %zu failed, %zu conflicted, %zu skipped, %zu unfinished\n",
             r->ends[REPORT_LANDED], r->ends[REPORT_DONE], r->ends[REPORT_FAILED],
             r->ends[REPORT_CONFLICTED], r->ends[REPORT_SKIPPED], r->ends[REPORT_UNFINISHED]);
    add_graph(m, out);
    add_table(r, out);
    add_failures(m, out);
    add_changes(r, out);
}
