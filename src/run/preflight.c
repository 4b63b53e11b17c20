/*
 * Checks that need no side effect, before a run starts.
 */
#include "run/preflight.h"

#include "agent/agent.h"
#include "base/mem.h"
#include "git/format/loose_ref.h"
#include "git/state_paths.h"
#include "run/prepare/provider.h"
#include "run/state/run_state.h"
#include "run/state/status.h"
#include "sys/fs/dirs.h"
#include "sys/proc/spawn.h"
#include "sys/proc/stuck.h"

#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { DISK_MIN = 64 << 20 };

static bool is_wanted(const struct run *run, size_t task)
{
    return !run->opts.wanted || run->opts.wanted[task];
}

static bool only_reads(const struct run *run)
{
    for (size_t i = 0; i < run->pf->plan.task_count; i++) {
        if (is_wanted(run, i) && !run->pf->plan.tasks[i].read_only)
            return false;
    }
    return true;
}

static int check_engines(const struct run *run, struct err *err)
{
    for (uint32_t i = 0; i < run->pf->plan.task_count; i++) {
        const struct task *t = &run->pf->plan.tasks[i];
        if (is_wanted(run, i) &&
            (agent_check(run_engine(run, i), t, run_program(run, run_engine(run, i)), err) ||
             agent_check_instead(run_engine(run, i), t, err) ||
             (t->fallback.engine &&
              agent_check(run_fallback_engine(run, i), t,
                          run_program(run, run_fallback_engine(run, i)), err))))
            return err_wrap(err, "task '%s'", t->id);
    }
    return 0;
}

static int check_variables(const struct run *run, struct err *err)
{
    for (size_t i = 0; i < run->pf->plan.task_count; i++) {
        const struct task *t = &run->pf->plan.tasks[i];
        for (size_t k = 0; is_wanted(run, i) && k < t->env.n; k++) {
            const char *from = t->env.v[k].from;
            if (from && !getenv(from))
                return err_set(err, ERR_ENV, "task '%s': the variable '%s', for '%s', is not set",
                               t->id, from, t->env.v[k].name);
        }
    }
    return 0;
}

/* Finds the program that a command starts. Returns nothing if only a shell can know it, or if it is
 * a file of the project, which a task may create first. */
static void find_program(const struct plan_command *cmd, struct buf *ret)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "_-+./";
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+./ :=,@%";
    const char *line = cmd->shell ? cmd->shell : cmd->argv.n ? cmd->argv.v[0] : "";
    size_t len = cmd->shell ? strspn(line, letters) : strlen(line);
    bool is_plain =
        !cmd->shell || (line[strspn(line, plain)] == '\0' && (!line[len] || line[len] == ' '));
    if (is_plain && (*line == '/' || !memchr(line, '/', len)))
        buf_add(ret, line, len);
}

/* Shell builtins: these need no program on PATH. */
static bool is_built_in(const char *word)
{
    static const char *const words[] = {
        ".",     "alias", "bg",   "break",   "case",   "cd",   "command", "continue", "echo",
        "eval",  "exec",  "exit", "export",  "false",  "fg",   "for",     "getopts",  "hash",
        "if",    "jobs",  "kill", "local",   "printf", "pwd",  "read",    "readonly", "return",
        "set",   "shift", "test", "times",   "trap",   "true", "type",    "ulimit",   "umask",
        "unset", "until", "wait", "unalias", "while",  NULL};
    for (size_t i = 0; words[i]; i++) {
        if (strcmp(words[i], word) == 0)
            return true;
    }
    return false;
}

static int check_command(const struct plan_command *cmd, struct err *err)
{
    autobuf struct buf program = BUF_INIT;
    find_program(cmd, &program);
    if (!program.len || (cmd->shell && is_built_in(program.s)) || spawn_finds(program.s))
        return 0;
    return err_set(err, ERR_ENV,
                   "cannot find the program '%s' of the verification: no agent starts "
                   "work that cannot be verified",
                   program.s);
}

/* We report a missing program before an agent costs money. If the plan has a setup, that may
 * install it. */
static int check_verifications(const struct run *run, struct err *err)
{
    const struct plan *plan = &run->pf->plan;
    for (size_t i = 0; i < plan->task_count && !plan->setup.shell && !plan->setup.argv.n; i++) {
        const struct task *t = &plan->tasks[i];
        if (is_wanted(run, i) && !t->read_only &&
            (check_command(&t->verify, err) || check_command(&plan->land_verify, err)))
            return err_wrap(err, "task '%s'", t->id);
    }
    return 0;
}

int preflight_git_version(const char *text, struct err *err)
{
    const char *number = text + strcspn(text, "0123456789");
    char *dot;
    long major = strtol(number, &dot, 10), minor = *dot == '.' ? strtol(dot + 1, NULL, 10) : 0;
    if (major < 2 || (major == 2 && minor < 38))
        return err_set(err, ERR_ENV, "git 2.38 or later is needed, this is: %s", text);
    return 0;
}

