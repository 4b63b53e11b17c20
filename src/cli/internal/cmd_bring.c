#include "base/mem.h"
#include "base/node/node_build.h"
#include "cli/frame/commands.h"
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
    autoarena struct arena a = {0};
    struct node *data = node_new_map(&a);
    node_put_int(&a, data, "files", count->all.files);
    node_put_int(&a, data, "bytes", count->all.bytes);
    node_put_int(&a, data, "shared", count->all.cloned);
    node_put_int(&a, data, "kept", count->kept);
    return cli_print_json(data);
}

static void print_progress(void *ctx, const struct include_count *so_far)
{
    int64_t *last_print = ctx, now = clock_mono();
    if (now - *last_print < PROGRESS_MS)
        return;
    *last_print = now;
    (void)print_count(so_far); /* we report only a failure of the last print */
}

static int run_bring(const void *options, char **argv)
{
    const struct bring_opts *opts = options;
    int64_t last_print = clock_mono();
    autofree char *list = mem_printf("%s/kept", opts->folder ? opts->folder : "");
    autofree char *left = mem_printf("%s/left", opts->folder ? opts->folder : "");
    struct include_keep keep = {
        .state = opts->keep, .run = opts->run, .folder = opts->folder, .list = list, .left = left};
    struct include include = {
        .root = opts->root,
        .prefix = opts->prefix ? opts->prefix : "",
        .at_top = opts->at_top,
        .work = opts->work,
        .to = argv[0],
        .patterns = (const char *const *)argv + 1,
        .shares = opts->shares.v,
        .share_count = opts->shares.n,
        .keep = opts->keep ? &keep : NULL,
        .excludes = opts->excludes,
        .brought = opts->brought,
        .progress = print_progress,
        .ctx = &last_print,
    };
    struct include_count count;
    struct err err = {0};
    while (include.patterns[include.pattern_count])
        include.pattern_count++;
    if (!include.root || !include.work || !include.excludes || !include.brought)
        return cli_usage(&cmd_bring, "--root, --work, --excludes and --brought are required");
    if (keep.state && (!keep.run || !keep.folder))
        return cli_usage(&cmd_bring, "--keep needs --run and --folder");
    if (include_run(&include, &count, &err))
        return cli_fail(EXIT_ENV, "%s", err.msg);
    return print_count(&count);
}

static const struct opt opts_table[] = {
    {"root", 0, OPT_STRING, offsetof(struct bring_opts, root), "DIR", NULL, "The checkout"},
    {"prefix", 0, OPT_STRING, offsetof(struct bring_opts, prefix), "DIR", NULL,
     "The project's folder below it"},
    {"at-top", 0, OPT_FLAG, offsetof(struct bring_opts, at_top), NULL, NULL,
     "Agents start at the top of the workspace, not in the project"},
    {"work", 0, OPT_STRING, offsetof(struct bring_opts, work), "DIR", NULL,
     "The folder of the workspaces"},
    {"excludes", 0, OPT_STRING, offsetof(struct bring_opts, excludes), "FILE", NULL,
     "Write patterns for git into this file"},
    {"brought", 0, OPT_STRING, offsetof(struct bring_opts, brought), "FILE", NULL,
     "Write the included paths into this file"},
    {"share", 0, OPT_LIST, offsetof(struct bring_opts, shares), "PATTERN", NULL,
     "Share folders that match this pattern"},
    {"keep", 0, OPT_STRING, offsetof(struct bring_opts, keep), "DIR", NULL,
     "Keep shared folders for later runs, in this folder of the repository"},
    {"run", 0, OPT_STRING, offsetof(struct bring_opts, run), "RUN", NULL,
     "The run that uses the shared folders"},
    {"folder", 0, OPT_STRING, offsetof(struct bring_opts, folder), "DIR", NULL,
     "The run uses them as long as this folder exists; write the lists of kept folders and of "
     "folders to remove into it"},
    {0},
};

static const struct arg args[] = {
    {.name = "WORKSPACE", .help = "The workspace to copy to"},
    {.name = "PATTERN",
     .help = "More patterns, besides .worktreeinclude",
     .optional = true,
     .repeatable = true},
    {0},
};

const struct command cmd_bring = {
    .name = "__bring",
    .summary = "Copy ignored files into a workspace",
    .args = args,
    .opts = opts_table,
    .options_size = sizeof(struct bring_opts),
    .hidden = true,
    .run = run_bring,
};
