#include "base/mem.h"
#include "cli/common/plan_opts.h"
#include "cli/frame/commands.h"
#include "cli/run/detach.h"
#include "cli/run/nested_streams.h"
#include "cli/run/run_call.h"
#include "project/streams_file.h"
#include "sys/self_exe.h"
#include "view/plan/streams_text.h"

#include <stdlib.h>
#include <string.h>

struct streams_opts {
    struct plan_opts plan;
    struct run_call call;
    int64_t streams, workers;
    const char *split, *base, *engine_exe, *log_dir;
    bool by_batch, nested, keep, no_log, dry_run;
};

static int check_options(const struct streams_opts *opts)
{
    if (opts->streams && opts->split)
        return cli_usage(&cmd_streams, "--streams and --split do not go together");
    if (opts->by_batch && (opts->streams || opts->split))
        return cli_usage(&cmd_streams, "--by-batch and --%s do not go together",
                         opts->streams ? "streams" : "split");
    if (opts->by_batch && opts->dry_run && opts->call.json)
        return cli_usage(&cmd_streams, "--by-batch, --dry-run and --json do not go together");
    if (opts->streams > STREAMS_MAX)
        return cli_usage(&cmd_streams, "--streams: the maximum is %d", STREAMS_MAX);
    if (opts->log_dir && opts->no_log)
        return cli_usage(&cmd_streams, "--log-dir and --no-log do not go together");
    return EXIT_OK;
}

struct splits {
    VEC(size_t) list;
};

static void splits_done(struct splits *s)
{
    vec_done(&s->list);
}

/* Parses "2" or "2,5": the number of batches before each cut. */
static int parse_splits(const char *text, size_t batches, struct splits *ret)
{
    for (const char *at = text;; at++) {
        size_t digits = strspn(at, "0123456789");
        unsigned long n = digits && digits < 10 ? strtoul(at, NULL, 10) : 0;
        if (!digits || (at[digits] && at[digits] != ','))
            return cli_usage(&cmd_streams, "--split: '%s' is not a list of numbers", text);
        if (n < 1 || n >= batches)
            return cli_usage(&cmd_streams, "--split: %.*s is not from 1 to %zu, with %zu batches",
                             (int)digits, at, batches ? batches - 1 : 0, batches);
        if (ret->list.n && n <= ret->list.v[ret->list.n - 1])
            return cli_usage(&cmd_streams, "--split: the numbers in '%s' must increase", text);
        vec_push(&ret->list, n);
        at += digits;
        if (!*at)
            return EXIT_OK;
    }
}

static struct run_options make_run_options(const struct streams_opts *opts)
{
    return (struct run_options){
        .workers = (size_t)opts->workers,
        .base = opts->base,
        .engine_exe = opts->engine_exe,
        .keep = opts->keep,
        .log_dir = opts->log_dir,
        .no_log = opts->no_log,
        .self = self_path(),
        .streams = true,
    };
}

static int show_streams(const struct streams *s, const char *path, bool json)
{
    autobuf struct buf out = BUF_INIT;
    autoarena struct arena a = {0};
    if (json) {
        doc_write_lines(&out, streams_text_json(s, path, &a));
        buf_addch(&out, '\n');
    } else {
        streams_text(s, path, &out);
    }
    return cli_print(out.s, out.len);
}

static void print_cut_warnings(const struct streams *s)
{
    autobuf struct buf out = BUF_INIT;
    streams_text_cuts(s, &out);
    (void)fputs(out.s, stderr);
}

static void print_verdict(const struct streams *s, const char *path)
{
    autobuf struct buf out = BUF_INIT;
    streams_say_verdict(s, path, &out);
    (void)fputs(out.s, stderr);
}

static int run_plan(struct plan_file *pf, const char *path, const struct streams_opts *opts,
                    struct run_options *run_options)
{
    if (run_call_check(&opts->call, &cmd_streams, run_options) != EXIT_OK)
        return EXIT_USAGE;
    return run_call_open(&opts->call, pf, path, run_options, opts->dry_run);
}

/* Runs each agent as a task, as `run` does, but prints progress as streams do. */
static int run_by_batch(const char *path, const struct streams_opts *opts)
{
    autoproblems struct problems ps;
    autoplan struct plan_file pf = {0};
    struct doc_options doc = plan_doc_options(&opts->plan);
    struct run_options run_options = make_run_options(opts);
    problems_init(&ps, path);
    int failed = plan_file_open(&pf, path, &doc, &ps) || streams_check_kind(&pf, &ps);
    plan_print_problems(&ps);
    return failed ? EXIT_USAGE : run_plan(&pf, path, opts, &run_options);
}

static int run_divided(struct streams_file *file, const char *path, const struct streams_opts *opts,
                       struct problems *ps)
{
    struct run_options run_options = make_run_options(opts);
    int failed = streams_file_plan(file, ps);
    plan_print_problems(ps);
    if (failed)
        return EXIT_USAGE;
    if (!opts->call.quiet)
        print_verdict(&file->streams, path);
    run_options.derived = true;
    run_options.workers = run_options.workers ? run_options.workers : file->streams.n;
    return run_plan(&file->plan, path, opts, &run_options);
}

