#include "base/mem.h"
#include "cli/common/plan_opts.h"
#include "cli/frame/commands.h"
#include "cli/run/detach.h"
#include "cli/run/nested_streams.h"
#include "cli/run/run_call.h"
#include "project/streams_file.h"
#include "sys/self_exe.h"
#include "sys/term.h"
#include "view/dry_run_text.h"
#include "view/plan/streams_text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct streams_opts {
    struct plan_opts plan;
    struct run_call call;
    int64_t streams, workers;
    const char *split, *base, *engine_exe, *log_dir;
    bool by_batch, nested, keep, no_log, dry_run;
};

/* --- options ------------------------------------------------------------------------------ */

static int check(const struct streams_opts *o)
{
    if (o->streams && o->split)
        return cli_usage(&cmd_streams, "--streams and --split do not go together");
    if (o->by_batch && (o->streams || o->split))
        return cli_usage(&cmd_streams, "--by-batch and --%s do not go together",
                         o->streams ? "streams" : "split");
    if (o->by_batch && o->dry_run && o->call.json)
        return cli_usage(&cmd_streams, "--by-batch, --dry-run and --json do not go together");
    if (o->streams > STREAMS_MAX)
        return cli_usage(&cmd_streams, "--streams: at most %d", STREAMS_MAX);
    if (o->log_dir && o->no_log)
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

/* "2" or "2,5": how many batches are before each cut. */
static int read_splits(const char *text, size_t batches, struct splits *ret)
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
            return cli_usage(&cmd_streams, "--split: '%s' does not grow", text);
        vec_push(&ret->list, n);
        at += digits;
        if (!*at)
            return EXIT_OK;
    }
}

static struct run_options run_options_of(const struct streams_opts *o)
{
    return (struct run_options){
        .workers = (size_t)o->workers,
        .base = o->base,
        .engine_exe = o->engine_exe,
        .keep = o->keep,
        .log_dir = o->log_dir,
        .no_log = o->no_log,
        .self = self_path(),
        .streams = true,
    };
}

/* --- showing ------------------------------------------------------------------------------ */

static int show_streams(const struct streams *s, const char *path, bool json)
{
    autobuf struct buf out = BUF_INIT;
    struct arena a = {0};
    if (json) {
        doc_write_lines(&out, streams_text_json(s, path, &a));
        buf_addch(&out, '\n');
    } else {
        streams_text(s, path, &out);
    }
    arena_done(&a);
    return cli_print(out.s, out.len);
}

static void warn_of_cuts(const struct streams *s)
{
    autobuf struct buf out = BUF_INIT;
    streams_text_cuts(s, &out);
    (void)fputs(out.s, stderr);
}

static void tell_verdict(const struct streams *s, const char *path)
{
    autobuf struct buf out = BUF_INIT;
    streams_say_verdict(s, path, &out);
    (void)fputs(out.s, stderr);
}

/* --- running ------------------------------------------------------------------------------ */

static int go(struct plan_file *pf, const char *path, const struct streams_opts *o,
              struct run_options *ro)
{
    struct err err = {0};
    struct run *run;
    if (run_call_check(&o->call, &cmd_streams, ro) != EXIT_OK)
        return EXIT_USAGE;
    if (run_open(&run, pf, path, ro, &err))
        return cli_fail_by(&err);
    autobuf struct buf out = BUF_INIT;
    int code;
    if (o->dry_run) {
        dry_run_text(run, pf, NULL, isatty(STDOUT_FILENO) ? term_columns(STDOUT_FILENO) : 0, &out);
        code = cli_print(out.s, out.len);
    } else {
        code = run_call_go(&o->call, run, pf, NULL);
    }
    run_close(run);
    return code;
}

/* Each agent a task, as `run` does it, told as streams are. */
static int run_by_batch(const char *path, const struct streams_opts *o)
{
    autoproblems struct problems ps;
    autoplan struct plan_file pf = {0};
    struct doc_options doc = plan_doc_options(&o->plan);
    struct run_options ro = run_options_of(o);
    problems_init(&ps, path);
    int failed = plan_file_open(&pf, path, &doc, &ps) || streams_check_kind(&pf, &ps);
    plan_print_problems(&ps);
    return failed ? EXIT_USAGE : go(&pf, path, o, &ro);
}

static int run_divided(struct streams_file *sf, const char *path, const struct streams_opts *o,
                       struct problems *ps)
{
    struct run_options ro = run_options_of(o);
    int failed = streams_file_plan(sf, ps);
    plan_print_problems(ps);
    if (failed)
        return EXIT_USAGE;
    if (!o->call.quiet)
        tell_verdict(&sf->streams, path);
    ro.derived = true;
    ro.workers = ro.workers ? ro.workers : sf->streams.n;
    return go(&sf->plan, path, o, &ro);
}

