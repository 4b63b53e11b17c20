#include "base/node/node_build.h"
#include "base/text/text.h"
#include "cli/frame/commands.h"
#include "cli/threads/current_thread.h"
#include "threads/own/own.h"
#include "threads/own/request.h"
#include "view/plan/thread_text.h"

#include <string.h>

struct own_opts {
    bool staged, json;
};

static void put_claims(struct arena *a, struct node *map, const struct thread *t)
{
    node_put_strings(a, map, "owns", &t->owns);
    node_put_strings(a, map, "forbids", &t->forbids);
    struct node *granted = node_put_list(a, map, "granted");
    for (size_t i = 0; i < t->requests.n; i++) {
        if (!t->requests.v[i].claimed_by)
            node_add_string(a, granted, t->requests.v[i].path);
    }
}

static int print_verdict_json(const struct thread *t, const struct own_verdict *v)
{
    autoarena struct arena a = {0};
    struct node *map = node_new_map(&a);
    node_put_string(&a, map, "thread", t->id);
    node_put_string(&a, map, "enforce", t->enforce);
    put_claims(&a, map, t);
    node_put_int(&a, map, "outside", (int64_t)v->outside);
    struct node *list = node_put_list(&a, map, "paths");
    for (size_t i = 0; i < v->paths.n; i++) {
        const struct own_path *p = &v->paths.v[i];
        struct node *entry = node_add_map(&a, list);
        thread_put_text(&a, entry, "path", p->path);
        node_put_string(&a, entry, "verdict", own_standing_name(p->standing));
        node_put_string(&a, entry, "thread", p->whose ? p->whose->id : NULL);
    }
    return cli_print_json(map);
}

static void add_outside(struct buf *out, const struct own_verdict *v)
{
    for (size_t i = 0; i < v->paths.n; i++) {
        const struct own_path *p = &v->paths.v[i];
        if (own_is_inside(p->standing))
            continue;
        text_addf(out, "%s: ", p->path);
        own_path_describe(p, out);
        buf_addch(out, '\n');
    }
}

static int print_verdict(const struct thread *t, const struct own_verdict *v)
{
    autobuf struct buf out = BUF_INIT;
    size_t n = v->paths.n;
    add_outside(&out, v);
    if (v->outside)
        buf_addf(
            &out,
            "%zu of %zu changed paths %s outside of the paths of thread %s; revert %s, or ask: "
            "'anabranch own request PATH'\n",
            v->outside, n, v->outside == 1 ? "is" : "are", t->id, v->outside == 1 ? "it" : "them");
    else if (n)
        buf_addf(&out, "All inside: %zu changed path%s of thread %s\n", n, n == 1 ? "" : "s",
                 t->id);
    else
        buf_addf(&out, "Thread %s has changed nothing\n", t->id);
    return cli_print(out.s, out.len);
}

static int check_changes(const struct own_opts *opts, const char *range)
{
    autohere struct current_thread here = {0};
    autoverdict struct own_verdict v = {0};
    struct err err = {0};
    int code = current_thread_find(&here);
    if (code != EXIT_OK)
        return code;
    if (current_thread_mend(&here, &err))
        return cli_fail_by(&err);
    struct own_question q = {
        .repo = &here.repo,
        .all = &here.all,
        .thread = here.thread,
        .scope = range          ? OWN_RANGE
                 : opts->staged ? OWN_STAGED
                                : OWN_WORK_TREE,
        .range = range,
        .index = getenv("GIT_INDEX_FILE"), /* git sets it for hooks */
    };
    if (own_check(&q, &v, &err))
        return cli_fail_by(&err);
    current_thread_warn(&here);
    code = (opts->json ? print_verdict_json : print_verdict)(here.thread, &v);
    return code == EXIT_OK && v.outside ? EXIT_TASK : code;
}

static const char *const answers[] = {
    [OWN_ANSWER_HAS] = "had",
    [OWN_ANSWER_GRANTED] = "granted",
    [OWN_ANSWER_FORBIDDEN] = "forbidden",
    [OWN_ANSWER_TAKEN] = "taken",
};

static int print_decisions_json(const struct own_decisions *ds)
{
    autoarena struct arena a = {0};
    struct node *map = node_new_map(&a);
    struct node *list = node_put_list(&a, map, "requests");
    for (size_t i = 0; i < ds->n; i++) {
        struct node *entry = node_add_map(&a, list);
        thread_put_text(&a, entry, "path", ds->v[i].path);
        node_put_string(&a, entry, "answer", answers[ds->v[i].answer]);
        node_put_string(&a, entry, "claim", ds->v[i].claim);
        node_put_string(&a, entry, "thread", ds->v[i].whose);
    }
    return cli_print_json(map);
}

