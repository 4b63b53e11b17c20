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

static const char *branch_of(const struct cleanup_item *item)
{
    return item->thread->branch ? item->thread->branch + strlen("refs/heads/") : NULL;
}

static void add_json(const struct removals *r, const struct cleanup_item *item, struct buf *out)
{
    struct arena a = {0};
    struct node *map = node_new_map(&a);
    node_put_string(&a, map, "action", removal_word(r, item->action));
    node_put_string(&a, map, "thread", item->thread->id);
    node_put_string(&a, map, "branch", branch_of(item));
    node_put_string(&a, map, "path", item->thread->path);
    node_put_string(&a, map, "reason", cleanup_words[item->reason]);
    node_put_string(&a, map, "why", item->why);
    node_put_string(&a, map, "salvage", item->salvage);
    struct node *list = item->dropped ? node_put_list(&a, map, "dropped") : NULL;
    for (size_t i = 0; list && i < item->dropped->n; i++)
        node_add_string(&a, list, item->dropped->v[i]);
    doc_write_line(out, map);
    buf_addch(out, '\n');
    arena_done(&a);
}

static void add_line(const struct removals *r, const struct cleanup_item *item, struct buf *out)
{
    removal_add_word(r, item->action, out);
    buf_addf(out, "thread-%s: ", item->thread->id);
    text_add_harmless(out, item->why);
    if (item->salvage)
        buf_addf(out, "; commits that it had left behind are saved as %s", item->salvage);
    for (size_t i = 0; item->dropped && i < item->dropped->n; i++) {
        buf_addstr(out, i ? ", " : "; ignored files go with it: ");
        text_add_harmless(out, item->dropped->v[i]);
    }
    buf_addch(out, '\n');
}

static void tell(void *ctx, const struct cleanup_item *item)
{
    struct removals *r = ctx;
    autobuf struct buf out = BUF_INIT;
    if (r->json)
        add_json(r, item, &out);
    else
        add_line(r, item, &out);
    removal_tell(r, item->action, &out);
}

static void warn(void *ctx, const char *message)
{
    (void)ctx;
    (void)cli_fail(EXIT_OK, "%s", message);
}

static int run_cleanup(const void *options, int argc, char **argv)
{
    const struct cleanup_opts *given = options;
    struct removals r = {.dry_run = given->dry_run, .json = given->json};
    struct git_repo repo;
    struct err err = {0};
    (void)argc;
    (void)argv;
    interrupt_watch();
    int rc = git_open(&repo, ".", &err);
    if (rc == 0 && !repo.root)
        rc = err_set(&err, ERR_ENV, "this is not in a git repository");
    struct cleanup_options opts = {.repo = &repo,
                                   .only = given->only,
                                   .dry_run = given->dry_run,
                                   .unstarted = given->unstarted,
                                   .tell = tell,
                                   .warn = warn,
                                   .waiting = cli_waiting,
                                   .ctx = &r};
    if (rc == 0)
        rc = cleanup(&opts, &err);
    git_close(&repo);
    if (interrupt_signal())
        return cli_stopped("call it again: it goes on with what there is");
    return rc ? cli_fail_by(&err) : removals_end(&r, "There are no threads.\n");
}

static const struct opt opts_table[] = {
    {"only", 0, OPT_STRING, offsetof(struct cleanup_opts, only), "THREAD,...", NULL,
     "Look at these threads alone"},
    {"unstarted", 0, OPT_FLAG, offsetof(struct cleanup_opts, unstarted), NULL, NULL,
     "Take away threads without a commit of their own as well, if all in them is clean"},
    {"dry-run", 'n', OPT_FLAG, offsetof(struct cleanup_opts, dry_run), NULL, NULL,
     "Only say what would be done"},
    {"json", 0, OPT_FLAG, offsetof(struct cleanup_opts, json), NULL, NULL,
     "Print one thread per line, as JSON"},
    {0},
};

static const enum exit_code exits[] = {EXIT_USAGE, EXIT_ENV, EXIT_SIGINT, EXIT_SIGTERM, EXIT_OK};

const struct command cmd_cleanup = {
    .name = "cleanup",
    .summary = "Take threads away whose work has been merged",
    .about =
        "Removes worktree and branch of each thread whose commits are in the branch that they "
        "are for, here or, after a git fetch, upstream: merged, rebased or squashed, or because "
        "all that they change is there already. Where gh is there it is asked as well about the "
        "pull request of a branch that was pushed, unless the git setting anabranch.forge names "
        "another program, which is not asked.\n\n"
        "Kept, with the reason, is a thread with anything that is not committed, with commits "
        "that are nowhere else, or, unless --unstarted is given, without a commit of its own, one "
        "in which a process is at "
        "work, and one that is locked. So is one with a submodule, clone or worktree inside that "
        "holds such things, ignored or not. One whose own file is damaged stays as well, and the "
        "exit code says so. Commits that were left behind in a worktree are saved "
        "first ('anabranch salvage'). With the last thread everything goes that was made in the "
        "repository for threads.",
    .examples = "anabranch cleanup --dry-run\tWhich threads would go, which stay, and why\n"
                "anabranch cleanup --unstarted --only api\tOne that nobody has begun\n"
                "anabranch cleanup --only api\tOne of them\n",
    .opts = opts_table,
    .options_size = sizeof(struct cleanup_opts),
    .exits = exits,
    .see_also = "git-worktree(1)",
    .run = run_cleanup,
};
