#include "run/prepare/provider.h"

#include "base/mem.h"
#include "plan/words.h"
#include "sys/contain/overlayfs.h"
#include "sys/fs/btrfs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int provider_try_overlay(const struct git_repo *repo, struct err *err)
{
    return repo->root ? overlay_probe(repo->common, err)
                      : err_set(err, ERR_ENV, "this is not in a git repository");
}

/* The lowest folder of a path that is there. */
static char *existing(const char *path)
{
    char *at = mem_str(path);
    struct stat st;
    for (char *slash; stat(at, &st) < 0 && (slash = strrchr(at, '/')) && slash != at;)
        *slash = '\0';
    return at;
}

int provider_try_snapshot(const struct git_repo *repo, const char *work, bool *ret_quick,
                          struct err *err)
{
    if (!repo->root)
        return err_set(err, ERR_ENV, "this is not in a git repository");
    autofree char *at = existing(work ? work : repo->root);
    return btrfs_try(repo->common, at, ret_quick, err);
}

static bool is_large(const struct git_repo *repo)
{
    autofree char *index = repo->root ? mem_printf("%s/index", repo->git_dir) : NULL;
    struct stat st;
    return index && stat(index, &st) == 0 && st.st_size > WORKSPACE_LARGE_INDEX;
}

/* In a user namespace sudo and the like have no effect: who is not root must ask for it. */
enum provider provider_best(const struct git_repo *repo, const char *work)
{
    struct err none = {0};
    bool quick;
    if (!is_large(repo))
        return PROVIDER_AUTO;
    if (geteuid() == 0 && provider_try_overlay(repo, &none) == 0)
        return PROVIDER_OVERLAY;
    return provider_try_snapshot(repo, work, &quick, &none) == 0 ? PROVIDER_SNAPSHOT
                                                                 : PROVIDER_AUTO;
}

const char *provider_of_environment(void)
{
    const char *word = getenv("ANABRANCH_PROVIDER");
    return word && *word ? word : NULL;
}

/* Where the word is from, and in *ret the word. */
static const char *asked_by(const struct run *run, const char **ret)
{
    const char *word = provider_of_environment();
    *ret = word ? word : provider_words[run->pf->plan.provider];
    return word ? "ANABRANCH_PROVIDER" : "workspace.provider";
}

int provider_choose(struct run *run, struct err *err)
{
    const char *word, *from = asked_by(run, &word);
    enum provider provider = PROVIDER_UNSET;
    while (provider_words[provider] && strcmp(provider_words[provider], word) != 0)
        provider++;
    if (!provider_words[provider])
        return err_set(err, ERR_INPUT,
                       "%s is '%.40s': there are auto, overlay, snapshot, pool and checkout", from,
                       word);
    run->provider = provider == PROVIDER_UNSET ? PROVIDER_AUTO : provider;
    return 0;
}

static int try_asked(const struct run *run, struct err *err)
{
    bool quick;
    if (run->provider == PROVIDER_OVERLAY)
        return provider_try_overlay(&run->pf->repo, err);
    if (run->provider == PROVIDER_SNAPSHOT)
        return provider_try_snapshot(&run->pf->repo, run->work, &quick, err);
    return 0;
}

/* A disk on which nothing can be made says nothing about what was asked for. */
static bool is_of_disk(const struct err *why)
{
    return why->errnum == EROFS || why->errnum == ENOSPC || why->errnum == EDQUOT ||
           why->errnum == EIO;
}

int provider_try(struct run *run, struct err *err)
{
    const char *word, *from = asked_by(run, &word);
    struct err why = {0}, none = {0};
    if (run->provider == PROVIDER_AUTO && run->base)
        run->provider = provider_best(&run->pf->repo, run->work);
    else if (run->base && try_asked(run, &why))
        return err_set(err, is_of_disk(&why) ? ERR_ENV : ERR_INPUT,
                       "%s is '%s', which does not work here: %s", from, word, why.msg);
    /* Before a workspace is opened: to the kernel a folder that was opened outside is another one.
     * Where it fails, so does the first mount, which says so. */
    if (run->base && run->provider == PROVIDER_OVERLAY)
        (void)overlay_enter(&none);
    return 0;
}
