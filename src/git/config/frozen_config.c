#include "git/config/frozen_config.h"

#include "base/mem.h"
#include "base/text/str.h"
#include "base/text/text.h"
#include "git/config/config_file.h"
#include "git/fence.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SETTINGS_MAX = 64 << 20, INFO_MAX = 16 << 20, NAME_MAX_ = 4096 };

#define VARIABLE "ANABRANCH_GIT_CONFIG"
#define BELOW    "anabranch/" /* relative to the common folder */

/* The copy that this process uses. */
static struct {
    char *dir, *common;
    bool checked_parent; /* we have looked for a copy of our parent process */
} frozen;

struct listed {
    const char *scope, *key; /* the key ends at the newline before the value */
    size_t key_len;
    const char *value; /* NULL: none, which means true */
};

static bool next_listed(const struct buf *settings, size_t *at, struct listed *ret)
{
    const char *end = settings->s + settings->len, *scope = settings->s + *at;
    if (scope >= end)
        return false;
    const char *key = scope + strlen(scope) + 1;
    if (key >= end)
        return false;
    const char *lf = strchr(key, '\n');
    *at = (size_t)(key + strlen(key) + 1 - settings->s);
    *ret = (struct listed){scope, key, lf ? (size_t)(lf - key) : strlen(key), lf ? lf + 1 : NULL};
    return true;
}

static bool matches_pattern(const struct listed *l, const char *const *patterns)
{
    autofree char *key = mem_dup(l->key, l->key_len);
    for (; *patterns; patterns++) {
        if (fnmatch(*patterns, key, 0) == 0)
            return true;
    }
    return false;
}

static void add_shell_word(struct buf *out, const char *s)
{
    buf_addch(out, '\'');
    for (; *s; s++) {
        if (*s == '\'')
            buf_addstr(out, "'\\''");
        else
            buf_addch(out, *s);
    }
    buf_addch(out, '\'');
}

/* Wraps a command in a guard. git puts names of files into the text as words of the shell, and
 * passes others as arguments. The here-document keeps git's text unchanged, because no shell parses
 * it before the one that runs it. A file name that contains a line like the last one ends the text
 * early, but nothing after it runs, because the guard replaces the shell. */
static void add_guarded(struct buf *out, const char *dir, const char *command, bool takes_arguments)
{
    autobuf struct buf text = BUF_INIT;
    autofree char *guard = mem_printf("%s/anabranch-guard", dir);
    /* Lift our own limit, which is for git only (sys/proc/spawn.c). */
    buf_addstr(&text, "ulimit -S -d unlimited 2>/dev/null\nexec ");
    add_shell_word(&text, guard);
    buf_addstr(&text, " --program 1 -- sh /dev/fd/9 \"$@\" 9<<'ANABRANCH_END'\n");
    buf_addf(&text, "%s%s\nANABRANCH_END\n", command, takes_arguments ? " \"$@\"" : "");
    git_setting_quote(out, text.s, text.len);
}

static void add_value(struct buf *out, const char *dir, const struct listed *l)
{
    static const char *const programs[] = {"filter.*.clean", "filter.*.smudge", "filter.*.process",
                                           "merge.*.driver", NULL};
    static const char *const with_arguments[] = {"diff.external", "diff.*.command",
                                                 "diff.*.textconv", NULL};
    bool takes_arguments = matches_pattern(l, with_arguments);
    if (*l->value && (takes_arguments || matches_pattern(l, programs)))
        add_guarded(out, dir, l->value, takes_arguments);
    else
        git_setting_quote(out, l->value, strlen(l->value));
}

/* The key is "section.name" or "section.SUBSECTION.name"; the subsection may contain anything. */
static void add_setting(struct buf *out, const char *dir, const struct listed *l)
{
    autofree char *key = mem_dup(l->key, l->key_len);
    char *first = strchr(key, '.'), *last = strrchr(key, '.');
    if (!first)
        return;
    *first = *last = '\0';
    buf_addf(out, "[%s", key);
    if (first != last) {
        buf_addch(out, ' ');
        git_setting_quote(out, first + 1, (size_t)(last - first - 1));
    }
    buf_addf(out, "]\n\t%s", last + 1);
    if (l->value) {
        buf_addstr(out, " = ");
        add_value(out, dir, l);
    }
    buf_addch(out, '\n');
}

/* The list already contains the included settings, and extensions.worktreeConfig must be off,
 * because the copy has no settings of worktrees in their own files. */
