#include "base/text.h"
#include "cli/commands.h"
#include "cli/look.h"
#include "front/summary.h"

#include <string.h>

struct status_opts {
    bool json;
};

static void add_head(const struct report *r, struct buf *out)
{
    const struct store_run *row = &r->row;
    buf_addf(out, "Run %s: %s", row->id, row->state);
    if (row->finished)
        buf_addf(out, ", exit code %d", row->exit_code);
    buf_addstr(out, ", ");
    text_format_duration(out, r->duration > 0 ? r->duration : 0);
    if (row->base)
        buf_addf(out, ", on %s", row->base);
    if (row->plan) {
        buf_addstr(out, ", ");
        text_harmless(out, row->plan, strlen(row->plan));
    }
    buf_addch(out, '\n');
}

static int run_status(const void *options, int argc, char **argv)
{
    const struct status_opts *opts = options;
    autolook struct look look;
    autoreport struct report r = {0};
    autobuf struct buf out = BUF_INIT;
    int code = look_open(&look);
    if (code == EXIT_OK)
        code = look_run(&look, argc ? argv[0] : NULL, &r);
    if (code != EXIT_OK)
        return code;
    if (opts->json) {
        report_json(&r, &out);
    } else {
        add_head(&r, &out);
        summary(&r, false, &out);
    }
    return cli_print(out.s, out.len);
}

static const struct opt opts_table[] = {
    {"json", 0, OPT_FLAG, offsetof(struct status_opts, json), NULL, NULL,
     "Print it as JSON, as a report has it"},
    {0},
};

static const struct arg args[] = {
    {.name = "RUN",
     .help = "Its id, the beginning of it, or 'last'; without it the newest one",
     .optional = true},
    {0},
};

static const enum exit_code exits[] = {EXIT_USAGE, EXIT_ENV, EXIT_OK};

const struct command cmd_status = {
    .name = "status",
    .summary = "Show how a run stands, or how it ended",
    .about = "Shows each task of a run with its state, commit, duration and attempts, and why it "
             "failed. A run whose process is gone without having ended is shown as interrupted.",
    .examples = "anabranch status\tThe newest run, also while it goes on\n"
                "anabranch status --json last | jq .totals\tThe same for programs\n",
    .args = args,
    .opts = opts_table,
    .options_size = sizeof(struct status_opts),
    .exits = exits,
    .see_also = "anabranch-events(7)",
    .run = run_status,
};
