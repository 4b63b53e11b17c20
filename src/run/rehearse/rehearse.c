#include "run/rehearse/rehearse.h"

#include "base/mem.h"
#include "sys/fs/dirs.h"
#include "sys/proc/capture.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 1 << 20 };

/* Reads prompts from the original project: the clone lacks uncommitted files. */
static void fix_prompts(struct plan_file *pf)
{
    struct plan *plan = &pf->plan;
    for (size_t i = 0; i < plan->task_count; i++) {
        struct task *t = &plan->tasks[i];
        if (t->prompt_file && *t->prompt_file != '/')
            t->prompt_file = arena_printf(&plan->arena, "%s/%s", pf->project, t->prompt_file);
    }
}

static bool remove_command(struct plan_command *command)
{
    bool some = command->shell || command->argv.n;
    *command = (struct plan_command){0};
    return some;
}

/* Removes the plan's commands. Returns true if there were any. */
static bool remove_commands(struct plan *plan)
{
    bool some = plan->commit_hooks;
    plan->commit_hooks = false;
    some |= remove_command(&plan->setup);
    some |= remove_command(&plan->teardown);
    some |= remove_command(&plan->land_verify);
    for (size_t i = 0; i < plan->task_count; i++)
        some |= remove_command(&plan->tasks[i].verify);
    return some;
}

static void adapt_plan(struct rehearsal *r, struct plan_file *pf, bool with_commands)
{
    fix_prompts(pf);
    pf->plan.notify = (struct notify_list){.said = true};
    pf->plan.workspace_dir = NULL; /* it may be outside the clone */
    if (!with_commands)
        r->commands_left_out = remove_commands(&pf->plan);
}

static int make_folder(char **ret, struct err *err)
{
    const char *tmp = getenv("TMPDIR");
    autofree char *path = mem_printf("%s/anabranch-rehearsal-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(path))
        return err_sys(err, "make a folder like '%s'", path);
    *ret = realpath(path, NULL);
    return *ret ? 0 : err_sys(err, "resolve '%s'", path);
}

static int find_base(const struct plan_file *pf, const char *base, char **ret, struct err *err)
{
    autofree char *git_dir = mem_printf("%s/.git", pf->repo.root);
    struct git_place here = {.git_dir = git_dir};
    autobuf struct buf head = BUF_INIT;
    if (!base)
        base = pf->plan.base;
    if (!base && git_call(&here, &head, err, "symbolic-ref", "--short", "-q", "HEAD", NULL))
        return err_set(err, ERR_INPUT,
                       "no branch is checked out: name the one to land on with --base");
    *ret = mem_str(base ? base : head.s);
    return 0;
}

static int git_clone(const char *from, const char *to, struct err *err)
{
    autostrv struct strv argv = {0}, env = {0};
    autobuf struct buf out = BUF_INIT, errout = BUF_INIT;
    int status;
    git_environment(&env);
    strv_pushl(&argv, "git", "clone", "--quiet", "--shared", "--no-checkout", "--no-tags",
               "--template=", "--", from, to, NULL);
    if (proc_capture(argv.v, env.v, WORDS_MAX, &out, &errout, &status, err))
        return -1;
    if (status == 0)
        return 0;
    return err_set(err, ERR_ENV, "cannot clone the repository: %s", errout.s);
}

/* True for settings of the repository that affect commits, merges or checkouts. */
static bool is_wanted_setting(const char *key)
{
    static const char *const prefixes[] = {
        "user.",         "author.",  "committer.", "filter.", "merge.",
        "core.autocrlf", "core.eol", "core.attr",  "commit.", NULL};
    for (size_t i = 0; prefixes[i]; i++) {
        if (strncmp(key, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    }
    return false;
}

/* git lists "key\nvalue", or "key" alone for a setting without a value, each followed by a NUL. */
static int copy_settings(const struct git_place *from, const struct git_place *to, struct err *err)
{
    autobuf struct buf list = BUF_INIT;
    if (git_call(from, &list, err, "config", "--local", "--list", "-z", NULL))
        return -1;
    for (char *key = list.s, *next; key < list.s + list.len; key = next) {
        next = key + strlen(key) + 1;
        char *line = strchr(key, '\n');
        if (line)
            *line = '\0';
        if (is_wanted_setting(key) && git_call(to, NULL, err, "config", "--local", "--add", key,
                                               line ? line + 1 : "true", NULL))
            return -1;
    }
    return 0;
}

/* Gives the clone only the base branch, with HEAD on another ref. Nothing is checked out, so no
 * checkout has to follow when the branch moves. */
static int set_base(const struct git_place *from, const struct git_place *to, const char *base,
                    struct err *err)
{
    autofree char *ref = mem_printf("refs/heads/%s", base);
    autobuf struct buf commit = BUF_INIT;
    if (git_resolve(from, ref, &commit, NULL))
        return err_set(err, ERR_INPUT, "there is no branch '%s' with a commit", base);
    if (git_call(to, NULL, err, "symbolic-ref", "HEAD", "refs/anabranch/nothing", NULL))
        return -1;
    return git_call(to, NULL, err, "update-ref", ref, commit.s, NULL);
}

static int make_clone(const struct plan_file *pf, const char *base, const char *dir,
                      struct err *err)
{
    autofree char *git_dir = mem_printf("%s/.git", dir);
    struct git_place from = {.git_dir = pf->repo.common}, to = {.git_dir = git_dir};
    if (git_clone(pf->repo.common, dir, err) || copy_settings(&from, &to, err))
        return -1;
    return set_base(&from, &to, base, err);
}

/* Points the plan to the clone. Claims stay valid: they are relative to the root. */
static int enter_clone(struct plan_file *pf, const char *dir, struct err *err)
{
    const char *below = pf->project + strlen(pf->repo.root);
    autofree char *project = mem_printf("%s%s", dir, below);
    struct git_repo repo;
    if (dirs_make(project, err) || git_open(&repo, project, err))
        return -1;
    git_close(&pf->repo);
    pf->repo = repo;
    free(pf->project);
    pf->project = steal_ptr(project);
    return 0;
}

int rehearsal_open(struct rehearsal *r, struct plan_file *pf, const char *base, bool with_commands,
                   struct err *err)
{
    *r = (struct rehearsal){0};
    if (pf->repo.root && find_base(pf, base, &r->base, err))
        return -1;
    if (make_folder(&r->dir, err))
        return -1;
    adapt_plan(r, pf, with_commands);
    autofree char *dir = mem_printf("%s/clone", r->dir);
    if (pf->repo.root)
        return make_clone(pf, r->base, dir, err) || enter_clone(pf, dir, err) ? -1 : 0;
    free(pf->project);
    pf->project = steal_ptr(dir);
    return dirs_make(pf->project, err);
}

int rehearsal_close(struct rehearsal *r, bool keep, struct err *err)
{
    int rc = r->dir && !keep ? dirs_remove(r->dir, err) : 0;
    free(r->dir);
    free(r->base);
    *r = (struct rehearsal){0};
    return rc;
}
