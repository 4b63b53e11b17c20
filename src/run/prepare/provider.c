#include "run/prepare/provider.h"

#include "base/mem.h"
#include "plan/words.h"
#include "run/state/run_state.h"
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

/* Returns the lowest folder of a path that exists. */
static char *find_existing_parent(const char *path)
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
    autofree char *at = find_existing_parent(work ? work : repo->root);
    return btrfs_try(repo->common, at, ret_quick, err);
}

bool provider_is_large(const struct git_repo *repo)
{
    autofree char *index = repo->root ? mem_printf("%s/index", repo->git_dir) : NULL;
    struct stat st;
    return index && stat(index, &st) == 0 && st.st_size > WORKSPACE_LARGE_INDEX;
}

/* Only root gets overlays by default: in a user namespace sudo and similar programs have no
 * effect, so other users must request them. */
enum provider provider_best(const struct git_repo *repo, const char *work)
{
    struct err none = {0};
    bool quick;
    if (!provider_is_large(repo))
        return PROVIDER_AUTO;
    if (geteuid() == 0 && provider_try_overlay(repo, &none) == 0)
        return PROVIDER_OVERLAY;
    return provider_try_snapshot(repo, work, &quick, &none) == 0 ? PROVIDER_SNAPSHOT
                                                                 : PROVIDER_AUTO;
}

const char *provider_of_environment(void)
{
    const char *value = getenv("ANABRANCH_PROVIDER");
    return value && *value ? value : NULL;
}

/* Returns the name of the setting that requests a provider; *ret is its value. */
static const char *requested_by(const struct run *run, const char **ret)
{
    const char *value = provider_of_environment();
    *ret = value ? value : provider_words[run->pf->plan.provider];
    return value ? "ANABRANCH_PROVIDER" : "workspace.provider";
}

int provider_choose(struct run *run, struct err *err)
{
    const char *value, *source = requested_by(run, &value);
    enum provider provider = PROVIDER_UNSET;
    while (provider_words[provider] && strcmp(provider_words[provider], value) != 0)
        provider++;
    if (!provider_words[provider])
        return err_set(err, ERR_INPUT,
                       "%s is '%.40s': use auto, overlay, snapshot, pool or checkout", source,
                       value);
    run->work.provider = provider == PROVIDER_UNSET ? PROVIDER_AUTO : provider;
    return 0;
}

static int try_requested(const struct run *run, struct err *err)
{
    bool quick;
    if (run->work.provider == PROVIDER_OVERLAY)
        return provider_try_overlay(&run->pf->repo, err);
    if (run->work.provider == PROVIDER_SNAPSHOT)
        return provider_try_snapshot(&run->pf->repo, run->work.dir, &quick, err);
    return 0;
}

/* A disk that cannot be written says nothing about the provider. */
static bool is_disk_error(const struct err *why)
{
    return why->errnum == EROFS || why->errnum == ENOSPC || why->errnum == EDQUOT ||
           why->errnum == EIO;
}

int provider_try(struct run *run, struct err *err)
{
    const char *value, *source = requested_by(run, &value);
    struct err why = {0}, none = {0};
    if (run->work.provider == PROVIDER_AUTO && run->base.name)
        run->work.provider = provider_best(&run->pf->repo, run->work.dir);
    else if (run->base.name && try_requested(run, &why))
        return err_set(err, is_disk_error(&why) ? ERR_ENV : ERR_INPUT,
                       "%s is '%s', which does not work here: %s", source, value, why.msg);
    /* Enter the namespace before we open a workspace: for the kernel a folder opened outside is
     * a different one. If this fails, so does the first mount, which reports it. */
    if (run->base.name && run->work.provider == PROVIDER_OVERLAY)
        (void)overlay_enter(&none);
    return 0;
}
