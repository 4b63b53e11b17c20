#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/text.h"
#include "cli/frame/commands.h"
#include "git/git.h"
#include "sys/interrupt.h"
#include "threads/converge/converge.h"

#include <string.h>

struct converge_opts {
    bool no_push, into_base, draft, commit, json;
    const char *only, *remote, *upstream, *base;
};

static const char *const words[] = {
    [CONVERGE_PENDING] = "",
    [CONVERGE_NOTHING] = "has no commits of its own",
    [CONVERGE_MADE] = "pushed, new pull request ",
    [CONVERGE_UPDATED] = "pushed, pull request updated: ",
    [CONVERGE_PRINTED] = "",
    [CONVERGE_LANDED] = "landed as ",
    [CONVERGE_REFUSED] = "refused: ",
    [CONVERGE_FAILED] = "failed: ",
    [CONVERGE_CONFLICT] = "conflict: ",
    [CONVERGE_STOPPED] = "stopped: ",
};

static void add_line(struct buf *out, const struct converge_result *r, const char *what,
                     const char *detail)
{
    text_addf(out, "thread-%s: %s%s", r->look->thread->id, what, detail ? detail : "");
    buf_addch(out, '\n');
}

/* Errors go to standard error, so that a shell can execute the printed commands. */
static void add_result(const struct converge_result *r, struct buf *out, struct buf *errors)
{
    if (r->warning)
        add_line(errors, r, "warning: ", r->warning);
    if (r->end >= CONVERGE_REFUSED)
        add_line(errors, r, words[r->end], r->detail);
    else if (r->end == CONVERGE_PRINTED)
        buf_addf(out, "# thread-%s\n%s", r->look->thread->id, r->commands.s);
    else if (r->end != CONVERGE_NOTHING)
        add_line(out, r, words[r->end], r->detail);
}

static size_t add_damaged(const struct converge *c, struct buf *errors)
{
    size_t n = 0;
    for (size_t i = 0; i < c->threads.damaged.n; i++) {
        const struct thread_damaged *d = &c->threads.damaged.v[i];
        if (!converge_leaves(c, d))
            continue;
        text_addf(errors, "thread-%s: left alone: %s; %s", d->id, d->problem, d->hint);
        buf_addch(errors, '\n');
        n++;
    }
    return n;
}

static int print_text(const struct converge *c)
{
    autobuf struct buf out = BUF_INIT, errors = BUF_INIT;
    bool nothing = !add_damaged(c, &errors);
    for (size_t i = 0; i < c->results.n; i++) {
        add_result(&c->results.v[i], &out, &errors);
        nothing = nothing && c->results.v[i].end == CONVERGE_NOTHING;
    }
    if (nothing)
        buf_addstr(&errors, "no thread has commits of its own: nothing to converge\n");
    (void)fwrite(errors.s, 1, errors.len, stderr);
    return cli_print(out.s, out.len);
}

static void put_text(struct arena *a, struct node *map, const char *key, const char *s)
{
    autobuf struct buf safe = BUF_INIT;
    if (!s)
        return;
    text_add_harmless(&safe, s);
    node_put_string(a, map, key, safe.s);
}

static void put_result(struct arena *a, struct node *map, const struct converge_result *r)
{
    const struct thread *t = r->look->thread;
    bool bad = r->end >= CONVERGE_REFUSED;
    node_put_string(a, map, "id", t->id);
    put_text(a, map, "branch", git_short_name(t->branch));
    node_put_string(a, map, "result", converge_end_name(r->end));
    put_text(a, map, "reason", bad ? r->detail : NULL);
    put_text(a, map, "warning", r->warning);
    put_text(a, map, "commit", r->end == CONVERGE_LANDED ? r->detail : NULL);
    node_put_string(a, map, "pull", t->pull);
    node_put_string(a, map, "commands", r->commands.len ? r->commands.s : NULL);
    struct node *list = node_put_list(a, map, "uncommitted");
    for (size_t i = 0; i < r->look->uncommitted.n; i++) {
        autobuf struct buf safe = BUF_INIT;
        text_add_harmless(&safe, r->look->uncommitted.v[i]);
        node_add_string(a, list, safe.s);
    }
}

static void put_damaged(struct arena *a, struct node *map, const struct thread_damaged *d)
{
    put_text(a, map, "id", d->id);
    node_put_string(a, map, "result", "damaged");
    put_text(a, map, "reason", d->problem);
    put_text(a, map, "hint", d->hint);
}

static int print_json(const struct converge *c)
{
    autoarena struct arena a = {0};
    struct node *map = node_new_map(&a), *list = node_put_list(&a, map, "threads");
    for (size_t i = 0; i < c->results.n; i++)
        put_result(&a, node_add_map(&a, list), &c->results.v[i]);
    for (size_t i = 0; i < c->threads.damaged.n; i++) {
        if (converge_leaves(c, &c->threads.damaged.v[i]))
            put_damaged(&a, node_add_map(&a, list), &c->threads.damaged.v[i]);
    }
    return cli_print_json(map);
}

static enum exit_code get_exit_code(const struct converge *c)
{
    enum exit_code code = EXIT_OK;
    for (size_t i = 0; i < c->threads.damaged.n; i++) {
        if (converge_leaves(c, &c->threads.damaged.v[i]))
            code = EXIT_TASK;
    }
    for (size_t i = 0; i < c->results.n; i++) {
        enum converge_end end = c->results.v[i].end;
        if (end == CONVERGE_CONFLICT)
            return EXIT_CONFLICT;
        if (end >= CONVERGE_REFUSED)
            code = EXIT_TASK;
    }
    return code;
}

