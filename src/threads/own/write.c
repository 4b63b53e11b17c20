#include "threads/own/write.h"

#include "base/mem.h"
#include "base/text/str.h"
#include "base/text/text.h"
#include "sys/fs/path_target.h"
#include "threads/claude_settings.h"

#include <string.h>
#include <strings.h>

struct write {
    const struct git_repo *repo;
    const struct threads *all;
    const struct thread *thread;
    const char *root;
};

static void add_reason(struct buf *why, const char *path, const char *what)
{
    buf_addstr(why, why->len ? "; " : "");
    text_add_harmless(why, path);
    buf_addf(why, " %s", what);
}

/* The path relative to the worktree, or NULL if it is outside. */
static const char *get_relative_path(const char *root, const char *path)
{
    size_t len = strlen(root);
    bool is_inside = strncmp(path, root, len) == 0 && path[len] == '/' && path[len + 1];
    return is_inside ? path + len + 1 : NULL;
}

static bool is_protected(const char *rel)
{
    bool git = strncasecmp(rel, ".git", 4) == 0 && (rel[4] == '/' || !rel[4]);
    return git || strcasecmp(rel, CLAUDE_SETTINGS) == 0;
}

/* Ignored files are no changes. */
static int is_ignored(const struct write *w, const char *rel, bool *ret, struct err *err)
{
    struct git_place at = {
        .git_dir = w->thread->admin, .common = w->repo->common, .work_tree = w->thread->path};
    autostrv struct strv args = {0};
    autobuf struct buf errout = BUF_INIT, out = BUF_INIT;
    int status;
    strv_pushl(&args, "-C", w->root, "check-ignore", "--quiet", "--", NULL);
    strv_pushf(&args, "./%s", rel);
    if (git_try(&at, &args, &out, &errout, &status, err))
        return -1;
    *ret = status == 0;
    return 0;
}

static int judge_path(const struct write *w, const char *rel, bool *ret_may, struct buf *why,
                      struct err *err)
{
    struct own_path p = {.path = NULL};
    struct own_rules *rules = own_rules_new(w->all, w->repo->core.ignore_case);
    p.standing = own_judge(rules, w->thread, rel, &p.whose);
    own_rules_free(rules);
    *ret_may = own_is_inside(p.standing) || strcmp(rel, THREAD_BRIEF) == 0;
    if (!*ret_may && is_ignored(w, rel, ret_may, err))
        return -1;
    if (*ret_may)
        return 0;
    autobuf struct buf words = BUF_INIT;
    if (p.standing != OWN_TAKEN)
        buf_addstr(&words, "is ");
    own_path_describe(&p, &words);
    add_reason(why, rel, words.s);
    return 0;
}

static int check_path(const struct write *w, const char *path, bool *ret_may, struct buf *why,
                      char **ret_request, struct err *err)
{
    const char *rel = path ? get_relative_path(w->root, path) : NULL;
    *ret_may = false;
    if (!rel) {
        add_reason(why, path ? path : "a symlink", "is not in this thread's worktree");
        return 0;
    }
    if (is_protected(rel)) {
        add_reason(why, rel, "must not be written by agents");
        return 0;
    }
    if (judge_path(w, rel, ret_may, why, err))
        return -1;
    if (!*ret_may && !*ret_request)
        *ret_request = mem_str(rel);
    return 0;
}

/* Resolves symlinks in the folders, but not the file itself. */
static char *resolve_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    autofree char *folder = mem_dup(path, (size_t)(slash - path));
    autofree char *real = path_target(folder);
    return real ? mem_printf("%s/%s", real, slash + 1) : NULL;
}

static bool has_name(const char *path)
{
    const char *name = strrchr(path, '/') + 1;
    return *name && !str_is_dots(name);
}

int own_write(const struct git_repo *repo, const struct threads *all, const struct thread *t,
              const char *dir, const char *file, bool *ret_may, struct buf *why, char **ret_request,
              struct err *err)
{
    autofree char *path = *file == '/' ? mem_str(file) : mem_printf("%s/%s", dir, file);
    autofree char *root = path_target(t->path), *target = path_target(path);
    autofree char *place = has_name(path) ? resolve_folder(path) : NULL;
    struct write w = {.repo = repo, .all = all, .thread = t, .root = root ? root : t->path};
    *ret_request = NULL;
    if (check_path(&w, target, ret_may, why, ret_request, err))
        return -1;
    bool elsewhere = place && target && strcmp(place, target) != 0, may = true;
    if (elsewhere && check_path(&w, place, &may, why, ret_request, err))
        return -1;
    *ret_may = *ret_may && may;
    return 0;
}
