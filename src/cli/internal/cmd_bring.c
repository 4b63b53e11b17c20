#include "base/mem.h"
#include "base/node/node_build.h"
#include "cli/frame/commands.h"
#include "doc/doc.h"
#include "sys/clock.h"
#include "workspace/fill/include.h"

#include <stdint.h>

struct bring_opts {
    const char *root, *prefix, *work, *excludes, *brought;
    const char *keep, *run, *folder;
    struct opt_list shares;
    bool at_top;
};

enum { PROGRESS_MS = 500 };

static int print_count(const struct include_count *count)
{
    struct arena a = {0};
    autobuf struct buf line = BUF_INIT;
    struct node *data = node_new_map(&a);
    node_put_int(&a, data, "files", count->all.files);
    node_put_int(&a, data, "bytes", count->all.bytes);
    node_put_int(&a, data, "shared", count->all.cloned);
    node_put_int(&a, data, "kept", count->kept);
    doc_write_line(&line, data);
    buf_addch(&line, '\n');
    arena_done(&a);
    return cli_print(line.s, line.len);
}

static void tell_progress(void *ctx, const struct include_count *so_far)
{
    int64_t *told = ctx, now = clock_mono();
    if (now - *told < PROGRESS_MS)
        return;
    *told = now;
    (void)print_count(so_far); /* the last one's result counts */
}

static int run_bring(const void *options, int argc, char **argv)
{
    const struct bring_opts *opts = options;
    int64_t told = clock_mono();
    autofree char *list = mem_printf("%s/kept", opts->folder ? opts->folder : "");
    autofree char *left = mem_printf("%s/left", opts->folder ? opts->folder : "");
    struct include_keep keep = {
        .state = opts->keep, .run = opts->run, .folder = opts->folder, .list = list, .left = left};
    struct include bring = {
        .root = opts->root,
        .prefix = opts->prefix ? opts->prefix : "",
        .at_top = opts->at_top,
        .work = opts->work,
        .to = argv[0],
        .patterns = (const char *const *)argv + 1,
        .pattern_count = (size_t)argc - 1,
        .shares = opts->shares.v,
        .share_count = opts->shares.n,
        .keep = opts->keep ? &keep : NULL,
        .excludes = opts->excludes,
        .brought = opts->brought,
        .progress = tell_progress,
        .ctx = &told,
    };
    struct include_count count;
    struct err err = {0};
    if (!bring.root || !bring.work || !bring.excludes || !bring.brought)
        return cli_usage(&cmd_bring, "--root, --work, --excludes and --brought are needed");
    if (keep.state && (!keep.run || !keep.folder))
        return cli_usage(&cmd_bring, "--keep needs --run and --folder");
    if (include_run(&bring, &count, &err))
        return cli_fail(EXIT_ENV, "%s", err.msg);
    return print_count(&count);
}

static const struct opt opts_table[] = {
    {"root", 0, OPT_STRING, offsetof(struct bring_opts, root), "DIR", NULL, "The checkout"},
    {"prefix", 0, OPT_STRING, offsetof(struct bring_opts, prefix), "DIR", NULL,
     "The project below it"},
    {"at-top", 0, OPT_FLAG, offsetof(struct bring_opts, at_top), NULL, NULL,
     "Agents begin at the top of the workspace, not in the project"},
    {"work", 0, OPT_STRING, offsetof(struct bring_opts, work), "DIR", NULL,
     "Where workspaces are made"},
    {"excludes", 0, OPT_STRING, offsetof(struct bring_opts, excludes), "FILE", NULL,
     "Patterns for git, to be written"},
    {"brought", 0, OPT_STRING, offsetof(struct bring_opts, brought), "FILE", NULL,
     "The paths, to be written"},
    {"share", 0, OPT_LIST, offsetof(struct bring_opts, shares), "PATTERN", NULL,
     "What is to be shared"},
    {"keep", 0, OPT_STRING, offsetof(struct bring_opts, keep), "DIR", NULL,
     "Keep that for later runs, in our folder of the repository"},
    {"run", 0, OPT_STRING, offsetof(struct bring_opts, run), "RUN", NULL, "Who uses it ..."},
    {"folder", 0, OPT_STRING, offsetof(struct bring_opts, folder), "DIR", NULL,
     "... as long as this is there; a list of what is kept, and one of what is to go, are put "
     "there"},
    {0},
};

static const struct arg args[] = {
    {.name = "WORKSPACE", .help = "Where to"},
    {.name = "PATTERN",
     .help = "What, besides .worktreeinclude",
     .optional = true,
     .repeatable = true},
    {0},
};

const struct command cmd_bring = {
    .name = "__bring",
    .summary = "Copy what git does not look at into a workspace",
    .args = args,
    .opts = opts_table,
    .options_size = sizeof(struct bring_opts),
    .hidden = true,
    .run = run_bring,
};