static void add_refusal(struct buf *out, const struct own_decision *d)
{
    autobuf struct buf claim = BUF_INIT;
    text_add_harmless(&claim, *d->claim ? d->claim : ".");
    if (d->answer == OWN_ANSWER_FORBIDDEN) {
        buf_addf(
            out,
            "not granted: the plan forbids '%s' to this thread. The request is recorded; leave "
            "the change to another thread, or change the plan",
            claim.s);
        return;
    }
    buf_addf(out,
             "not granted: thread %s owns '%s'. The request is recorded; let that thread make the "
             "change, in ",
             d->whose, claim.s);
    text_addf(out, "%s, or ask again after it was merged and cleaned up", d->whose_tree);
}

static void add_decision(struct buf *out, const struct own_decision *d)
{
    text_addf(out, "%s: ", *d->path ? d->path : ".");
    if (d->answer == OWN_ANSWER_HAS)
        buf_addstr(out, "belongs to this thread already: go ahead");
    else if (d->answer == OWN_ANSWER_GRANTED)
        buf_addstr(out, "granted, no other thread claims it: go ahead");
    else
        add_refusal(out, d);
    buf_addch(out, '\n');
}

static int print_decisions(const struct own_decisions *ds)
{
    autobuf struct buf out = BUF_INIT;
    for (size_t i = 0; i < ds->n; i++)
        add_decision(&out, &ds->v[i]);
    return cli_print(out.s, out.len);
}

static int request_paths(const struct own_opts *opts, char **paths)
{
    autohere struct current_thread here = {0};
    autodecisions struct own_decisions ds = {0};
    struct err err = {0};
    int code = current_thread_find(&here);
    if (code != EXIT_OK)
        return code;
    if (own_request(&here.repo, here.thread->id, here.repo.prefix, (const char *const *)paths, &ds,
                    &err))
        return cli_fail_by(&err);
    code = (opts->json ? print_decisions_json : print_decisions)(&ds);
    for (size_t i = 0; i < ds.n && code == EXIT_OK; i++) {
        if (ds.v[i].answer > OWN_ANSWER_GRANTED)
            code = EXIT_TASK;
    }
    return code;
}

static int run_own(const void *options, char **argv)
{
    const struct own_opts *opts = options;
    if (!argv[0])
        return check_changes(opts, NULL);
    bool is_request = strcmp(argv[0], "request") == 0;
    if (opts->staged)
        return cli_usage(&cmd_own, "--staged goes with neither a range nor 'request'");
    if (!is_request && argv[1])
        return cli_usage(&cmd_own, "unexpected argument '%s'", argv[1]);
    if (is_request && !argv[1])
        return cli_usage(&cmd_own, "'request' needs a path");
    return is_request ? request_paths(opts, argv + 1) : check_changes(opts, argv[0]);
}

static const struct opt opts_table[] = {
    {"staged", 0, OPT_FLAG, offsetof(struct own_opts, staged), NULL, NULL,
     "Check only the index: the changes of the next commit"},
    {"json", 0, OPT_FLAG, offsetof(struct own_opts, json), NULL, NULL,
     "Print all changed paths, each with its verdict, as JSON"},
    {0},
};

static const struct arg args[] = {
    {.name = "WHAT", .help = "A range of commits, FROM..TO, or the word request", .optional = true},
    {.name = "PATH",
     .help = "After request: a file, folder or glob that the thread needs",
     .optional = true,
     .file = true,
     .repeatable = true},
    {0},
};

static const enum exit_code exits[] = {EXIT_TASK, EXIT_USAGE, EXIT_ENV, EXIT_OK};

const struct command cmd_own = {
    .name = "own",
    .summary = "List changes outside of a thread's paths, or request a path",
    .about = "Use it in the worktree of a thread that fanout made. It lists the paths that the "
             "thread has changed since it left its base branch, committed or not, and that are "
             "forbidden to it, belong to another thread, or are not owned. A thread that owns no "
             "particular paths may change every path that no other thread owns. Changes that came "
             "from the base branch by a merge or rebase do not count, nor do ignored files and "
             "THREAD_BRIEF.md.\n\n"
             "request asks for paths, relative to the current folder. A path is granted at once if "
             "no existing thread claims it, and the plan does not forbid it to this thread. The "
             "decision is recorded in either case.\n\n"
             "The exit code is 1 if a path is outside, or was not granted.",
    .examples = "anabranch own\tCheck all changes of the thread\n"
                "anabranch own --staged\tCheck the next commit\n"
                "anabranch own main..HEAD\tCheck only the commits\n"
                "anabranch own request docs/api.md\tRequest one more path\n",
    .args = args,
    .opts = opts_table,
    .options_size = sizeof(struct own_opts),
    .exits = exits,
    .see_also = "anabranch-plan(5)",
    .run = run_own,
};
