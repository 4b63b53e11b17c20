#include "threads/hooks.h"

#include "base/mem.h"
#include "base/text/shell_quote.h"
#include "git/config/excludes_file.h"
#include "git/config/worktree_config.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"
#include "sys/self_exe.h"
#include "threads/claude_settings.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { EXCLUDES_MAX = 64 << 20, PATH_TEXT_MAX = 1 << 16 };

#define KEY      "core.hooksPath"
#define EXCLUDED "/" CLAUDE_SETTINGS "\n"

static char *get_hooks_folder(const struct thread *t)
{
    return mem_printf("%s/anabranch.hooks", t->admin);
}

/* The end of every hook script. The script knows by its own name which hook it is. */
static const char chain_text[] =
    "name=${0##*/}\n"
    "while IFS='\t' read -r scope value; do\n"
    "    case $scope in system | global | local) hooks=$value ;; esac\n"
    "done <<END\n"
    "$(git config --show-scope --type=path --get-all core.hooksPath)\n"
    "END\n"
    "hooks=${own:-$hooks}\n"
    "case $hooks in /*) ;; *) hooks=./$hooks ;; esac\n"
    "[ -f \"$hooks/$name\" ] && [ -x \"$hooks/$name\" ] || exit 0\n"
    "exec \"$hooks/$name\" \"$@\"\n";

static const char gate_text[] =
    "[ -x \"$program\" ] || program=$(command -v anabranch)\n"
    "if [ -x \"$program\" ]; then\n"
    "    \"$program\" __own-commit\n"
    "    case $? in\n"
    "        0) ;;\n"
    "        126 | 127) program= ;;\n"
    "        *) exit 1 ;;\n"
    "    esac\n"
    "fi\n"
    "[ -x \"$program\" ] ||\n"
    "    echo 'anabranch is missing: not checked if this thread owns what it commits' >&2\n";

static const char head_text[] =
    "#!/bin/sh\n"
    "# Written by anabranch for this worktree alone; it then runs your own hook of this name.\n";

static void add_variable(struct buf *out, const char *name, const char *setting)
{
    autobuf struct buf quoted = BUF_INIT;
    shell_quote(&quoted, "", setting, NULL);
    buf_addf(out, "%s=%s\n", name, quoted.s + 1);
}

static int write_script(const char *folder, const char *name, const struct buf *text,
                        struct err *err)
{
    autofree char *path = mem_printf("%s/%s", folder, name);
    if (unlink(path) < 0 && errno != ENOENT)
        return err_sys(err, "replace '%s'", path);
    if (file_create(path, text->s, text->len, err))
        return -1;
    return chmod(path, 0755) < 0 ? err_sys(err, "make '%s' executable", path) : 0;
}

/* own: the folder that the worktree's own setting named before, or "". */
static int write_chain(const char *default_hooks, const char *folder, const char *own,
                       struct err *err)
{
    autobuf struct buf text = BUF_INIT;
    buf_addstr(&text, head_text);
    add_variable(&text, "hooks", default_hooks);
    add_variable(&text, "own", own);
    buf_addstr(&text, chain_text);
    return write_script(folder, "chain", &text, err);
}

static int write_gate(const char *folder, struct err *err)
{
    autobuf struct buf text = BUF_INIT;
    autofree char *chain = mem_printf("%s/chain", folder);
    const char *self = self_path();
    buf_addstr(&text, head_text);
    add_variable(&text, "program", self ? self : "");
    buf_addstr(&text, gate_text);
    shell_quote(&text, ".", chain, NULL);
    buf_addch(&text, '\n');
    return write_script(folder, "pre-commit", &text, err);
}

/* Having these hooks changes nothing in git, so we always install them: the user may add hooks
 * of the same names later. */
static const char *const harmless_hooks[] = {
    "applypatch-msg",     "pre-applypatch",     "post-applypatch", "pre-merge-commit",
    "prepare-commit-msg", "commit-msg",         "post-commit",     "pre-rebase",
    "post-checkout",      "post-merge",         "pre-push",        "pre-auto-gc",
    "post-rewrite",       "sendemail-validate",
};

static int link_hook(const char *folder, const char *name, struct err *err)
{
    autofree char *path = mem_printf("%s/%s", folder, name);
    return symlink("chain", path) < 0 && errno != EEXIST ? err_sys(err, "make '%s'", path) : 0;
}

/* Links all other hooks that the user's folder has now. */
static int link_others(const char *folder, const char *user_hooks, struct err *err)
{
    DIR *dir = opendir(user_hooks);
    if (!dir)
        return 0; /* git, too, takes this for no hooks */
    int rc = 0;
    for (struct dirent *e; rc == 0 && (e = readdir(dir));) {
        autofree char *path = mem_printf("%s/%s", user_hooks, e->d_name);
        struct stat st;
        if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0 &&
            !strstr(e->d_name, ".sample"))
            rc = link_hook(folder, e->d_name, err);
    }
    (void)closedir(dir);
    return rc;
}

