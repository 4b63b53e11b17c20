#include "git/checkout/switching_git.h"

#include "base/mem.h"
#include "base/own.h"
#include "base/strv.h"
#include "base/text/str.h"
#include "base/vec.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"
#include "sys/guard/proc_table.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char heads[] = "refs/heads/";

/* `switches`: may check out another branch. `writes`: may write back what it has read of the branch
 * that is checked out. */
static const struct command {
    const char *name;
    bool switches, writes;
} commands[] = {
    {"am", false, true},          {"bisect", false, true},   {"checkout", true, true},
    {"cherry-pick", false, true}, {"merge", false, true},    {"rebase", true, true},
    {"reset", false, true},       {"revert", false, true},   {"stash", false, true},
    {"switch", true, true},       {"worktree", true, false},
};

static const char *next_argument(const struct buf *arguments, const char *arg)
{
    const char *next = arg + strlen(arg) + 1;
    return next < arguments->s + arguments->len ? next : NULL;
}

static bool takes_value(const char *option)
{
    static const char *const all[] = {"-C",           "-c",           "--git-dir",
                                      "--work-tree",  "--namespace",  "--super-prefix",
                                      "--config-env", "--attr-source"};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        if (strcmp(option, all[i]) == 0)
            return true;
    }
    return false;
}

/* The argument that names the command. A git that is a script has its interpreter in front. */
static const char *find_command(const struct buf *arguments)
{
    const char *arg = arguments->len ? arguments->s : NULL;
    while (arg && strcmp(str_last_part(arg), "git") != 0)
        arg = next_argument(arguments, arg);
    arg = arg ? next_argument(arguments, arg) : NULL;
    while (arg && arg[0] == '-') {
        bool skip = takes_value(arg);
        arg = next_argument(arguments, arg);
        if (arg && skip)
            arg = next_argument(arguments, arg);
    }
    return arg;
}

static const struct command *read_command(const struct buf *arguments, const char **ret_rest)
{
    const char *name = find_command(arguments);
    *ret_rest = name ? next_argument(arguments, name) : NULL;
    for (size_t i = 0; name && i < ARRAY_LEN(commands); i++) {
        if (strcmp(name, commands[i].name) == 0)
            return &commands[i];
    }
    return NULL;
}

/* Such a git asks the user about each part of a file, and changes no branch. */
static bool asks_user(const struct buf *arguments, const char *rest)
{
    for (; rest && strcmp(rest, "--") != 0; rest = next_argument(arguments, rest)) {
        if (strcmp(rest, "-p") == 0 || strcmp(rest, "--patch") == 0)
            return true;
    }
    return false;
}

/* `-` and `@{-1}` are the branch before. A new worktree has the name of its branch. */
static bool may_name_branch(const char *arg, const char *branch)
{
    return strcmp(arg, "-") == 0 || str_begins(arg, "@{-") || str_ends(arg, branch);
}

const char *switching_git_to(const struct buf *arguments, const char *branch)
{
    const char *rest;
    const struct command *command = read_command(arguments, &rest);
    bool named = false;
    if (!command || !command->switches || asks_user(arguments, rest))
        return NULL;
    for (; rest && !named; rest = next_argument(arguments, rest))
        named = may_name_branch(rest, branch);
    return named ? command->name : NULL;
}

const char *switching_git_back(const struct buf *arguments)
{
    const char *rest;
    const struct command *command = read_command(arguments, &rest);
    return command && command->writes && !asks_user(arguments, rest) ? command->name : NULL;
}

struct search {
    const char *ours;
    struct strv folders;  /* work trees, and ... */
    struct strv git_dirs; /* ... the administrative folder of each */
};

static void search_done(struct search *s)
{
    strv_done(&s->folders);
    strv_done(&s->git_dirs);
}

static void add_work_tree(struct search *s, const char *dot_git, const char *git_dir)
{
    static const char end[] = "/.git";
    size_t len = strlen(dot_git), n = strlen(end);
    bool in_tree = len > n && strcmp(dot_git + len - n, end) == 0;
    autofree char *folder = mem_dup(dot_git, in_tree ? len - n : len);
    autofree char *real = realpath(folder, NULL);
    strv_push(&s->folders, real ? real : folder);
    strv_push(&s->git_dirs, git_dir);
}

/* The file gitdir of a worktree holds the path of its ".git". */
static int add_worktree(void *ctx, const char *dir, const char *name, struct err *err)
{
    struct search *s = ctx;
    autofree char *git_dir = mem_printf("%s/%s", dir, name);
    autofree char *path = mem_printf("%s/gitdir", git_dir);
    autobuf struct buf text = BUF_INIT;
    (void)err;
    if (s->ours && strncmp(name, s->ours, strlen(s->ours)) == 0)
        return 0;
    if (file_read_own(path, PATH_MAX, &text, NULL) == 0 && text.len && text.s[0] == '/') {
        text.s[strcspn(text.s, "\n")] = '\0';
        add_work_tree(s, text.s, git_dir);
    }
    return 0;
}

static bool is_rebasing(const char *git_dir)
{
    autofree char *merge = mem_printf("%s/rebase-merge", git_dir);
    autofree char *apply = mem_printf("%s/rebase-apply", git_dir);
    return access(merge, F_OK) == 0 || access(apply, F_OK) == 0;
}

/* True if this rebase has begun: then it returns to the branch that branch_use.h finds. */
static bool has_begun_rebase(const struct search *s, pid_t pid)
{
    for (size_t i = 0; i < s->folders.n; i++) {
        if (proc_table_is_in(pid, s->folders.v[i]) && is_rebasing(s->git_dirs.v[i]))
            return true;
    }
    return false;
}

static const char *find_switch(const struct search *s, pid_t pid, const struct buf *arguments,
                               const char *ref)
{
    const char *command = switching_git_to(arguments, ref + strlen(heads));
    return command && strcmp(command, "rebase") == 0 && has_begun_rebase(s, pid) ? NULL : command;
}

static int add_work_trees(struct search *s, const struct git_repo *repo, struct err *err)
{
    autofree char *worktrees = mem_printf("%s/worktrees", repo->common);
    if (repo->root) {
        strv_push(&s->folders, repo->root);
        strv_push(&s->git_dirs, repo->git_dir);
    }
    add_work_tree(s, repo->common, repo->common);
    return dirs_each(worktrees, add_worktree, s, err);
}

int switching_git_find(const struct git_repo *repo, const char *ref, const char *path,
                       const char *ours, const char **ret_command, struct err *err)
{
    own_cleanup(search_done) struct search s = {.ours = ours};
    autoprocs struct proc_table gits = {0};
    *ret_command = NULL;
    if (path)
        strv_push(&s.folders, path);
    else if (add_work_trees(&s, repo, err))
        return -1;
    (void)proc_table_programs_in(&gits, "git", &s.folders, "ANABRANCH_RUN");
    for (size_t i = 0; !*ret_command && i < gits.all.n; i++) {
        autobuf struct buf arguments = BUF_INIT;
        pid_t pid = gits.all.v[i].pid;
        proc_table_arguments(pid, &arguments);
        *ret_command =
            path ? switching_git_back(&arguments) : find_switch(&s, pid, &arguments, ref);
    }
    return 0;
}
