#include "cli/common/lookup.h"

#include "base/mem.h"
#include "base/strv.h"
#include "base/text/text.h"
#include "cli/frame/cli.h"
#include "git/config/frozen_config.h"
#include "git/state_paths.h"

#include <string.h>
#include <unistd.h>

/* Outside a repository, we look for the project's .anabranch folder here and in parent folders. */
static char *find_state_dir(void)
{
    autofree char *at = realpath(".", NULL);
    while (at && *at) {
        autofree char *file = mem_printf("%s/.anabranch/state.db", at);
        if (access(file, F_OK) == 0)
            return mem_printf("%s/.anabranch", at);
        *strrchr(at, '/') = '\0';
    }
    return mem_str(".anabranch");
}

static int open_repo(struct lookup *look, struct err *err)
{
    *look = (struct lookup){0};
    if (git_open(&look->repo, ".", err))
        return -1;
    look->state_dir = look->repo.common ? state_path(look->repo.common) : find_state_dir();
    return 0;
}

static bool has_runs(const struct lookup *look)
{
    autofree char *runs = runs_path(look->state_dir);
    return access(runs, F_OK) == 0;
}

int lookup_with_its_git(struct git_repo *repo, struct err *err)
{
    autofree char *last = git_frozen_last(repo);
    autostrv struct strv news = {0};
    bool found;
    if (!last)
        return 0;
    if (git_frozen_use(repo, last, NULL, &found, err))
        return -1;
    if (found)
        git_frozen_news(repo, last, &news);
    for (size_t i = 0; i < news.n; i++)
        (void)fprintf(
            stderr,
            "anabranch: git's configuration names a program that it did not name when the "
            "last run began, which is not run here: %s\n",
            news.v[i]);
    return 0;
}

bool lookup_is_there(void)
{
    autolook struct lookup look;
    return open_repo(&look, NULL) == 0 && has_runs(&look);
}

int lookup_open_repair(struct lookup *look, bool repairs)
{
    struct err err = {0};
    if (open_repo(look, &err) || lookup_with_its_git(&look->repo, &err) ||
        store_open(&look->store, look->state_dir, repairs && has_runs(look), &err))
        return cli_fail_by(&err);
    if (store_notice(look->store))
        (void)fprintf(stderr, "anabranch: %s\n", store_notice(look->store));
    return EXIT_OK;
}

int lookup_open(struct lookup *look)
{
    return lookup_open_repair(look, false);
}

int lookup_find(struct lookup *look)
{
    struct err err = {0};
    if (open_repo(look, &err))
        return cli_fail_by(&err);
    if (store_open(&look->store, look->state_dir, false, &err) && err.code != ERR_INPUT)
        return cli_fail_by(&err);
    return EXIT_OK;
}

void lookup_close(struct lookup *look)
{
    store_close(look->store);
    git_close(&look->repo);
    free(look->state_dir);
}

static bool add_run_id(void *ctx, const struct store_run *run)
{
    strv_push(ctx, run->id);
    return true;
}

static int fail_no_run(const struct strv *ids, const char *word)
{
    const char *meant = text_nearest(word, (const char *const *)ids->v, ids->n);
    if (meant)
        return cli_fail(EXIT_USAGE, "there is no run '%s'; did you mean '%s'?", word, meant);
    return cli_fail(EXIT_USAGE, "there is no run '%s'; 'anabranch history' lists them", word);
}

/* ids: newest first. */
static int choose_run(const struct strv *ids, const char *word, const char **ret)
{
    *ret = NULL;
    if (!ids->n)
        return cli_fail(EXIT_USAGE, "nothing was ever run in this repository");
    if (!word || strcmp(word, "last") == 0) {
        *ret = ids->v[0];
        return EXIT_OK;
    }
    for (size_t i = 0; *word && i < ids->n; i++) {
        if (strncmp(ids->v[i], word, strlen(word)) != 0)
            continue;
        if (*ret)
            return cli_fail(EXIT_USAGE, "'%s' could be the run %s or %s", word, *ret, ids->v[i]);
        *ret = ids->v[i];
    }
    return *ret ? EXIT_OK : fail_no_run(ids, word);
}

int lookup_run(struct lookup *look, const char *word, struct report *ret)
{
    autostrv struct strv ids = {0};
    const char *id;
    struct err err = {0};
    if (store_each_run(look->store, add_run_id, &ids, &err))
        return cli_fail_by(&err);
    int code = choose_run(&ids, word, &id);
    if (code != EXIT_OK)
        return code;
    return report_load(ret, look->store, look->state_dir, id, &err) ? cli_fail_by(&err) : EXIT_OK;
}

int lookup_task(const struct report *r, const char *id, const struct report_task **ret)
{
    *ret = map_get(&r->by_id, id, strlen(id));
    if (*ret)
        return EXIT_OK;
    autofree const char **ids = mem_array(r->n + 1, sizeof(*ids));
    for (size_t i = 0; i < r->n; i++)
        ids[i] = r->tasks[i].row.id;
    const char *meant = text_nearest(id, ids, r->n);
    if (meant)
        return cli_fail(EXIT_USAGE, "run %s has no task '%s'; did you mean '%s'?", r->row.id, id,
                        meant);
    return cli_fail(EXIT_USAGE, "run %s has no task '%s'", r->row.id, id);
}

int lookup_open_run(struct lookup *look, const char *word, struct report *ret)
{
    int code = lookup_open(look);
    return code == EXIT_OK ? lookup_run(look, word, ret) : code;
}

int lookup_open_task(struct lookup *look, const char *word, const char *id, struct report *ret,
                     const struct report_task **ret_task)
{
    int code = lookup_open_run(look, word, ret);
    return code == EXIT_OK ? lookup_task(ret, id, ret_task) : code;
}

const struct opt lookup_opts_table[] = {LOOKUP_RUN_OPT(struct lookup_opts), {0}};

const struct arg lookup_task_args[] = {{.name = "TASK", .help = "The task's id"}, {0}};