static int run_as_streams(const char *path, const struct streams_opts *o)
{
    autoproblems struct problems ps;
    autostreamsfile struct streams_file sf;
    own_cleanup(splits_done) struct splits splits = {0};
    struct streams_options so = {.n = (size_t)o->streams};
    struct doc_options doc = plan_doc_options(&o->plan);
    problems_init(&ps, path);
    int failed = streams_file_open(&sf, path, &doc, &ps);
    if (!failed && o->split) {
        if (read_splits(o->split, sf.manifest.plan.batches.n, &splits) != EXIT_OK)
            return EXIT_USAGE;
        so.splits = splits.list.v;
        so.split_count = splits.list.n;
    }
    failed = failed || streams_file_divide(&sf, &so, &ps);
    if (failed || o->dry_run)
        plan_print_problems(&ps);
    if (failed)
        return EXIT_USAGE;
    warn_of_cuts(&sf.streams);
    return o->dry_run ? show_streams(&sf.streams, path, o->call.json)
                      : run_divided(&sf, path, o, &ps);
}

static int run_streams(const void *options, int argc, char **argv)
{
    const struct streams_opts *o = options;
    (void)argc;
    const char *inside = streams_outer_task();
    if (check(o) != EXIT_OK)
        return EXIT_USAGE;
    if (inside && !o->nested && !o->dry_run)
        return cli_fail(EXIT_USAGE,
                        "this is inside %s: an agent that starts streams would multiply; --nested "
                        "does it all the same",
                        inside);
    if (!o->dry_run && detach_is_wanted(&o->call))
        return detach_go(&o->call);
    return o->by_batch ? run_by_batch(argv[0], o) : run_as_streams(argv[0], o);
}

static const struct opt opts_table[] = {
    {"streams", 'n', OPT_COUNT, offsetof(struct streams_opts, streams), "N", NULL,
     "Divide the batches among at most this many streams (2)"},
    {"split", 0, OPT_STRING, offsetof(struct streams_opts, split), "A[,B...]", NULL,
     "Cut behind the first A batches, the first B ... and nowhere else, whatever hangs together"},
    {"by-batch", 0, OPT_FLAG, offsetof(struct streams_opts, by_batch), NULL, NULL,
     "Every agent of every batch is a task of its own"},
    {"dry-run", 0, OPT_FLAG, offsetof(struct streams_opts, dry_run), NULL, NULL,
     "Show the streams, why each batch is where it is, and what it gains; change nothing"},
    {"nested", 0, OPT_FLAG, offsetof(struct streams_opts, nested), NULL, NULL,
     "Also where this is started by an agent"},
    {"workers", 'j', OPT_COUNT, offsetof(struct streams_opts, workers), "N", NULL,
     "Agents at work at the same time; without it all streams, with --by-batch what the plan says"},
    {"base", 0, OPT_STRING, offsetof(struct streams_opts, base), "BRANCH", NULL,
     "Land on this branch; without it what the plan says, or the branch that is checked out"},
    {"engine-exe", 0, OPT_STRING, offsetof(struct streams_opts, engine_exe), "PATH", NULL,
     "The engine's program, where it is not on PATH"},
    {"keep", 0, OPT_FLAG, offsetof(struct streams_opts, keep), NULL, NULL,
     "Keep the workspaces and branches of streams that landed"},
    {"log-dir", 0, OPT_STRING, offsetof(struct streams_opts, log_dir), "DIR", NULL,
     "Copy what agents print to STREAM-stdout.log and STREAM-stderr.log in this folder, without "
     "secrets"},
    {"no-log", 0, OPT_FLAG, offsetof(struct streams_opts, no_log), NULL, NULL,
     "Do not keep what agents print, unless their stream failed"},
    RUN_CALL_OPTS(struct streams_opts),
    {"json", 0, OPT_FLAG, offsetof(struct streams_opts, call.json), NULL, NULL,
     "Print one event per line, as JSON; with --dry-run the streams"},
    PLAN_OPTS,
    {0},
};

const struct command cmd_streams = {
    .name = "streams",
    .summary = "Carry out the batches of a manifest as a few sessions side by side",
    .about =
        "The plan is an Agent Dispatch Manifest: batches of agents. Each stream is one agent "
        "session, in a worktree of its own, that does some of the batches in order. It is told "
        "their text, and which batches are not its own. A stream is a task: it is committed, "
        "verified, landed, resumed and reported as those of anabranch run are.\n\n"
        "Batches that hang together stay in one stream: those that depend on each other, that own "
        "a path in common, that take the summary of a fan-out, and those that follow one another: "
        "a "
        "batch that is not parallel and has no depends_on follows what is before it. The rest is "
        "balanced by weight: the estimates, or else the number of agents. --split cuts where it "
        "says, and warns of what it cuts apart.\n\n"
        "Where one stream fails or is in conflict, the others land all the same.\n\n"
        "With --by-batch every agent is a task, batches wait for each other as in anabranch run, "
        "and what the agents of a fan-out say is put into the prompts of the batch behind it.",
    .examples = "anabranch streams --dry-run plan.md\tShow how the batches are divided, and why\n"
                "anabranch streams plan.md\tRun them as two streams\n"
                "anabranch streams -n 4 plan.md\tRun them as up to four\n"
                "anabranch streams --split 3 plan.md\tThe first three batches, and the rest\n",
    .args = plan_args,
    .opts = opts_table,
    .options_size = sizeof(struct streams_opts),
    .exits = cli_run_exits,
    .see_also = "anabranch-plan(5), anabranch-events(7)",
    .run = run_streams,
};
