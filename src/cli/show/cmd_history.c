#include "base/strv.h"
#include "base/text/text.h"
#include "base/text/timestamp.h"
#include "cli/common/lookup.h"
#include "cli/frame/commands.h"
#include "doc/doc.h"
#include "view/report/summary.h"

#include <stdint.h>
#include <string.h>

enum { DEFAULT_COUNT = 20 };

struct history_opts {
    bool json;
    int64_t count;
};

struct newest {
    struct strv ids;
    size_t max;
};

static bool add_run_id(void *ctx, const struct store_run *run)
{
    struct newest *n = ctx;
    strv_push(&n->ids, run->id);
    return n->ids.n < n->max;
}

static void add_line(const struct report *r, struct buf *out)
{
    autobuf struct buf time = BUF_INIT, counts = BUF_INIT, took = BUF_INIT;
    timestamp_format(&time, r->row.started); /* 2026-03-01T12:00:00.123Z */
    time.s[strlen("2026-03-01")] = ' ';
    summary_counts(r, &counts);
    text_format_duration(&took, r->duration > 0 ? r->duration : 0);
    buf_addf(out, "%s  %.16s  %-11s  %-8s  %s", r->row.id, time.s, report_state(r), took.s,
             counts.s);
    if (r->row.name || r->row.plan) {
        const char *name = r->row.name ? r->row.name : r->row.plan;
        text_addf(out, "  %s", name);
    }
    buf_addch(out, '\n');
}

static void add_json(const struct report *r, struct buf *out)
{
    autoarena struct arena a = {0};
    struct node *map = report_encode(r, &a);
    node_unlink(map, node_get(map, "tasks"));
    doc_write_whole_line(out, map);
}

static int print_runs(struct lookup *look, const struct newest *newest, bool json)
{
    struct err err = {0};
    autobuf struct buf out = BUF_INIT;
    for (size_t i = 0; i < newest->ids.n; i++) {
        autoreport struct report r = {0};
        if (report_load(&r, look->store, look->state_dir, newest->ids.v[i], &err))
            return cli_fail(EXIT_ENV, "%s", err.msg);
        if (json)
            add_json(&r, &out);
        else
            add_line(&r, &out);
    }
    return cli_print(out.s, out.len);
}

static int run_history(const void *options, char **argv)
{
    const struct history_opts *opts = options;
    (void)argv;
    autolook struct lookup look;
    struct newest newest = {.max = opts->count ? (size_t)opts->count : DEFAULT_COUNT};
    struct err err = {0};
    int code = lookup_open(&look);
    if (code != EXIT_OK)
        return code;
    if (store_each_run(look.store, add_run_id, &newest, &err))
        code = cli_fail(EXIT_ENV, "%s", err.msg);
    else
        code = print_runs(&look, &newest, opts->json);
    strv_done(&newest.ids);
    return code;
}

static const struct opt opts_table[] = {
    {"max-count", 'n', OPT_COUNT, offsetof(struct history_opts, count), "N", NULL,
     "Show the newest N runs (20)"},
    {"json", 0, OPT_FLAG, offsetof(struct history_opts, json), NULL, NULL,
     "Print one run per line, as JSON"},
    {0},
};

const struct command cmd_history = {
    .name = "history",
    .summary = "List the runs of this repository, newest first",
    .about =
        "Each line shows a run's id, start time (UTC), state, duration, task results and plan.",
    .examples = "anabranch history -n 5\tThe last five runs\n",
    .opts = opts_table,
    .options_size = sizeof(struct history_opts),
    .exits = cli_usual_exits,
    .see_also = "anabranch-events(7)",
    .run = run_history,
};
