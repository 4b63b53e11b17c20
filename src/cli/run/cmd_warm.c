#include "base/mem.h"
#include "base/text/text.h"
#include "cli/common/plan_opts.h"
#include "cli/frame/commands.h"
#include "git/state_paths.h"
#include "plan/words.h"
#include "project/plan_file.h"
#include "run/prepare/provider.h"
#include "sys/clock.h"
#include "sys/fs/dirs.h"
#include "workspace/overlay/base_tree.h"
#include "workspace/overlay/shared_folders.h"
#include "workspace/overlay/shared_patterns.h"

#include <stdio.h>
#include <string.h>

struct warm_opts {
    struct plan_opts plan;
    const char *base;
};

/* Finds the provider that the next run will use. PROVIDER_AUTO: git fills the workspaces. */
static enum provider find_provider(const struct git_repo *repo, enum provider asked)
{
    const char *word = provider_of_environment();
    struct err none = {0};
    bool quick;
    if (!word)
        word = provider_words[asked];
    if (strcmp(word, "overlay") == 0)
        return provider_try_overlay(repo, &none) ? PROVIDER_AUTO : PROVIDER_OVERLAY;
    if (strcmp(word, "snapshot") == 0)
        return provider_try_snapshot(repo, NULL, &quick, &none) ? PROVIDER_AUTO : PROVIDER_SNAPSHOT;
    bool needs_git = strcmp(word, "pool") == 0 || strcmp(word, "checkout") == 0;
    return needs_git ? PROVIDER_AUTO : provider_best(repo, NULL);
}

static int make_base_tree(const struct git_repo *repo, const char *state, const char *commit)
{
    struct git_place at = {.git_dir = repo->common};
    autobase_tree struct base_tree base_tree = BASE_TREE_INIT;
    int64_t start = clock_mono();
    struct err err = {0};
    if (dirs_make(state, &err) || base_tree_make(&base_tree, &at, state, commit, &err))
        return cli_fail(EXIT_ENV, "%s", err.msg);
    return printf("the base tree of %.12s is ready, in %s (%.1f s)\n", commit, base_tree.dir,
                  (double)(clock_mono() - start) / 1000) < 0
               ? EXIT_ENV
               : EXIT_OK;
}

static int include_folder(struct shared_folders *shared, const char *root, const char *folder)
{
    autofree char *path = mem_dup(folder, strlen(folder) - 1);
    autobuf struct buf line = BUF_INIT;
    int64_t start = clock_mono();
    struct dir_sync_count count;
    struct err err = {0};
    if (shared_folders_bring(shared, root, path, NULL, NULL, &count, &err))
        return cli_fail(EXIT_ENV, "%s", err.msg);
    text_format_count(&line, count.files);
    buf_addf(&line, " files of %s are ready, ", path);
    text_format_count(&line, count.copied.files);
    buf_addf(&line, " of them new (%.1f s)\n", (double)(clock_mono() - start) / 1000);
    return cli_print(line.s, line.len);
}

static void trim_shared_folders(struct shared_folders *shared)
{
    autostrv struct strv left = {0};
    struct err none = {0};
    (void)shared_folders_trim(shared, &left, &none); /* `clean` removes the rest */
    for (size_t i = 0; i < left.n; i++)
        (void)dirs_remove(left.v[i], &none);
}

static int include_all(const char *state, const char *root, const struct strv *folders)
{
    autokept struct shared_folders shared = {.lock = -1};
    struct err err = {0};
    int code = EXIT_OK;
    if (shared_folders_open(&shared, state, NULL, &err))
        return cli_fail(EXIT_ENV, "%s", err.msg);
    for (size_t i = 0; code == EXIT_OK && i < folders->n; i++)
        code = include_folder(&shared, root, folders->v[i]);
    trim_shared_folders(&shared);
    return code;
}

