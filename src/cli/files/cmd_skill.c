#include "base/mem.h"
#include "base/text/text.h"
#include "cli/files/skill_text.h"
#include "cli/frame/cli.h"
#include "cli/frame/commands.h"
#include "git/git.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MAX = 4 << 20 };

struct skill_opts {
    bool user, project, agents_md, force;
};

static enum skill_form get_form(const struct skill_opts *opts)
{
    return opts->agents_md ? SKILL_SECTION : SKILL_FILE;
}

static const char *get_variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

/* Finds the folder of the user's own skills, as Claude Code does. */
static int find_user_folder(char **ret, struct err *err)
{
    const char *config = get_variable("CLAUDE_CONFIG_DIR"), *home = get_variable("HOME");
    if (!config && !home)
        return err_set(err, ERR_ENV, "neither CLAUDE_CONFIG_DIR nor HOME is set");
    *ret = config ? mem_str(config) : mem_printf("%s/.claude", home);
    return 0;
}

static int find_project_folder(char **ret, struct err *err)
{
    autorepo struct git_repo repo = {0};
    if (git_open(&repo, ".", err))
        return -1;
    if (!repo.root)
        return err_set(err, ERR_ENV,
                       "this is not a git repository; --user installs it for all of your "
                       "repositories");
    *ret = mem_str(repo.root);
    return 0;
}

/* Finds the folder and the name of the file to write. */
static int find_target(const struct skill_opts *opts, char **ret, const char **ret_name,
                       struct err *err)
{
    autofree char *top = NULL;
    if (opts->user ? find_user_folder(&top, err) : find_project_folder(&top, err))
        return -1;
    *ret_name = opts->agents_md ? "AGENTS.md" : "SKILL.md";
    *ret = opts->agents_md ? mem_str(top)
                           : mem_printf("%s/%sskills/anabranch", top, opts->user ? "" : ".claude/");
    return 0;
}

static int print_result(const char *path, const char *what)
{
    autobuf struct buf out = BUF_INIT;
    text_add_harmless(&out, path);
    buf_addf(&out, ": %s\n", what);
    return cli_print(out.s, out.len);
}

static int fail_changed(const char *path)
{
    return cli_fail(EXIT_USAGE,
                    "'%s' was changed by somebody; nothing was written: --force overwrites it, "
                    "'anabranch skill show' prints our text",
                    path);
}

/* A missing file counts as empty. */
static int read_old(const char *path, struct buf *ret, struct err *err)
{
    if (file_read(path, FILE_MAX, ret, err) == 0)
        return 0;
    return err->errnum == ENOENT ? 0 : -1;
}

static int install_skill(const struct skill_opts *opts)
{
    static const char *const words[] = {[SKILL_ABSENT] = "installed",
                                        [SKILL_CURRENT] = "is up to date",
                                        [SKILL_OURS] = "updated",
                                        [SKILL_THEIRS] = "overwritten"};
    autofree char *folder = NULL;
    const char *name;
    struct err err = {0};
    if (find_target(opts, &folder, &name, &err))
        return cli_fail_by(&err);
    autofree char *path = mem_printf("%s/%s", folder, name);
    autobuf struct buf old = BUF_INIT, new = BUF_INIT;
    enum skill_state state;
    if (read_old(path, &old, &err))
        return cli_fail_by(&err);
    if (skill_renew(get_form(opts), &old, &state, &new, &err)) {
        (void)err_wrap(&err, "'%s'", path);
        return cli_fail_by(&err);
    }
    if (state == SKILL_THEIRS && !opts->force)
        return fail_changed(path);
    if (state != SKILL_CURRENT &&
        (dirs_make_open(folder, &err) || file_replace(path, new.s, new.len, &err)))
        return cli_fail_by(&err);
    return print_result(path, words[state]);
}

static int print_skill(const struct skill_opts *opts)
{
    autobuf struct buf out = BUF_INIT;
    skill_add_text(&out, get_form(opts));
    return cli_print(out.s, out.len);
}

static const char *const actions[] = {"install", "show", NULL};

static int run_skill(const void *options, char **argv)
{
    const struct skill_opts *opts = options;
    if (strcmp(argv[0], "show") == 0)
        return opts->user || opts->project || opts->force
                   ? cli_usage(&cmd_skill, "--user, --project and --force are for 'install'")
                   : print_skill(opts);
    if (opts->user && opts->project)
        return cli_usage(&cmd_skill, "--user and --project exclude each other");
    if (opts->user && opts->agents_md)
        return cli_usage(&cmd_skill, "--agents-md is for a project, not with --user");
    return install_skill(opts);
}

static const struct opt opts_table[] = {
    {"project", 0, OPT_FLAG, offsetof(struct skill_opts, project), NULL, NULL,
     "Install it for this repository, below .claude/skills at its top (the default)"},
    {"user", 0, OPT_FLAG, offsetof(struct skill_opts, user), NULL, NULL,
     "Install it for all of your repositories, below skills in $CLAUDE_CONFIG_DIR or ~/.claude"},
    {"agents-md", 0, OPT_FLAG, offsetof(struct skill_opts, agents_md), NULL, NULL,
     "Install it as a section of AGENTS.md at the top of the repository"},
    {"force", 'f', OPT_FLAG, offsetof(struct skill_opts, force), NULL, NULL,
     "Overwrite the text even if somebody has changed it"},
    {0},
};

static const struct arg args[] = {
    {.name = "ACTION", .help = "The action", .choices = actions},
    {0},
};

const struct command cmd_skill = {
    .name = "skill",
    .summary = "Teach a coding agent to plan and carry out threads",
    .about =
        "The skill is a text for Claude Code (SKILL.md), or for any agent that reads AGENTS.md. "
        "It explains how to draft a plan whose threads do not overlap, to check it and fan it "
        "out, and later to watch, converge and clean up.\n\n"
        "install writes it and prints the path. After an update of anabranch, install updates "
        "the text. It does not overwrite text that somebody has changed, and in AGENTS.md it "
        "changes only the section of anabranch.",
    .examples = "anabranch skill install\tInstall it for everyone in this repository\n"
                "anabranch skill install --user\tInstall it for yourself, everywhere\n"
                "anabranch skill install --agents-md\tInstall it for other agents\n"
                "anabranch skill show\tPrint it\n",
    .args = args,
    .opts = opts_table,
    .options_size = sizeof(struct skill_opts),
    .exits = cli_usual_exits,
    .see_also = "anabranch-plan(5)",
    .run = run_skill,
};
