#include "run/land/clean_tree.h"

#include "agent/engine/env.h"
#include "base/mem.h"
#include "base/text/hash.h"
#include "run/prepare/delete_later.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The folder for clean trees, outside the project. */
static const char *get_temp_folder(void)
{
    const char *tmp = getenv("TMPDIR");
    return tmp && *tmp == '/' ? tmp : "/tmp";
}

static char *make_tree_folder(struct attempt *attempt, struct err *err)
{
    autofree char *path = mem_printf("%s/anabranch-%s-%s.XXXXXX", get_temp_folder(),
                                     attempt->run->id, task_of(attempt)->id);
    if (!mkdtemp(path)) {
        (void)err_sys(err, "make '%s'", path);
        return NULL;
    }
    return steal_ptr(path);
}

static int make_folder(const char *top, const char *name, struct err *err)
{
    autofree char *path = mem_printf("%s/%s", top, name);
    return mkdir(path, 0777) < 0 ? err_sys(err, "make '%s'", path) : 0;
}

static int write_text(const char *top, const char *name, const char *text, struct err *err)
{
    autofree char *path = mem_printf("%s/%s", top, name);
    return file_create(path, text, strlen(text), err);
}

/* Makes a minimal repository: git finds the commit and its history in it. */
static int make_repository(const struct attempt *attempt, struct err *err)
{
    static const char *const folders[] = {"home",
                                          "tmp",
                                          "tree",
                                          "tree/.git",
                                          "tree/.git/refs",
                                          "tree/.git/objects",
                                          "tree/.git/objects/info"};
    bool sha256 = attempt->candidate.len == HASH_SHA256_DIGITS;
    autofree char *head = mem_printf("%s\n", attempt->candidate.s);
    autofree char *objects = mem_printf("%s/objects\n", attempt->run->pf->repo.common);
    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        if (make_folder(attempt->clean_tree, folders[i], err))
            return -1;
    }
    return write_text(attempt->clean_tree, "tree/.git/HEAD", head, err) ||
                   write_text(attempt->clean_tree, "tree/.git/objects/info/alternates", objects,
                              err) ||
                   write_text(attempt->clean_tree, "tree/.git/config",
                              sha256 ? "[core]\n\trepositoryFormatVersion = 1\n"
                                       "[extensions]\n\tobjectFormat = sha256\n"
                                     : "[core]\n\trepositoryFormatVersion = 0\n",
                              err)
               ? -1
               : 0;
}

/* Uses the project's settings and filters, but fills the whole tree. */
static int start_fill(struct attempt *attempt, void (*next)(struct attempt *, int), struct err *err)
{
    autofree char *tree = mem_printf("%s/tree", attempt->clean_tree);
    autofree char *index = mem_printf("%s/.git/index", tree);
    autofree char *log = attempt_file(attempt, "prepare.log");
    struct git_place at = {
        .git_dir = attempt->run->pf->repo.common, .work_tree = tree, .index = index};
    autostrv struct strv argv = {0}, env = {0};
    git_prepare(&at, &argv, &env);
    strv_pushl(&argv, "-c", "core.sparseCheckout=false", "read-tree", "--reset", "-u",
               attempt->candidate.s, NULL);
    return process_start(attempt, argv.v, env.v, tree, log, next, err);
}

int clean_tree_make(struct attempt *attempt, void (*next)(struct attempt *, int), struct err *err)
{
    attempt->clean_tree = make_tree_folder(attempt, err);
    return !attempt->clean_tree || make_repository(attempt, err) || start_fill(attempt, next, err)
               ? -1
               : 0;
}

char *clean_tree_cwd(const struct attempt *attempt)
{
    const char *prefix = attempt->run->pf->repo.prefix;
    return mem_printf("%s/tree%s%s", attempt->clean_tree, *prefix ? "/" : "", prefix);
}

void clean_tree_environment(const struct attempt *attempt, struct strv *env)
{
    static const char *const variables[] = {"XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME",
                                            "XDG_STATE_HOME"};
    static const char *const below[] = {".config", ".cache", ".local/share", ".local/state"};
    autofree char *cwd = clean_tree_cwd(attempt);
    env_set(env, "HOME", "%s/home", attempt->clean_tree);
    env_set(env, "TMPDIR", "%s/tmp", attempt->clean_tree);
    env_set(env, "ANABRANCH_WORKSPACE", "%s", cwd);
    for (size_t i = 0; i < ARRAY_LEN(variables); i++)
        env_set(env, variables[i], "%s/home/%s", attempt->clean_tree, below[i]);
}

void clean_tree_remove(struct attempt *attempt)
{
    autofree char *top = steal_ptr(attempt->clean_tree);
    autostrv struct strv paths = {0};
    struct err err = {0};
    if (!top)
        return;
    strv_push(&paths, top);
    if (delete_later_is_worth_it(attempt) ? delete_later(attempt->run, attempt->task, &paths, &err)
                                          : dirs_remove(top, &err))
        record_error(attempt->run, attempt->task, &err);
}

void clean_tree_tidy(const struct run *run)
{
    autofree char *name_prefix = mem_printf("anabranch-%s-", run->id);
    struct err none = {0};
    (void)dirs_remove_entries(get_temp_folder(), name_prefix, "", &none);
}