static void add_scope(struct buf *out, const char *dir, const struct buf *settings,
                      const char *scope, const char *other_scope)
{
    static const char *const left_out[] = {"include.path", "includeif.*",
                                           "extensions.worktreeconfig", NULL};
    struct listed l;
    for (size_t at = 0; next_listed(settings, &at, &l);) {
        if ((strcmp(l.scope, scope) == 0 || strcmp(l.scope, other_scope) == 0) &&
            !matches_pattern(&l, left_out))
            add_setting(out, dir, &l);
    }
}

static int write_scope(const char *dir, const char *name, const struct buf *settings,
                       const char *scope, const char *other_scope, struct err *err)
{
    autofree char *path = mem_printf("%s/%s", dir, name);
    autobuf struct buf text = BUF_INIT;
    add_scope(&text, dir, settings, scope, other_scope);
    return file_replace_private(path, text.s, text.len, err);
}

static int write_settings(const char *dir, const struct buf *settings, struct err *err)
{
    autofree char *path = mem_printf("%s/settings", dir);
    return write_scope(dir, "config", settings, "local", "local", err) ||
                   write_scope(dir, "global", settings, "system", "global", err) ||
                   file_replace_private(path, settings->s, settings->len, err)
               ? -1
               : 0;
}

static bool is_link_to(const char *path, const char *target)
{
    autobuf struct buf now = BUF_INIT;
    return file_read_link(AT_FDCWD, path, &now) == 0 && strcmp(now.s, target) == 0;
}

/* Another process of ours may do the same now, so we look again. */
static int make_link(const char *path, const char *to, struct err *err)
{
    enum { TRIES = 100 };
    for (int i = 0; i < TRIES; i++) {
        if (is_link_to(path, to))
            return 0;
        if (unlink(path) < 0 && errno != ENOENT)
            return err_sys(err, "remove '%s'", path);
        if (symlink(to, path) == 0)
            return 0;
        if (errno != EEXIST)
            break;
    }
    return err_sys(err, "link '%s'", path);
}

static int link_to(const char *dir, const char *name, const char *common, struct err *err)
{
    autofree char *path = mem_printf("%s/%s", dir, name);
    autofree char *to = mem_printf("%s/%s", common, name);
    return make_link(path, to, err);
}

/* Links nearly every entry, because a filter may keep its own files in the repository's folder. */
static int link_one(void *ctx, const char *common, const char *name, struct err *err)
{
    static const char *const not_linked[] = {
        "config", "config.worktree", "info",      "commondir",       "gitdir", "settings",
        "index",  "global",          "anabranch", "anabranch-guard", "*.lock", "worktree-*"};
    for (size_t i = 0; i < ARRAY_LEN(not_linked); i++) {
        if (fnmatch(not_linked[i], name, 0) == 0)
            return 0;
    }
    return link_to(ctx, name, common, err);
}

/* Links names that git may create while we run, and creates missing folders. git's locks and
 * renames work through a link to a file, but git creates no folder through a dangling link. */
static int link_all(const char *dir, const char *common, struct err *err)
{
    static const char *const folders[] = {"logs", "refs", "objects", NULL};
    static const char *const names[] = {"packed-refs", "shallow", "worktrees", "modules", NULL};
    for (const char *const *f = folders; *f; f++) {
        autofree char *path = mem_printf("%s/%s", common, *f);
        if (mkdir(path, 0777) < 0 && errno != EEXIST)
            return err_sys(err, "make '%s'", path);
    }
    for (const char *const *n = names; *n; n++) {
        if (link_to(dir, *n, common, err))
            return -1;
    }
    return dirs_each(common, link_one, (void *)dir, err);
}

static int copy_file(const char *from, const char *to, struct err *err)
{
    autobuf struct buf text = BUF_INIT;
    struct err why = {0};
    if (file_read(from, INFO_MAX, &text, &why))
        return why.errnum == ENOENT || why.errnum == ENOTDIR
                   ? 0
                   : err_set(err, why.code, "%s", why.msg);
    return file_replace_private(to, text.s, text.len, err);
}

static int copy_info(const char *dir, const char *common, struct err *err)
{
    static const char *const names[] = {"attributes", "exclude", "grafts", NULL};
    autofree char *info = mem_printf("%s/info", dir);
    if (mkdir(info, 0700) < 0 && errno != EEXIST)
        return err_sys(err, "make '%s'", info);
    for (const char *const *n = names; *n; n++) {
        autofree char *from = mem_printf("%s/info/%s", common, *n);
        autofree char *to = mem_printf("%s/%s", info, *n);
        if (copy_file(from, to, err))
            return -1;
    }
    return 0;
}