static int run_as_streams(const char *path, const struct streams_opts *opts)
{
    autoproblems struct problems ps;
    autostreamsfile struct streams_file file;
    own_cleanup(splits_done) struct splits splits = {0};
    struct streams_options split_options = {.n = (size_t)opts->streams};
    struct doc_options doc = plan_doc_options(&opts->plan);
    problems_init(&ps, path);
    int failed = streams_file_open(&file, path, &doc, &ps);
    if (!failed && opts->split) {
        if (parse_splits(opts->split, file.manifest.plan.batches.n, &splits) != EXIT_OK)
            return EXIT_USAGE;
        split_options.splits = splits.list.v;
        split_options.split_count = splits.list.n;
    }
    failed = failed || streams_file_divide(&file, &split_options, &ps);
    if (failed || opts->dry_run)
        plan_print_problems(&ps);
    if (failed)
        return EXIT_USAGE;
    print_cut_warnings(&file.streams);
    return opts->dry_run ? show_streams(&file.streams, path, opts->call.json)
                         : run_divided(&file, path, opts, &ps);
}

static int run_streams(const void *options, char **argv)
{
    const struct streams_opts *opts = options;
    const char *inside = streams_outer_task();
    if (check_options(opts) != EXIT_OK)
        return EXIT_USAGE;
    if (inside && !opts->nested && !opts->dry_run)
        return cli_fail(EXIT_USAGE,
                        "this is inside %s: agents that start streams could multiply without end; "
                        "use --nested to start them anyway",
                        inside);
    if (!opts->dry_run && detach_is_wanted(&opts->call))
        return detach_go(&opts->call);
    return opts->by_batch ? run_by_batch(argv[0], opts) : run_as_streams(argv[0], opts);
}

static const struct opt opts_table[] = {
    {"streams", 'n', OPT_COUNT, offsetof(struct streams_opts, streams), "N", NULL,
     "Divide the batches among at most this many streams (2)"},
    {"split", 0, OPT_STRING, offsetof(struct streams_opts, split), "A[,B...]", NULL,
     "Cut after the first A batches, the first B ... and nowhere else, even between related "
     "batches"},
    {"by-batch", 0, OPT_FLAG, offsetof(struct streams_opts, by_batch), NULL, NULL,
     "Make every agent of every batch a task of its own"},
    {"dry-run", 0, OPT_FLAG, offsetof(struct streams_opts, dry_run), NULL, NULL,
     "Show the streams, why each batch is where it is, and the time saved; change nothing"},
    {"nested", 0, OPT_FLAG, offsetof(struct streams_opts, nested), NULL, NULL,
     "Allow this also inside an agent's session"},
    {"workers", 'j', OPT_COUNT, offsetof(struct streams_opts, workers), "N", NULL,
     "Run at most this many agents at the same time (default: all streams; with --by-batch, the "
     "plan's number)"},
    {"base", 0, OPT_STRING, offsetof(struct streams_opts, base), "BRANCH", NULL,
     "Land on this branch (default: the plan's base, or the branch that is checked out)"},
    {"engine-exe", 0, OPT_STRING, offsetof(struct streams_opts, engine_exe), "PATH", NULL,
     "The engine's program, if it is not on PATH"},
    {"keep", 0, OPT_FLAG, offsetof(struct streams_opts, keep), NULL, NULL,
     "Keep the workspaces and branches of streams that landed or failed"},
    {"log-dir", 0, OPT_STRING, offsetof(struct streams_opts, log_dir), "DIR", NULL,
     "Copy what agents print to STREAM-stdout.log and STREAM-stderr.log in this folder, without "
     "secrets"},
    {"no-log", 0, OPT_FLAG, offsetof(struct streams_opts, no_log), NULL, NULL,
     "Do not keep what agents print, unless their stream failed"},
    RUN_CALL_OPTS(struct streams_opts),
    {"json", 0, OPT_FLAG, offsetof(struct streams_opts, call.json), NULL, NULL,
     "Print one event per line, as JSON; with --dry-run, print the streams"},
    PLAN_OPTS,
    {0},
};

const struct command cmd_streams = {
    .name = "streams",
    .summary = "Run the batches of a manifest as a few sessions side by side",
    .about =
        "The plan is an Agent Dispatch Manifest: batches of agents. Each stream is one agent "
        "session, in a worktree of its own, that does some of the batches in order. Its prompt "
        "holds the text of its batches, and names the batches that belong to others. A stream "
        "is a task: it is committed, verified, landed, resumed and reported like the tasks of "
        "anabranch run.\n\n"
        "Related batches stay in one stream: batches that depend on each other, that own a path "
        "in common, that use the summary of a fan-out, and that follow one another: a batch "
        "that is not parallel and has no depends_on follows the batch before it. The rest is "
        "balanced by weight: the estimates, or else the number of agents. --split cuts where it "
        "says, and warns about related batches that it separates.\n\n"
        "If one stream fails or is in conflict, the others still land.\n\n"
        "With --by-batch every agent is a task, batches wait for each other as in anabranch "
        "run, and the last messages of the agents of a fan-out are added to the prompts of the "
        "next batch.",
    .examples = "anabranch streams --dry-run plan.md\tShow how the batches are divided, and why\n"
                "anabranch streams plan.md\tRun them as two streams\n"
                "anabranch streams -n 4 plan.md\tRun them as up to four\n"
                "anabranch streams --split 3 plan.md\tCut after the first three batches\n",
    .args = plan_args,
    .opts = opts_table,
    .options_size = sizeof(struct streams_opts),
    .exits = cli_run_exits,
    .see_also = "anabranch-plan(5), anabranch-events(7)",
    .run = run_streams,
};
