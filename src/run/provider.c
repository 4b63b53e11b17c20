#include "run/provider.h"

#include "base/mem.h"
#include "core/plan_words.h"
#include "sys/overlay.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int provider_try_overlay(const struct git_repo *repo, struct err *err)
{
    return repo->root ? overlay_probe(repo->common, err)
                      : err_set(err, ERR_ENV, "this is not in a git repository");
}

static bool is_large(const struct git_repo *repo)
{
    autofree char *index = repo->root ? mem_printf("%s/index", repo->git_dir) : NULL;
    struct stat st;
    return index && stat(index, &st) == 0 && st.st_size > WORKSPACE_LARGE_INDEX;
}

/* In a user namespace sudo and the like have no effect: who is not root must ask for it. */
enum provider provider_best(const struct git_repo *repo)
{
    struct err none = {0};
    bool overlay = geteuid() == 0 && is_large(repo) && provider_try_overlay(repo, &none) == 0;
    return overlay ? PROVIDER_OVERLAY : PROVIDER_AUTO;
}

/* Where the word is from, and in *ret the word. */
static const char *asked_by(const struct run *run, const char **ret)
{
    const char *word = getenv("ANABRANCH_PROVIDER");
    bool set = word && *word;
    *ret = set ? word : provider_words[run->pf->plan.provider];
    return set ? "ANABRANCH_PROVIDER" : "workspace.provider";
}

int provider_choose(struct run *run, struct err *err)
{
    const char *word, *from = asked_by(run, &word);
    enum provider provider = PROVIDER_UNSET;
    while (provider_words[provider] && strcmp(provider_words[provider], word) != 0)
        provider++;
    if (!provider_words[provider] || provider == PROVIDER_SNAPSHOT)
        return err_set(err, ERR_INPUT, "%s is '%.40s': there are auto, overlay, pool and checkout",
                       from, word);
    run->provider = provider == PROVIDER_UNSET ? PROVIDER_AUTO : provider;
    return 0;
}

int provider_try(struct run *run, struct err *err)
{
    const char *word, *from = asked_by(run, &word);
    struct err why = {0};
    if (run->provider == PROVIDER_AUTO && !run->only_reads)
        run->provider = provider_best(&run->pf->repo);
    else if (run->provider == PROVIDER_OVERLAY && run->base &&
             provider_try_overlay(&run->pf->repo, &why))
        return err_set(err, ERR_INPUT, "%s is '%s', which does not work here: %s", from, word,
                       why.msg);
    return 0;
}
