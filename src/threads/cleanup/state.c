/*
 * Finds uncommitted changes in a thread's worktree, and checks if work has begun in it.
 */
#include "threads/cleanup/cleanup_private.h"

#include "base/mem.h"
#include "git/format/gitlinks.h"
#include "sys/fs/file.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

enum { MAX_NAMES = 3 };

struct names {
    struct buf text;
    size_t n;
};

static void add_name(struct names *names, const char *path)
{
    if (names->n++ < MAX_NAMES)
        buf_addf(&names->text, "%s'%.80s'", names->n > 1 ? ", " : "", path);
}

static bool is_in_tree(const struct thread *t, const char *path)
{
    autofree char *full = mem_printf("%s/%s", t->path, path);
    return access(full, F_OK) == 0;
}

/* Sets the options explicitly: the user may have configured git to show less. */
static int list_changed(const struct git_place *at, struct names *names, struct err *err)
{
    autobuf struct buf out = BUF_INIT;
    autostrv struct strv modules = {0};
    if (git_call(at, &out, err, "status", "--porcelain", "-z", "--untracked-files=normal",
                 "--ignore-submodules=dirty", NULL) ||
        gitlinks_changed(at, 0, true, &modules, err))
        return -1;
    for (const char *p = out.s; p < out.s + out.len; p += strlen(p) + 1) {
        if (strcmp(p, "?? " THREAD_BRIEF) != 0)
            add_name(names, p + strlen("XY "));
        if (*p == 'R' || *p == 'C')
            p += strlen(p) + 1;
    }
    for (size_t i = 0; i < modules.n; i++) {
        autofree char *shown = mem_printf("'%.80s'", modules.v[i]);
        if (!strstr(names->text.s, shown)) /* its commit may have changed, too */
            add_name(names, modules.v[i]);
    }
    return 0;
}

/* Adds files that git ignores changes of (assume-unchanged, skip-worktree). */
static int list_hidden(const struct git_place *at, const struct thread *t, struct names *names,
                       struct err *err)
{
    autobuf struct buf out = BUF_INIT;
    if (git_call(at, &out, err, "ls-files", "-v", "-z", NULL))
        return -1;
    for (const char *p = out.s; p < out.s + out.len; p += strlen(p) + 1) {
        if ((islower((unsigned char)*p) || *p == 'S') && is_in_tree(t, p + 2))
            add_name(names, p + 2);
    }
    return 0;
}

/* If the tree is gone, its index still has what was staged. */
static int list_staged(const struct git_place *at, const struct thread *t, struct names *names,
                       struct err *err)
{
    autofree char *index = mem_printf("%s/index", t->admin);
    autobuf struct buf out = BUF_INIT;
    if (access(index, F_OK) < 0)
        return 0;
    if (git_call(at, &out, err, "diff-index", "--cached", "--name-only", "-z", "HEAD", "--", NULL))
        return -1;
    for (const char *p = out.s; p < out.s + out.len; p += strlen(p) + 1)
        add_name(names, p);
    return 0;
}

int cleanup_changes(const struct cleaning *c, const struct thread *t, struct buf *ret_names,
                    struct err *err)
{
    bool has_tree = access(t->path, F_OK) == 0;
    struct git_place at = {.git_dir = t->admin,
                           .common = c->opts->repo->common,
                           .work_tree = has_tree ? t->path : NULL};
    struct names names = {.text = BUF_INIT};
    int rc = has_tree ? list_changed(&at, &names, err) || list_hidden(&at, t, &names, err)
                      : list_staged(&at, t, &names, err);
    buf_addstr(ret_names, names.text.s);
    if (names.n > MAX_NAMES)
        buf_addf(ret_names, " and %zu more", names.n - MAX_NAMES);
    buf_done(&names.text);
    return rc ? -1 : 0;
}

const char *cleanup_unfinished(const struct thread *t)
{
    static const struct {
        const char *file, *what;
    } signs[] = {
        {"rebase-merge", "a rebase"},  {"rebase-apply", "a rebase or git am"},
        {"MERGE_HEAD", "a merge"},     {"CHERRY_PICK_HEAD", "a cherry-pick"},
        {"REVERT_HEAD", "a revert"},   {"sequencer", "a cherry-pick or revert"},
        {"BISECT_LOG", "a bisection"},
    };
    for (size_t i = 0; i < ARRAY_LEN(signs); i++) {
        autofree char *path = mem_printf("%s/%s", t->admin, signs[i].file);
        if (access(path, F_OK) == 0)
            return signs[i].what;
    }
    return NULL;
}

/* True if a line of the reflog records a new commit. */
static bool is_new_commit(const char *line)
{
    static const char *const words[] = {"commit", "cherry-pick", "revert", "am", "rebase (pick)"};
    const char *tab = strchr(line, '\t');
    for (size_t i = 0; tab && i < ARRAY_LEN(words); i++) {
        if (strncmp(tab + 1, words[i], strlen(words[i])) == 0)
            return true;
    }
    return false;
}

/* Without a reflog, we take commits for the thread's own. */
bool cleanup_has_begun(const struct thread *t)
{
    autofree char *path = mem_printf("%s/logs/HEAD", t->admin);
    autobuf struct buf log = BUF_INIT;
    if (file_read(path, FILE_LARGE, &log, NULL))
        return true;
    for (char *rest = log.s, *line; (line = strsep(&rest, "\n"));) {
        if (is_new_commit(line))
            return true;
    }
    return false;
}