int thread_hooks_find(const struct git_repo *repo, char **ret, struct err *err)
{
    struct git_place at = {.git_dir = repo->common};
    autostrv struct strv args = {0};
    autobuf struct buf out = BUF_INIT;
    const char *setting = NULL;
    int status;
    strv_pushl(&args, "config", "--show-scope", "-z", "--type=path", "--get-all", KEY, NULL);
    if (git_try(&at, &args, &out, NULL, &status, err))
        return -1;
    for (const char *p = out.s; p < out.s + out.len; p += strlen(p) + 1) {
        const char *scope = p;
        p += strlen(p) + 1;
        if (strcmp(scope, "command") != 0 && strcmp(scope, "worktree") != 0)
            setting = p; /* the last one counts, except for our own on the command line */
    }
    *ret = setting ? mem_str(setting) : NULL;
    return 0;
}

static int link_all(const struct thread *t, const char *folder, const char *user_hooks,
                    struct err *err)
{
    autofree char *path =
        *user_hooks == '/' ? mem_str(user_hooks) : mem_printf("%s/%s", t->path, user_hooks);
    for (size_t i = 0; i < ARRAY_LEN(harmless_hooks); i++) {
        if (link_hook(folder, harmless_hooks[i], err))
            return -1;
    }
    return link_others(folder, path, err);
}

/* Finds the folder that the worktree's own setting named before ours, even if ours is installed
 * already. A worktree that fanout made had none. */
static int find_worktree_hooks(const struct thread *t, const char *folder, struct buf *ret,
                               struct err *err)
{
    autofree char *saved_path = mem_printf("%s/own", folder);
    autofree char *file = mem_printf("%s/config.worktree", t->admin);
    struct git_place at = {.git_dir = t->admin};
    autostrv struct strv args = {0};
    int status;
    if (t->made || access(file, F_OK) < 0)
        return 0;
    if (access(saved_path, F_OK) == 0)
        return file_read(saved_path, PATH_TEXT_MAX, ret, err);
    strv_pushl(&args, "config", "--file", file, "-z", "--type=path", "--get", KEY, NULL);
    if (git_try(&at, &args, ret, NULL, &status, err))
        return -1;
    bool ours = strcmp(ret->s, folder) == 0;
    buf_cut(ret, ours ? 0 : strlen(ret->s));
    return ret->len ? file_replace(saved_path, ret->s, ret->len, err) : 0;
}

static int install_git_hooks(const struct git_repo *repo, const struct thread *t,
                             const char *shared, struct err *err)
{
    autofree char *folder = get_hooks_folder(t),
                  *default_hooks = mem_printf("%s/hooks", repo->common);
    autobuf struct buf own = BUF_INIT;
    if (dirs_make_open(folder, err) || find_worktree_hooks(t, folder, &own, err))
        return -1;
    const char *user_hooks = own.len ? own.s : shared && *shared ? shared : default_hooks;
    if (write_chain(default_hooks, folder, own.s, err) || write_gate(folder, err) ||
        link_all(t, folder, user_hooks, err))
        return -1;
    return worktree_config_set(t->admin, KEY, folder, err);
}

/* Keeps the settings from being committed. fanout has written a file of patterns for its
 * worktrees. */
static int exclude_settings(const struct thread *t, struct err *err)
{
    autofree char *path = mem_printf("%s/anabranch.excludes", t->admin);
    autobuf struct buf text = BUF_INIT;
    bool exists = access(path, F_OK) == 0;
    if (exists ? file_read(path, EXCLUDES_MAX, &text, err) : excludes_add_own(t->path, &text, err))
        return -1;
    if (exists && strstr(text.s, EXCLUDED))
        return 0;
    buf_addstr(&text, EXCLUDED);
    if (file_replace(path, text.s, text.len, err))
        return -1;
    return exists ? 0 : worktree_config_set(t->admin, "core.excludesFile", path, err);
}

static int install_claude_hook(const struct thread *t, struct err *err)
{
    autobuf struct buf command = BUF_INIT;
    const char *self = self_path();
    bool done;
    if (!self)
        return err_set(err, ERR_ENV, "cannot find the path of this program");
    shell_quote(&command, "", self, CLAUDE_HOOK, t->path, NULL);
    if (claude_settings_add(t, command.s + 1, &done, err))
        return -1;
    return done ? exclude_settings(t, err) : 0;
}

int thread_hooks_install(const struct git_repo *repo, const struct thread *t, const char *shared,
                         struct err *err)
{
    if (install_git_hooks(repo, t, shared, err))
        return -1;
    return strcmp(t->engine, "claude") == 0 ? install_claude_hook(t, err) : 0;
}
