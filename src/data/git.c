#include "data/git.h"

#include "base/mem.h"
#include "sys/proc.h"

#include <errno.h>
#include <string.h>

extern char **environ;

enum { OUTPUT_MAX = 1 << 30, GIT_FATAL = 128 };

/* What makes a repository another one, as `git rev-parse --local-env-vars` lists it, less those
 * that only carry configuration. */
static bool is_repository_variable(const char *entry)
{
    static const char *const names[] = {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES=",
        "GIT_COMMON_DIR=",
        "GIT_DIR=",
        "GIT_GRAFT_FILE=",
        "GIT_IMPLICIT_WORK_TREE=",
        "GIT_INDEX_FILE=",
        "GIT_INTERNAL_SUPER_PREFIX=",
        "GIT_NAMESPACE=",
        "GIT_NO_REPLACE_OBJECTS=",
        "GIT_OBJECT_DIRECTORY=",
        "GIT_PREFIX=",
        "GIT_REPLACE_REF_BASE=",
        "GIT_SHALLOW_FILE=",
        "GIT_WORK_TREE=",
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strncmp(entry, names[i], strlen(names[i])) == 0)
            return true;
    }
    return strncmp(entry, "LC_ALL=", 7) == 0 || strncmp(entry, "LANGUAGE=", 9) == 0;
}

static void clean_environment(struct strv *env)
{
    for (char **entry = environ; *entry; entry++) {
        if (!is_repository_variable(*entry))
            strv_push(env, *entry);
    }
    strv_push(env, "LC_ALL=C");
    strv_push(env, "GIT_OPTIONAL_LOCKS=0");
}

static int git_run(struct strv *argv, struct buf *out, struct buf *errout, int *ret_status,
                   struct err *err)
{
    autostrv struct strv env = {0};
    clean_environment(&env);
    return proc_capture(argv->v, env.v, OUTPUT_MAX, out, errout, ret_status, err);
}

/* git's complaint, without its "fatal: ", as one line. */
static int git_failed(const struct buf *errout, struct err *err)
{
    const char *line = errout->s;
    if (strncmp(line, "fatal: ", 7) == 0)
        line += 7;
    return err_set(err, ERR_ENV, "git: %.*s", (int)strcspn(line, "\n"), line);
}

/* The two lines that rev-parse gives: the top of the work tree, and dir below it with a slash. */
static void take_answer(struct git_repo *repo, char *answer)
{
    char *second = answer + strcspn(answer, "\n");
    if (*second)
        *second++ = '\0';
    second[strcspn(second, "\n")] = '\0';
    size_t len = strlen(second);
    if (len && second[len - 1] == '/')
        second[len - 1] = '\0';
    repo->root = mem_str(answer);
    repo->prefix = mem_str(second);
}

static int read_ignore_case(struct git_repo *repo, struct err *err)
{
    autostrv struct strv argv = {0};
    autobuf struct buf out = BUF_INIT, errout = BUF_INIT;
    int status;
    strv_pushl(&argv, "git", "-C", repo->root, "config", "--type=bool", "core.ignorecase", NULL);
    if (git_run(&argv, &out, &errout, &status, err))
        return -1;
    if (status >= GIT_FATAL)
        return git_failed(&errout, err);
    repo->ignore_case = strncmp(out.s, "true", 4) == 0;
    return 0;
}

int git_open(struct git_repo *repo, const char *dir, struct err *err)
{
    *repo = (struct git_repo){0};
    autostrv struct strv argv = {0};
    autobuf struct buf out = BUF_INIT, errout = BUF_INIT;
    int status;
    strv_pushl(&argv, "git", "-C", dir, "rev-parse", "--show-toplevel", "--show-prefix", NULL);
    struct err why = {0};
    if (git_run(&argv, &out, &errout, &status, &why))
        return why.errnum == ENOENT ? 0 : err_set(err, ERR_ENV, "%s", why.msg);
    if (status == 0 && out.len) {
        take_answer(repo, out.s);
        return read_ignore_case(repo, err);
    }
    if (strstr(errout.s, "not a git repository") || strstr(errout.s, "must be run in a work tree"))
        return 0;
    return git_failed(&errout, err);
}

void git_close(struct git_repo *repo)
{
    free(repo->root);
    free(repo->prefix);
    *repo = (struct git_repo){0};
}

int git_tracked(const struct git_repo *repo, struct buf *out, struct err *err)
{
    autostrv struct strv argv = {0};
    autobuf struct buf errout = BUF_INIT;
    int status;
    strv_pushl(&argv, "git", "-C", repo->root, "ls-files", "-z", NULL);
    if (git_run(&argv, out, &errout, &status, err))
        return -1;
    return status == 0 ? 0 : git_failed(&errout, err);
}
