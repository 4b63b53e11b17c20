#include "base/node/node_build.h"
#include "base/text/text.h"
#include "cli/common/plan_opts.h"
#include "cli/frame/commands.h"
#include "git/git.h"
#include "threads/fanout/fanout.h"
#include "threads/fanout/tmux.h"

#include <signal.h>
#include <string.h>

enum tmux_use { TMUX_NONE, TMUX_PRINT, TMUX_START };

struct fanout_opts {
    struct plan_opts plan;
    const char *only, *engine;
    bool allow_dirty, json, dry_run;
    int tmux;
};

/* We print everything except commands as comments, so that a shell can execute the output. */
static void add_comment(struct buf *out, const struct thread *t, const char *state)
{
    buf_addf(out, "# thread-%s: ", t->id);
    text_harmless(out, git_short_name(t->branch), strlen(git_short_name(t->branch)));
    buf_addf(out, ", %s\n", state);
}

static void add_threads(struct buf *out, const struct fanout *f, const struct fanout_opts *opts)
{
    for (size_t i = 0; i < f->known.n; i++)
        add_comment(out, threads_find(&f->there, f->known.v[i]), "exists already");
    for (size_t i = 0; i < f->fresh.n; i++) {
        add_comment(out, &f->fresh.v[i], opts->dry_run ? "would be made" : "new");
        if (opts->tmux == TMUX_NONE) {
            fanout_add_call(f, &f->fresh.v[i], out);
            buf_addch(out, '\n');
        }
    }
}

static void add_text(struct buf *out, const struct fanout *f, const struct fanout_opts *opts,
                     const char *show)
{
    const char *base = f->base ? git_short_name(f->base) : "a commit";
    text_addf(out, "# from %s", base);
    buf_addf(out, " at %.12s\n", f->base_commit);
    add_threads(out, f, opts);
    if (opts->tmux == TMUX_PRINT && f->fresh.n)
        tmux_add_commands(f, out);
    if (show)
        buf_addf(out, "%s\n", show);
}

static void put_thread(struct arena *a, struct node *list, const struct fanout *f,
                       const struct thread *t, bool fresh)
{
    struct node *map = node_add_map(a, list);
    autobuf struct buf call = BUF_INIT;
    fanout_add_call(f, t, &call);
    node_put_string(a, map, "id", t->id);
    node_put_bool(a, map, "new", fresh);
    node_put_string(a, map, "branch", git_short_name(t->branch));
    node_put_string(a, map, "path", t->path);
    node_put_string(a, map, "goal", t->goal);
    node_put_string(a, map, "engine", t->engine);
    node_put_string(a, map, "enforce", t->enforce);
    node_put_strings(a, map, "owns", &t->owns);
    node_put_strings(a, map, "forbids", &t->forbids);
    if (t->ordered)
        node_put_int(a, map, "order", t->order);
    if (t->ports) {
        node_put_int(a, map, "port", t->port);
        node_put_int(a, map, "ports", t->ports);
    }
    node_put_string(a, map, "call", call.s);
}

static void add_json(struct buf *out, const struct fanout *f)
{
    autoarena struct arena a = {0};
    struct node *map = node_new_map(&a);
    node_put_string(&a, map, "base", f->base ? git_short_name(f->base) : NULL);
    node_put_string(&a, map, "base_commit", f->base_commit);
    struct node *list = node_put_list(&a, map, "threads");
    for (size_t i = 0; i < f->known.n; i++)
        put_thread(&a, list, f, threads_find(&f->there, f->known.v[i]), false);
    for (size_t i = 0; i < f->fresh.n; i++)
        put_thread(&a, list, f, &f->fresh.v[i], true);
    doc_write_whole_line(out, map);
}

static int fail_fanout(const struct fanout *f, const struct err *err)
{
    enum exit_code code = f->signal == SIGINT      ? EXIT_SIGINT
                          : f->signal              ? EXIT_SIGTERM
                          : err->code == ERR_INPUT ? EXIT_USAGE
                                                   : EXIT_ENV;
    return cli_fail(code, "%s", err->msg);
}

/* If tmux fails, the threads still exist, so we print them before the error. */
static int print_threads(const struct fanout *f, const struct fanout_opts *opts)
{
    autobuf struct buf out = BUF_INIT;
    autofree char *show = NULL;
    struct err err = {0};
    bool start = opts->tmux == TMUX_START && !opts->dry_run && f->fresh.n;
    int started = start ? tmux_start(f, &show, &err) : 0;
    if (opts->json)
        add_json(&out, f);
    else
        add_text(&out, f, opts, show);
    int code = cli_print(out.s, out.len);
    return started ? cli_fail(EXIT_ENV, "%s", err.msg) : code;
}

