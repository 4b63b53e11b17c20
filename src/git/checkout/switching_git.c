#include "git/checkout/switching_git.h"

#include "base/mem.h"
#include "base/own.h"
#include "base/text/str.h"
#include "git/checkout/work_trees.h"
#include "sys/guard/proc_table.h"

#include <string.h>
#include <unistd.h>

static const char heads[] = "refs/heads/";

/* `switches`: may check out another branch. `writes`: may write back what it has read of the branch
 * that is checked out. `edits`: may wait in an editor. */
static const struct command {
    const char *name;
    bool switches, writes, edits;
} commands[] = {
    {"am", .writes = true, .edits = true},
    {"bisect", .writes = true},
    {"checkout", .switches = true, .writes = true},
    {"cherry-pick", .writes = true, .edits = true},
    {"merge", .writes = true, .edits = true},
    {"rebase", .switches = true, .writes = true, .edits = true},
    {"reset", .writes = true},
    {"revert", .writes = true, .edits = true},
    {"stash", .writes = true},
    {"switch", .switches = true, .writes = true},
    {"worktree", .switches = true},
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

static bool is_rebasing(const char *git_dir)
{
    autofree char *merge = mem_printf("%s/rebase-merge", git_dir);
    autofree char *apply = mem_printf("%s/rebase-apply", git_dir);
    return access(merge, F_OK) == 0 || access(apply, F_OK) == 0;
}

/* True if this rebase has begun: then it returns to the branch that branch_use.h finds. */
static bool has_begun_rebase(const struct work_trees *w, pid_t pid)
{
    for (size_t i = 0; i < w->git_dirs.n; i++) {
        if (proc_table_is_in(pid, w->folders.v[i]) && is_rebasing(w->git_dirs.v[i]))
            return true;
    }
    return false;
}

/* The last argument of an editor that git has started. */
static bool is_edited_file(const char *arg)
{
    static const char *const names[] = {"COMMIT_EDITMSG", "MERGE_MSG", "git-rebase-todo"};
    const char *slash = strrchr(arg, '/');
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (strcmp(slash ? slash + 1 : arg, names[i]) == 0)
            return true;
    }
    return false;
}

static bool is_editor(pid_t pid)
{
    autobuf struct buf arguments = BUF_INIT;
    bool edits = false;
    proc_table_arguments(pid, &arguments);
    const char *arg = arguments.len ? arguments.s : NULL;
    for (; arg && !edits; arg = next_argument(&arguments, arg))
        edits = is_edited_file(arg);
    return edits;
}

/* We may not see the folder of a git of another repository. */
static bool waits_in_editor(pid_t pid)
{
    autoprocs struct proc_table below = {0};
    bool found = false;
    proc_table_below(&below, pid);
    for (size_t i = 0; i < below.all.n && !found; i++)
        found = is_editor(below.all.v[i].pid);
    return found;
}

/* `branch`: see switching_git_to(); NULL: see switching_git_back(). */
static const char *read_git(const struct work_trees *w, pid_t pid, const char *branch)
{
    autobuf struct buf arguments = BUF_INIT;
    const char *rest;
    proc_table_arguments(pid, &arguments);
    const char *name =
        branch ? switching_git_to(&arguments, branch) : switching_git_back(&arguments);
    if (!name || (strcmp(name, "rebase") == 0 && has_begun_rebase(w, pid)))
        return NULL;
    return read_command(&arguments, &rest)->edits && waits_in_editor(pid) ? NULL : name;
}

int switching_git_find(const struct git_repo *repo, const char *ref, const char *path,
                       const char *ours, const char **ret_command, struct err *err)
{
    autoworktrees struct work_trees trees = {0};
    autoprocs struct proc_table gits = {0};
    *ret_command = NULL;
    if (path) {
        strv_push(&trees.folders, path);
    } else if (repo->root) {
        strv_push(&trees.folders, repo->root);
        strv_push(&trees.git_dirs, repo->git_dir);
    }
    if (!path && work_trees_find(&trees, repo->common, ours, err))
        return -1;
    (void)proc_table_programs_in(&gits, "git", &trees.folders, "ANABRANCH_RUN");
    for (size_t i = 0; !*ret_command && i < gits.all.n; i++)
        *ret_command = read_git(&trees, gits.all.v[i].pid, path ? NULL : ref + strlen(heads));
    return 0;
}
