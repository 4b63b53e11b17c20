#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/text.h"
#include "clean/clean.h"
#include "cli/common/lookup.h"
#include "cli/common/removal_table.h"
#include "cli/frame/commands.h"
#include "doc/doc.h"
#include "sys/self_exe.h"

#include <string.h>

struct clean_opts {
    bool dry_run, all, json;
    const char *run;
};

static void add_json(const struct removals *r, const struct clean_item *item, struct buf *out)
{
    autoarena struct arena a = {0};
    struct node *map = node_new_map(&a);
    node_put_string(&a, map, "action", removal_word(r, item->action));
    node_put_string(&a, map, "kind", item->kind);
    node_put_string(&a, map, "name", item->name);
    node_put_string(&a, map, "why", item->why);
    node_put_string(&a, map, "salvage", item->salvage);
    if (item->bytes >= 0)
        node_put_int(&a, map, "bytes", item->bytes);
    if (item->partial)
        node_put_bool(&a, map, "partial", true);
    doc_write_whole_line(out, map);
}

static void add_line(struct removals *r, const struct clean_item *item, struct buf *out)
{
    removal_add_word(r, item->action, out);
    text_addf(out, "%s %s: %s", item->kind, item->name, item->why);
    removal_add_bytes(r, item, out);
    buf_addch(out, '\n');
}

static void print_item(void *ctx, const struct clean_item *item)
{
    struct removals *r = ctx;
    autobuf struct buf out = BUF_INIT;
    if (r->json)
        add_json(r, item, &out);
    else
        add_line(r, item, &out);
    removal_tell(r, item->action, &out);
}

static int run_clean(const void *options, char **argv)
{
    (void)argv;
    const struct clean_opts *given = options;
    struct removals r = {.dry_run = given->dry_run, .json = given->json};
    struct err err = {0};
    autolook struct lookup look;
    int code = lookup_find(&look);
    autoreport struct report run = {0};
    if (code == EXIT_OK && given->run)
        code = lookup_run(&look, given->run, &run);
    if (code != EXIT_OK)
        return code;
    if (lookup_with_its_git(&look.repo, &err))
        return cli_fail(EXIT_ENV, "%s", err.msg);
    struct clean_options opts = {.repo = &look.repo,
                                 .state_dir = look.state_dir,
                                 .store = look.store,
                                 .self = self_path(),
                                 .dry_run = given->dry_run,
                                 .all = given->all,
                                 .run = run.row.id,
                                 .waiting = cli_waiting,
                                 .tell = print_item,
                                 .ctx = &r};
    if (clean(&opts, &err))
        return cli_fail_by(&err);
    return removals_end(&r, "There is nothing to clean.\n");
}

static const struct opt opts_table[] = {
    {"dry-run", 'n', OPT_FLAG, offsetof(struct clean_opts, dry_run), NULL, NULL,
     "Only print what would be done"},
    {"all", 0, OPT_FLAG, offsetof(struct clean_opts, all), NULL, NULL,
     "Also remove workspaces with conflicts, kept workspaces and those of interrupted runs, after "
     "saving their work, and the logs of all ended runs"},
    {"run", 0, OPT_STRING, offsetof(struct clean_opts, run), "RUN", NULL,
     "Also remove the leftovers of this interrupted run, after saving its work"},
    {"json", 0, OPT_FLAG, offsetof(struct clean_opts, json), NULL, NULL,
     "Print one thing per line, as JSON, with its size in bytes"},
    {0},
};

const struct command cmd_clean = {
    .name = "clean",
    .summary = "Remove the leftovers of runs, but never unsaved work",
    .about =
        "Removes workspaces, branches and refs of runs that have ended or crashed, if their "
        "target branch has all of their work; all other work is saved first ('anabranch "
        "salvage'). Worktrees that are half removed are repaired for that. Large folders are "
        "deleted in the background ('deleting'). If something cannot be removed, the command "
        "says why and what helps, and the exit code is 3. It prints the disk space of each "
        "thing, and the total at the end.\n\n"
        "It keeps, and prints the reason: things of a live run, folders that a process works "
        "in, locked things, a branch that is checked out somewhere, and, without --all, "
        "workspaces with a conflict or with changes of yours, and those of an interrupted run, "
        "which can be resumed (after --all or --run its unfinished tasks restart from scratch). "
        "It keeps logs for 30 days, and the base tree until --all. Saved work is never removed; "
        "see 'anabranch salvage drop'.",
    .examples = "anabranch clean --dry-run\tPrint what would be removed or kept, and why\n"
                "anabranch clean --run 20260301\tAlso remove the leftovers of an interrupted run\n"
                "anabranch clean --all\tKeep only saved work and live runs\n",
    .opts = opts_table,
    .options_size = sizeof(struct clean_opts),
    .exits = cli_usual_exits,
    .see_also = "git-worktree(1)",
    .run = run_clean,
};