static int include_shared_folders(const struct plan_file *pf, const char *state)
{
    const struct plan *plan = &pf->plan;
    autofree char *work = plan_file_work(pf, pf->repo.root);
    struct shared_patterns share = {.root = pf->repo.root,
                                    .prefix = pf->repo.prefix,
                                    .work = work,
                                    .patterns = plan->share.v,
                                    .pattern_count = plan->share.n};
    autostrv struct strv folders = {0}, rest = {0};
    struct err err = {0};
    if (shared_patterns_find(&share, &folders, &rest, &err))
        return cli_fail(EXIT_ENV, "%s", err.msg);
    return folders.n ? include_all(state, pf->repo.root, &folders) : EXIT_OK;
}

/* pf: the plan of the next run, or NULL. */
static int warm_repo(const struct git_repo *repo, const char *base, const struct plan_file *pf)
{
    struct git_place at = {.git_dir = repo->git_dir, .common = repo->common};
    autofree char *state = state_path(repo->common);
    autobuf struct buf commit = BUF_INIT;
    struct err err = {0};
    if (git_resolve(&at, base ? base : "HEAD", &commit, &err))
        return cli_fail_by(&err);
    enum provider provider = find_provider(repo, pf ? pf->plan.provider : PROVIDER_UNSET);
    if (provider == PROVIDER_AUTO)
        return printf("git fills the workspaces here: there is nothing to prepare\n") < 0 ? EXIT_ENV
                                                                                          : EXIT_OK;
    int code = make_base_tree(repo, state, commit.s);
    return code == EXIT_OK && pf && provider == PROVIDER_OVERLAY ? include_shared_folders(pf, state)
                                                                 : code;
}

static int warm_checkout(const char *base)
{
    autorepo struct git_repo repo = {0};
    struct err err = {0};
    if (git_open(&repo, ".", &err))
        return cli_fail(EXIT_ENV, "%s", err.msg);
    if (!repo.root)
        return cli_fail(EXIT_ENV, "this is not a git repository");
    return warm_repo(&repo, base, NULL);
}

static int warm_plan(const char *plan, const struct warm_opts *opts)
{
    autoplan struct plan_file pf;
    if (plan_open(&pf, plan, &opts->plan) != EXIT_OK)
        return EXIT_USAGE;
    if (!pf.repo.root)
        return cli_fail(EXIT_ENV, "the plan's folder is not in a git repository");
    return warm_repo(&pf.repo, opts->base ? opts->base : pf.plan.base, &pf);
}

static int run_warm(const void *options, char **argv)
{
    const struct warm_opts *opts = options;
    return argv[0] ? warm_plan(argv[0], opts) : warm_checkout(opts->base);
}

static const struct opt opts_table[] = {
    PLAN_OPTS,
    {"base", 0, OPT_STRING, offsetof(struct warm_opts, base), "BRANCH", NULL,
     "The branch or commit that the next run starts from (default: what is checked out)"},
    {0},
};

static const struct arg args[] = {
    {.name = "PLAN",
     .help = "The plan of the next run, for its base and its shared folders",
     .optional = true,
     .file = true},
    {0},
};

const struct command cmd_warm = {
    .name = "warm",
    .summary = "Prepare the base tree and shared folders of the next run",
    .about =
        "If workspaces are overlays or snapshots (workspace.provider), they show the files of "
        "one base tree, which the first run makes and later runs update. This command makes it "
        "now, so that the next run starts at once. The tree stays in the repository's folder "
        ".git/anabranch/pristine until nobody uses it and another one is made, or until "
        "'anabranch clean --all' removes it.\n\n"
        "With a PLAN, and if workspaces are overlays, the command also copies the folders that "
        "its workspace.share names, or the files that changed in them since the last time; they "
        "stay in .git/anabranch/shared.",
    .examples = "anabranch warm\tPrepare before a run, or from a hook after a pull\n"
                "anabranch warm plan.md\tAlso copy the node_modules that the plan shares\n",
    .args = args,
    .opts = opts_table,
    .options_size = sizeof(struct warm_opts),
    .exits = cli_usual_exits,
    .see_also = "anabranch-run(1), anabranch-doctor(1), anabranch-clean(1)",
    .run = run_warm,
};
