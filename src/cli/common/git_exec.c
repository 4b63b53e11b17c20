#include "cli/common/git_exec.h"

#include "base/mem.h"
#include "cli/frame/cli.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* git and its pager print for the user here, so we give them the user's locale. */
static void use_own_locale(struct strv *env)
{
    const char *own = getenv("LC_ALL");
    for (size_t i = 0; i < env->n; i++) {
        if (strncmp(env->v[i], "LC_ALL=", strlen("LC_ALL=")) != 0)
            continue;
        free(env->v[i]);
        env->v[i] = mem_printf("LC_ALL=%s", own ? own : "");
    }
}

int git_exec(const struct git_repo *repo, const struct strv *args, const char *index)
{
    autostrv struct strv argv = {0}, env = {0};
    git_environment_at(repo->common, &env);
    use_own_locale(&env);
    if (index)
        strv_pushf(&env, "GIT_INDEX_FILE=%s", index);
    strv_push(&argv, "git");
    if (!isatty(STDOUT_FILENO))
        strv_push(&argv, "--no-pager");
    for (size_t i = 0; i < args->n; i++)
        strv_push(&argv, args->v[i]);
    (void)execvpe("git", argv.v, env.v);
    return cli_fail(EXIT_ENV, "cannot run git: %s", strerror(errno));
}