static int copy_worktree(void *ctx, const char *worktrees, const char *name, struct err *err)
{
    autofree char *from = mem_printf("%s/%s/config.worktree", worktrees, name);
    autofree char *to = mem_printf("%s/worktree-%s", (const char *)ctx, name);
    return copy_file(from, to, err);
}

/* Copies the settings of existing worktrees; an agent's worktree has none. */
static int copy_worktrees(const char *dir, const struct git_repo *repo, struct err *err)
{
    autofree char *main_from = mem_printf("%s/config.worktree", repo->common);
    autofree char *main_to = mem_printf("%s/worktree-", dir);
    autofree char *worktrees = mem_printf("%s/worktrees", repo->common);
    struct listed l;
    bool is_enabled = false;
    for (size_t at = 0; !is_enabled && next_listed(&repo->settings, &at, &l);)
        is_enabled = l.key_len == strlen("extensions.worktreeconfig") &&
                     str_begins(l.key, "extensions.worktreeconfig");
    if (!is_enabled)
        return 0;
    return copy_file(main_from, main_to, err) ||
                   dirs_each(worktrees, copy_worktree, (void *)dir, err)
               ? -1
               : 0;
}

static int link_guard(const char *dir, const char *guard, struct err *err)
{
    autofree char *path = mem_printf("%s/anabranch-guard", dir);
    return make_link(path, guard, err);
}

static void use_copy(const char *dir, const char *common)
{
    free(frozen.dir);
    free(frozen.common);
    frozen.dir = mem_str(dir);
    frozen.common = mem_str(common);
    frozen.checked_parent = true;
}

/* Adopts the copy of our parent process, if it uses one. */
static bool is_used(void)
{
    const char *dir = frozen.checked_parent ? NULL : getenv(VARIABLE);
    const char *below = dir ? strstr(dir, "/" BELOW) : NULL;
    for (const char *s = below; s && (s = strstr(s + 1, "/" BELOW));)
        below = s;
    if (below) {
        autofree char *common = mem_dup(dir, (size_t)(below - dir));
        use_copy(dir, common);
    }
    frozen.checked_parent = true;
    return frozen.dir;
}

static char *get_name_file(const struct git_repo *repo)
{
    return mem_printf("%s/" BELOW "frozen", repo->common);
}

static int note_last(const struct git_repo *repo, const char *dir, struct err *err)
{
    autofree char *path = get_name_file(repo);
    return file_replace_private(path, dir + strlen(repo->common) + 1,
                                strlen(dir) - strlen(repo->common) - 1, err);
}

int git_freeze(const struct git_repo *repo, const char *dir, const char *guard, struct err *err)
{
    if (mkdir(dir, 0700) < 0)
        return err_sys(err, "make '%s'", dir);
    if (write_settings(dir, &repo->settings, err) || copy_info(dir, repo->common, err) ||
        copy_worktrees(dir, repo, err) || link_all(dir, repo->common, err) ||
        link_guard(dir, guard, err) || note_last(repo, dir, err)) {
        git_frozen_remove(dir);
        return -1;
    }
    use_copy(dir, repo->common);
    return 0;
}

void git_frozen_remove(const char *dir)
{
    (void)dirs_remove(dir, NULL);
    free(frozen.dir);
    frozen.dir = NULL;
}

/* True if the repository was moved, or a power failure left the copy incomplete. */
static bool is_stale(const char *dir, const char *common)
{
    autofree char *path = mem_printf("%s/objects", dir), *config = mem_printf("%s/config", dir);
    autofree char *wanted = mem_printf("%s/objects", common);
    struct stat st;
    return !is_link_to(path, wanted) || lstat(config, &st) < 0 || st.st_size == 0;
}

/* Updates the copy. On a read-only file system an up-to-date copy is used unchanged; a stale one
 * cannot be used. */
static int update_copy(const struct git_repo *repo, const char *dir, const char *guard,
                       const struct buf *settings, bool *ret_fits, struct err *err)
{
    struct err why = {0};
    *ret_fits = true;
    if (((!guard && !is_stale(dir, repo->common)) || write_settings(dir, settings, &why) == 0) &&
        link_all(dir, repo->common, &why) == 0 && (!guard || link_guard(dir, guard, &why) == 0))
        return 0;
    *ret_fits = !is_stale(dir, repo->common);
    return why.errnum == EROFS ? 0 : err_set(err, why.code, "%s", why.msg);
}