static int check_git(const struct git_place *at, struct err *err)
{
    autobuf struct buf version = BUF_INIT, who = BUF_INIT;
    if (git_batch_begin(at->batch, &version, err) || preflight_git_version(version.s, err))
        return -1;
    if (git_batch_ident(at->batch, GIT_BATCH_COMMITTER, &who, err) ||
        git_batch_ident(at->batch, GIT_BATCH_AUTHOR, &who, err))
        return err_set(err, ERR_ENV, "git does not know who you are: set user.name and user.email");
    return 0;
}

/* Finds the branch to land on and its commit. */
static int find_base(struct run *run, const struct git_place *at, struct err *err)
{
    const char *named = run->opts.base ? run->opts.base : run->pf->plan.base;
    static const char heads[] = "refs/heads/";
    autobuf struct buf commit = BUF_INIT, head = BUF_INIT;
    if (named) {
        run->base.name = mem_str(named);
    } else {
        struct git_place here = {.git_dir = run->pf->repo.git_dir};
        if (!loose_ref_head(here.git_dir, &head) &&
            git_call(&here, &head, err, "symbolic-ref", "HEAD", NULL) &&
            !strstr(err->msg, "not a symbolic ref"))
            return -1;
        if (strncmp(head.s, heads, strlen(heads)) != 0)
            return err_set(err, ERR_INPUT,
                           "no branch is checked out: name the one to land on with --base");
        run->base.name =
            mem_str(head.s + strlen(heads)); /* git's short name is longer beside a tag */
    }
    run->base.ref = mem_printf("%s%s", heads, run->base.name);
    if (git_resolve(at, run->base.ref, &commit, err))
        return err->code != ERR_INPUT
                   ? -1
                   : err_set(err, ERR_INPUT, "there is no branch '%s' with a commit",
                             run->base.name);
    run->base.start = mem_str(commit.s);
    run->base.tip = mem_str(commit.s);
    run->base.published = mem_str(commit.s);
    run->base.tip_ref = tip_ref_name(run->id);
    return 0;
}

/* A branch named like the first part of our branches' names makes git refuse those. */
static int check_branches(const struct run *run, const struct git_place *at, struct err *err)
{
    const char *pattern = run->opts.branch ? run->opts.branch : "anabranch/";
    autofree char *ref = mem_printf("refs/heads/%.*s", (int)strcspn(pattern, "/"), pattern);
    autobuf struct buf commit = BUF_INIT;
    if (!strchr(pattern, '/') || git_resolve(at, ref, &commit, NULL))
        return 0;
    const char *name = ref + strlen("refs/heads/");
    return err_set(err, ERR_ENV,
                   "the branch '%s' is in the way of the tasks' own, '%s/...': rename it with "
                   "'git branch -m %s NAME'",
                   name, name, name);
}

int preflight_disk(const char *path, struct err *err)
{
    struct statvfs fs;
    if (statvfs(path, &fs) < 0)
        return err_sys(err, "look at the disk of '%s'", path);
    if ((unsigned long long)fs.f_bavail * fs.f_frsize < DISK_MIN)
        return err_set(err, ERR_ENV, "less than 64 MiB are free on the disk of '%s'", path);
    return 0;
}

static void name_folders(struct run *run)
{
    const struct plan_file *pf = run->pf;
    run->files.state =
        pf->repo.root ? state_path(pf->repo.common) : mem_printf("%s/.anabranch", pf->project);
    run->files.dir = run_path(run->files.state, run->id);
    run->work.dir = plan_file_work(pf, pf->repo.root ? pf->repo.root : pf->project);
    if (pf->repo.root) {
        stuck_remove_below(pf->repo.common);
        stuck_remove_below(run->work.dir);
    }
}

int preflight(struct run *run, struct err *err)
{
    const struct plan_file *pf = run->pf;
    struct git_place at = run_place(run);
    const char *root = pf->repo.root ? pf->repo.root : pf->project;
    if (config_file_open(&run->config, root, NULL, err) ||
        contain_wanted(&run->guard.contain, err) || provider_choose(run, err) ||
        check_engines(run, err) || check_variables(run, err) || check_verifications(run, err))
        return -1;
    run->work.only_reads = only_reads(run);
    bool needs_git = !run->work.only_reads || !run->opts.read_in_place;
    if (pf->repo_unknown && needs_git)
        return err_set(err, ERR_ENV, "git could not tell whether '%s' is in a repository",
                       pf->project);
    if (!pf->repo.root && !run->work.only_reads)
        return err_set(err, ERR_ENV, "'%s' is not in a git repository", pf->project);
    if (pf->repo.root && needs_git &&
        (check_git(&at, err) || find_base(run, &at, err) || check_branches(run, &at, err)))
        return -1;
    name_folders(run);
    return preflight_disk(pf->project, err) || provider_try(run, err) ? -1 : 0;
}