static int make_threads(const struct plan_file *pf, const struct fanout_opts *opts,
                        const struct fanout_options *how)
{
    autofanout struct fanout f;
    struct err err = {0};
    if (fanout_open(&f, pf, how, &err) || (opts->tmux == TMUX_START && tmux_check(&err)) ||
        (!opts->dry_run && fanout_make(&f, &err)))
        return fail_fanout(&f, &err);
    return print_threads(&f, opts);
}

static int run_fanout(const void *options, char **argv)
{
    const struct fanout_opts *opts = options;
    struct fanout_options how = {
        .plan_path = argv[0], .allow_dirty = opts->allow_dirty, .waiting = cli_waiting};
    autoplan struct plan_file pf = {0};
    if (opts->json && opts->tmux == TMUX_PRINT)
        return cli_usage(&cmd_fanout, "--json and --tmux do not go together; --tmux=start does");
    if (opts->engine && plan_find_engine(opts->engine, &how.engine))
        return EXIT_USAGE;
    if (plan_open(&pf, argv[0], &opts->plan) != EXIT_OK)
        return EXIT_USAGE;
    autofree bool *wanted = mem_array(pf.plan.task_count, sizeof(*wanted));
    if (opts->only && plan_choose_tasks(&pf.plan, opts->only, wanted))
        return EXIT_USAGE;
    how.wanted = opts->only ? wanted : NULL;
    return make_threads(&pf, opts, &how);
}

static const char *const tmux_words[] = {"none", "print", "start", NULL};

static const struct opt opts_table[] = {
    {"only", 0, OPT_STRING, offsetof(struct fanout_opts, only), "THREAD,...", NULL,
     "Only these threads"},
    {"engine", 0, OPT_STRING, offsetof(struct fanout_opts, engine), "NAME", NULL,
     "Use this engine for every thread"},
    {"allow-dirty", 0, OPT_FLAG, offsetof(struct fanout_opts, allow_dirty), NULL, NULL,
     "Make threads even if tracked files have uncommitted changes"},
    {"tmux", 0, OPT_OPTIONAL_CHOICE, offsetof(struct fanout_opts, tmux), "HOW", tmux_words,
     "Print the commands of a tmux session with a window for each thread, or start it"},
    {"json", 0, OPT_FLAG, offsetof(struct fanout_opts, json), NULL, NULL,
     "Print the threads as JSON"},
    {"dry-run", 0, OPT_FLAG, offsetof(struct fanout_opts, dry_run), NULL, NULL,
     "Check everything and print what would be made; change nothing"},
    PLAN_OPTS,
    {0},
};

static const enum exit_code exits[] = {EXIT_USAGE, EXIT_ENV, EXIT_SIGINT, EXIT_SIGTERM, EXIT_OK};

const struct command cmd_fanout = {
    .name = "fanout",
    .summary = "Make a branch and a worktree for each thread of a plan, to work in yourself",
    .about =
        "For people who work with their agents themselves, one terminal each. Each thread (or "
        "task, as the plan calls it) gets a branch parallel/BRANCH-thread-ID and a worktree "
        "worktrees/thread-ID with a file THREAD_BRIEF.md: its goal, the paths that it owns and "
        "those that it must not touch. All threads start from the same commit. A shell can "
        "execute the output: one line for each thread, which enters its worktree and starts the "
        "agent.\n\n"
        "The command makes all threads or none: if one fails, or a signal comes, it removes the "
        "others again. If you call it again with the same plan, it makes only the new threads.\n\n"
        "If tracked files have uncommitted changes, the command refuses to start, because no "
        "thread would have these changes; untracked files do not matter. Neither worktrees nor "
        "briefs show in git status; the command writes nothing to files of the project or to "
        "info/exclude. It includes ignored files and runs workspace.setup as anabranch run "
        "does; the output is in the file anabranch.log in the worktree's git folder.",
    .examples = "anabranch fanout plan.toml\tMake all threads, and print how to start each\n"
                "anabranch fanout --only api,docs plan.toml\tMake two of the threads\n"
                "anabranch fanout --tmux=start plan.toml\tOpen a shell in each, in a tmux session\n"
                "anabranch fanout --json plan.toml | jq -r '.threads[].path'\tPrint their folders "
                "for programs\n",
    .args = plan_args,
    .opts = opts_table,
    .options_size = sizeof(struct fanout_opts),
    .exits = exits,
    .see_also = "anabranch-plan(5)",
    .run = run_fanout,
};