int git_frozen_use(struct git_repo *repo, const char *dir, const char *guard, bool *ret_there,
                   struct err *err)
{
    autofree char *path = mem_printf("%s/settings", dir);
    autobuf struct buf settings = BUF_INIT;
    struct err why = {0};
    *ret_there = false;
    if (file_read_own(path, SETTINGS_MAX, &settings, &why))
        return why.errnum == ENOENT || why.errnum == ENOTDIR
                   ? 0
                   : err_set(err, why.code, "%s", why.msg);
    bool is_usable;
    if (update_copy(repo, dir, guard, &settings, &is_usable, err))
        return -1;
    if (!is_usable)
        return 0;
    git_core_done(&repo->core);
    git_core_read_all(&repo->core, &settings);
    git_fence_note(repo);
    use_copy(dir, repo->common);
    *ret_there = true;
    return 0;
}

char *git_frozen_last(const struct git_repo *repo)
{
    autobuf struct buf name = BUF_INIT;
    if (!repo->common)
        return NULL;
    autofree char *path = get_name_file(repo);
    if (file_read_own(path, NAME_MAX_, &name, NULL) || !str_begins(name.s, BELOW "runs/") ||
        strstr(name.s, ".."))
        return NULL;
    return mem_printf("%s/%s", repo->common, name.s);
}

static bool has_setting(const struct buf *settings, const struct listed *wanted)
{
    struct listed l;
    for (size_t at = 0; next_listed(settings, &at, &l);) {
        if (l.key_len == wanted->key_len && strcmp(l.key, wanted->key) == 0)
            return true;
    }
    return false;
}

static void add_new_setting(const struct listed *l, const char *key, struct strv *ret)
{
    autobuf struct buf text = BUF_INIT;
    text_add_harmless(&text, key);
    if (l->value && !git_setting_is_secret(key)) {
        buf_addch(&text, '=');
        text_add_harmless(&text, l->value);
    }
    strv_push(ret, text.s);
}

static void add_new_settings(const struct buf *frozen_settings, const struct buf *now,
                             struct strv *ret)
{
    struct listed l;
    for (size_t at = 0; next_listed(now, &at, &l);) {
        autofree char *key = mem_dup(l.key, l.key_len);
        bool names = git_setting_is_program(key) && fnmatch("*.required", key, 0) != 0;
        if (names && strcmp(l.scope, "command") != 0 && !has_setting(frozen_settings, &l))
            add_new_setting(&l, key, ret);
    }
}

void git_frozen_news(const struct git_repo *repo, const char *dir, struct strv *ret)
{
    autofree char *path = mem_printf("%s/settings", dir);
    autobuf struct buf frozen_settings = BUF_INIT;
    if (file_read_own(path, SETTINGS_MAX, &frozen_settings, NULL) == 0 &&
        (frozen_settings.len != repo->settings.len ||
         memcmp(frozen_settings.s, repo->settings.s, frozen_settings.len) != 0))
        add_new_settings(&frozen_settings, &repo->settings, ret);
}

bool git_frozen_replaces(const char *entry)
{
    static const char *const names[] = {"GIT_CONFIG_GLOBAL=", "GIT_CONFIG_SYSTEM=", VARIABLE "="};
    if (!is_used())
        return false;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_begins(entry, names[i]))
            return true;
    }
    return false;
}

void git_frozen_environment(struct strv *env)
{
    if (!is_used())
        return;
    strv_pushf(env, "GIT_CONFIG_GLOBAL=%s/global", frozen.dir);
    strv_push(env, "GIT_CONFIG_SYSTEM=/dev/null");
    strv_pushf(env, VARIABLE "=%s", frozen.dir);
}

static bool belongs_to(const char *git_dir, const char *common)
{
    size_t len = strlen(common);
    return strcmp(git_dir, common) == 0 ||
           (strncmp(git_dir, common, len) == 0 && str_begins(git_dir + len, "/worktrees/") &&
            !strchr(git_dir + len + strlen("/worktrees/"), '/'));
}

const char *git_frozen_common(const char *git_dir, const char *common)
{
    return is_used() && belongs_to(git_dir, frozen.common) &&
                   (!common || strcmp(common, frozen.common) == 0)
               ? frozen.dir
               : NULL;
}

bool git_frozen_is_foreign(const char *git_dir)
{
    return is_used() && !belongs_to(git_dir, frozen.common);
}

char *git_frozen_worktree(const char *git_dir)
{
    if (!is_used() || !belongs_to(git_dir, frozen.common))
        return NULL;
    bool in_main = strcmp(git_dir, frozen.common) == 0;
    autofree char *path =
        mem_printf("%s/worktree-%s", frozen.dir, in_main ? "" : strrchr(git_dir, '/') + 1);
    return access(path, F_OK) == 0 ? steal_ptr(path) : NULL;
}
