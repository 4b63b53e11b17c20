#include "base/clock.h"
#include "base/mem.h"
#include "cli/commands.h"
#include "data/pristine.h"
#include "run/provider.h"
#include "sys/dirs.h"

#include <stdio.h>
#include <string.h>

struct warm_opts {
    const char *base;
};

/* Whether runs here make their workspaces of such a tree: as is asked for, or by themselves. */
static bool is_wanted(const struct git_repo *repo)
{
    const char *word = provider_of_environment();
    struct err none = {0};
    bool quick;
    if (word && strcmp(word, "overlay") == 0)
        return provider_try_overlay(repo, &none) == 0;
    if (word && strcmp(word, "snapshot") == 0)
        return provider_try_snapshot(repo, NULL, &quick, &none) == 0;
    return provider_best(repo, NULL) != PROVIDER_AUTO;
}

static int make(const struct git_repo *repo, const char *commit)
{
    struct git_place at = {.git_dir = repo->common};
    autofree char *state = mem_printf("%s/anabranch", repo->common);
    autopristine struct pristine p = PRISTINE_INIT;
    int64_t start = clock_mono();
    struct err err = {0};
    if (dirs_make(state, &err) || pristine_make(&p, &at, state, commit, &err))
        return cli_fail(EXIT_ENV, "%s", err.msg);
    return printf("the files of %.12s are ready, in %s (%.1f s)\n", commit, p.dir,
                  (double)(clock_mono() - start) / 1000) < 0
               ? EXIT_ENV
               : EXIT_OK;
}

static int warm(const struct git_repo *repo, const char *base)
{
    struct git_place at = {.git_dir = repo->git_dir, .common = repo->common};
    autobuf struct buf commit = BUF_INIT;
    struct err err = {0};
    if (git_resolve(&at, base ? base : "HEAD", &commit, &err))
        return cli_fail(err.code == ERR_INPUT ? EXIT_USAGE : EXIT_ENV, "%s", err.msg);
    if (!is_wanted(repo))
        return printf("workspaces are filled by git here: there is nothing to make ahead\n") < 0
                   ? EXIT_ENV
                   : EXIT_OK;
    return make(repo, commit.s);
}

static int run_warm(const void *options, int argc, char **argv)
{
    const struct warm_opts *opts = options;
    struct git_repo repo = {0};
    struct err err = {0};
    (void)argc, (void)argv;
    int code = EXIT_OK;
    if (git_open(&repo, ".", &err))
        code = cli_fail(EXIT_ENV, "%s", err.msg);
    else if (!repo.root)
        code = cli_fail(EXIT_ENV, "this is not a git repository");
    else
        code = warm(&repo, opts->base);
    git_close(&repo);
    return code;
}

static const struct opt opts_table[] = {
    {"base", 0, OPT_STRING, offsetof(struct warm_opts, base), "BRANCH", NULL,
     "The branch, or any commit, that the next run begins at; otherwise what is checked out"},
    {0},
};

static const enum exit_code exits[] = {EXIT_USAGE, EXIT_ENV, EXIT_OK};

const struct command cmd_warm = {
    .name = "warm",
    .summary = "Make ready what the next run's workspaces share",
    .about =
        "Where workspaces are overlays or snapshots (workspace.provider), they show the files of "
        "one pristine tree, which the first run makes, and later ones bring forward. This does so "
        "now: the next run begins at once. The tree stays, in the repository's folder "
        ".git/anabranch/pristine, "
        "until nobody uses it and another one is made, or 'anabranch clean --all' takes it away.",
    .examples = "anabranch warm\tBefore a run, or from a hook after a pull\n",
    .opts = opts_table,
    .options_size = sizeof(struct warm_opts),
    .exits = exits,
    .see_also = "anabranch-run(1), anabranch-doctor(1), anabranch-clean(1)",
    .run = run_warm,
};
