#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/text.h"
#include "cli/common/removal_table.h"
#include "cli/frame/commands.h"
#include "doc/doc.h"
#include "sys/interrupt.h"
#include "threads/cleanup/cleanup.h"

#include <string.h>

struct cleanup_opts {
    const char *only;
    bool unstarted, dry_run, json;
};

static const char *get_branch_name(const struct cleanup_item *item)
{
    return item->thread->branch ? item->thread->branch + strlen("refs/heads/") : NULL;
}

static void add_json(const struct removals *r, const struct cleanup_item *item, struct buf *out)
{
    autoarena struct arena a = {0};
    struct node *map = node_new_map(&a);
    node_put_string(&a, map, "action", removal_word(r, item->action));
    node_put_string(&a, map, "thread", item->thread->id);
    node_put_string(&a, map, "branch", get_branch_name(item));
    node_put_string(&a, map, "path", item->thread->path);
    node_put_string(&a, map, "reason", cleanup_words[item->reason]);
    node_put_string(&a, map, "why", item->why);
    node_put_string(&a, map, "salvage", item->salvage);
    if (item->dropped)
        node_put_strings(&a, map, "dropped", item->dropped);
    doc_write_whole_line(out, map);
}

static void add_line(const struct removals *r, const struct cleanup_item *item, struct buf *out)
{
    removal_add_word(r, item->action, out);
    text_addf(out, "thread-%s: %s", item->thread->id, item->why);
    if (item->salvage)
        buf_addf(out, "; its leftover commits are saved as %s", item->salvage);
    for (size_t i = 0; item->dropped && i < item->dropped->n; i++) {
        buf_addstr(out, i ? ", " : "; ignored files are removed too: ");
        text_add_harmless(out, item->dropped->v[i]);
    }
    buf_addch(out, '\n');
}

static void print_item(void *ctx, const struct cleanup_item *item)
{
    struct removals *r = ctx;
    autobuf struct buf out = BUF_INIT;
    if (r->json)
        add_json(r, item, &out);
    else
        add_line(r, item, &out);
    removal_tell(r, item->action, &out);
}

static void print_warning(void *ctx, const char *message)
{
    (void)ctx;
    (void)cli_fail(EXIT_OK, "%s", message);
}

static int run_cleanup(const void *options, char **argv)
{
    const struct cleanup_opts *given = options;
    struct removals r = {.dry_run = given->dry_run, .json = given->json};
    autorepo struct git_repo repo = {0};
    struct err err = {0};
    (void)argv;
    interrupt_watch();
    int rc = git_open(&repo, ".", &err);
    if (rc == 0 && !repo.root)
        rc = err_set(&err, ERR_ENV, "this is not in a git repository");
    struct cleanup_options opts = {.repo = &repo,
                                   .only = given->only,
                                   .dry_run = given->dry_run,
                                   .unstarted = given->unstarted,
                                   .tell = print_item,
                                   .warn = print_warning,
                                   .waiting = cli_waiting,
                                   .ctx = &r};
    if (rc == 0)
        rc = cleanup(&opts, &err);
    if (interrupt_signal())
        return cli_stopped("call it again to continue");
    return rc ? cli_fail_by(&err) : removals_end(&r, "There are no threads.\n");
}

static const struct opt opts_table[] = {
    {"only", 0, OPT_STRING, offsetof(struct cleanup_opts, only), "THREAD,...", NULL,
     "Only these threads"},
    {"unstarted", 0, OPT_FLAG, offsetof(struct cleanup_opts, unstarted), NULL, NULL,
     "Also remove clean threads without a commit of their own"},
    {"dry-run", 'n', OPT_FLAG, offsetof(struct cleanup_opts, dry_run), NULL, NULL,
     "Only print what would be done"},
    {"json", 0, OPT_FLAG, offsetof(struct cleanup_opts, json), NULL, NULL,
     "Print one thread per line, as JSON"},
    {0},
};

static const enum exit_code exits[] = {EXIT_USAGE, EXIT_ENV, EXIT_SIGINT, EXIT_SIGTERM, EXIT_OK};

const struct command cmd_cleanup = {
    .name = "cleanup",
    .summary = "Remove threads whose work has been merged",
    .about =
        "Removes the worktree and branch of each thread whose commits are in its target branch, "
        "here or, after a git fetch, upstream: merged, rebased or squashed, or because all of "
        "its changes are there already. If gh is installed, the command also asks it about the "
        "pull request of a pushed branch, unless the git setting anabranch.forge names another "
        "program, which it does not ask.\n\n"
        "It keeps a thread, and prints the reason, if the thread has uncommitted changes, "
        "commits that are nowhere else, or (without --unstarted) no commit of its own; if a "
        "process works in it, or if it is locked; and if a submodule, clone or worktree inside, "
        "ignored or not, holds such things. A thread whose file is damaged also stays, and the "
        "exit code says so. Commits that a worktree would leave behind are saved first "
        "('anabranch salvage'). With the last thread, the command also removes everything that "
        "fanout made in the repository.",
    .examples =
        "anabranch cleanup --dry-run\tPrint which threads would be removed, and why\n"
        "anabranch cleanup --unstarted --only api\tRemove a thread that nobody has started\n"
        "anabranch cleanup --only api\tRemove only this thread\n",
    .opts = opts_table,
    .options_size = sizeof(struct cleanup_opts),
    .exits = exits,
    .see_also = "git-worktree(1)",
    .run = run_cleanup,
};