static int converge_repo(const struct git_repo *repo, const struct converge_options *how, bool json)
{
    autoconverge struct converge c;
    struct err err = {0};
    interrupt_watch();
    int rc = converge(&c, repo, how, &err);
    if (rc && interrupt_signal())
        return cli_stopped(how->commit ? "nothing was pushed or merged" : "nothing was changed");
    if (rc)
        return cli_fail_by(&err);
    int code = json ? print_json(&c) : print_text(&c);
    if (interrupt_signal())
        return cli_stopped("call it again to continue");
    return code == EXIT_OK ? (int)get_exit_code(&c) : code;
}

static void split_ids(const char *list, struct strv *out)
{
    autofree char *copy = mem_str(list);
    for (char *next = copy, *id; (id = strsep(&next, ","));) {
        if (*id)
            strv_push(out, id);
    }
}

static int run_converge(const void *options, char **argv)
{
    const struct converge_opts *opts = options;
    autostrv struct strv only = {0};
    struct converge_options how = {.way = opts->no_push     ? CONVERGE_PRINT
                                          : opts->into_base ? CONVERGE_INTO_BASE
                                                            : CONVERGE_PUSH,
                                   .draft = opts->draft,
                                   .commit = opts->commit,
                                   .remote = opts->remote,
                                   .upstream = opts->upstream,
                                   .base = opts->base,
                                   .only = opts->only ? &only : NULL,
                                   .waiting = cli_waiting};
    autorepo struct git_repo repo = {0};
    struct err err = {0};
    (void)argv;
    if (opts->no_push && opts->into_base)
        return cli_usage(&cmd_converge, "--no-push and --into-base do not go together");
    if (opts->upstream && opts->into_base)
        return cli_usage(&cmd_converge, "--upstream and --into-base do not go together");
    if (opts->only)
        split_ids(opts->only, &only);
    if (git_open(&repo, ".", &err))
        return cli_fail(EXIT_ENV, "%s", err.msg);
    return repo.root ? converge_repo(&repo, &how, opts->json)
                     : cli_fail(EXIT_ENV, "this is not a git repository");
}

static const struct opt opts_table[] = {
    {"no-push", 0, OPT_FLAG, offsetof(struct converge_opts, no_push), NULL, NULL,
     "Only print the commands, for any POSIX shell"},
    {"into-base", 0, OPT_FLAG, offsetof(struct converge_opts, into_base), NULL, NULL,
     "Merge into the base branch here, without a remote or a forge; nothing is verified"},
    {"draft", 0, OPT_FLAG, offsetof(struct converge_opts, draft), NULL, NULL,
     "Make new pull requests as drafts"},
    {"commit", 0, OPT_FLAG, offsetof(struct converge_opts, commit), NULL, NULL,
     "First commit all uncommitted changes"},
    {"only", 0, OPT_STRING, offsetof(struct converge_opts, only), "THREAD,...", NULL,
     "Only these threads"},
    {"remote", 0, OPT_STRING, offsetof(struct converge_opts, remote), "REMOTE", NULL,
     "Push to this remote (origin)"},
    {"upstream", 0, OPT_STRING, offsetof(struct converge_opts, upstream), "REMOTE", NULL,
     "Make the pull requests in the repository of this remote, from the fork"},
    {"base", 0, OPT_STRING, offsetof(struct converge_opts, base), "BRANCH", NULL,
     "The target branch (default: the branch that the threads were made from)"},
    {"json", 0, OPT_FLAG, offsetof(struct converge_opts, json), NULL, NULL,
     "Print the results as JSON"},
    {0},
};

static const enum exit_code exits[] = {EXIT_TASK,   EXIT_USAGE,   EXIT_ENV, EXIT_CONFLICT,
                                       EXIT_SIGINT, EXIT_SIGTERM, EXIT_OK};

const struct command cmd_converge = {
    .name = "converge",
    .summary = "Make a pull request for each thread, in merge order",
    .about =
        "Pushes the branch of each thread that has commits of its own, never by force, and "
        "makes a pull request for it with 'gh': goal, paths, order, whether the thread kept to "
        "its paths, and the threads that it follows. If the branch has an open pull request, "
        "the command updates it, so you can call it again.\n\n"
        "It refuses a thread with uncommitted work, and lists the files. If a thread changed "
        "paths that it does not own, the command refuses it if the plan says 'enforce: block'; "
        "otherwise it reports that, here and in the pull request. It also warns if a thread "
        "follows another thread that --only leaves out and that is not merged yet; --into-base "
        "refuses such a thread if it depends on the other. A problem with one thread does not "
        "stop the others. SIGINT, SIGTERM and SIGHUP end the external program that is running, "
        "and the command prints what was done until then.\n\n"
        "gh makes the pull requests in the repository that is pushed to, or in the one that 'gh "
        "repo set-default' names. If the remote that is pushed to is a fork, --upstream names "
        "the remote whose repository receives them; gh then gets both.\n\n"
        "The git setting anabranch.forge names another program instead of 'gh': 'glab', 'tea', "
        "or a command whose words {branch}, {base}, {title}, {body} and {body-file} are "
        "replaced; anabranch.forgeUpdate is the command for an existing pull request, {pull}. "
        "'tea' runs outside of the repository, with the repository of the remote and with its "
        "login for the remote's host, or with the login that anabranch.forgeLogin names.",
    .examples = "anabranch converge\tPush, and make or update the pull requests\n"
                "anabranch converge --no-push | sh\tDo the same in a shell\n"
                "anabranch converge --upstream upstream\tFrom the fork 'origin' to the remote "
                "'upstream'\n"
                "anabranch converge --into-base --only 1,2\tMerge two threads here\n",
    .opts = opts_table,
    .options_size = sizeof(struct converge_opts),
    .exits = exits,
    .see_also = "gh(1)",
    .run = run_converge,
};
