/*
 * What is in a thread's worktree that no commit has, and whether work has begun in it.
 */
#include "threads/cleanup/cleanup_private.h"

#include "base/mem.h"
#include "git/format/gitlinks.h"
#include "sys/fs/file.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

enum { SHOWN = 3 };

struct names {
    struct buf text;
    size_t n;
};

static void add_name(struct names *names, const char *path)
{
    if (names->n++ < SHOWN)
        buf_addf(&names->text, "%s'%.80s'", names->n > 1 ? ", " : "", path);
}

static bool is_in_tree(const struct thread *t, const char *path)
{
    autofree char *full = mem_printf("%s/%s", t->path, path);
    return access(full, F_OK) == 0;
}

/* --- what is not committed ---------------------------------------------------------------- */

/* The user may have told git to show less by default. */
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
        if (!strstr(names->text.s, shown)) /* its commit may have changed as well */
            add_name(names, modules.v[i]);
    }
    return 0;
}

/* Files that git was told not to look at: what is in them it does not say. */
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

/* Of a tree that is gone the index is left. */
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
    bool there = access(t->path, F_OK) == 0;
    struct git_place at = {
        .git_dir = t->admin, .common = c->opts->repo->common, .work_tree = there ? t->path : NULL};
    struct names names = {.text = BUF_INIT};
    int rc = there ? list_changed(&at, &names, err) || list_hidden(&at, t, &names, err)
                   : list_staged(&at, t, &names, err);
    buf_addstr(ret_names, names.text.s);
    if (names.n > SHOWN)
        buf_addf(ret_names, " and %zu more", names.n - SHOWN);
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

/* --- whether work has begun --------------------------------------------------------------- */

/* Whether what git noted is the making of a commit that was not there before. */
static bool is_making(const char *line)
{
    static const char *const words[] = {"commit", "cherry-pick", "revert", "am", "rebase (pick)"};
    const char *tab = strchr(line, '\t');
    for (size_t i = 0; tab && i < ARRAY_LEN(words); i++) {
        if (strncmp(tab + 1, words[i], strlen(words[i])) == 0)
            return true;
    }
    return false;
}

/* Where git keeps no notes, a commit that is there counts as the thread's. */
bool cleanup_has_begun(const struct thread *t)
{
    autofree char *path = mem_printf("%s/logs/HEAD", t->admin);
    autobuf struct buf log = BUF_INIT;
    if (file_read(path, FILE_LARGE, &log, NULL))
        return true;
    for (char *rest = log.s, *line; (line = strsep(&rest, "\n"));) {
        if (is_making(line))
            return true;
    }
    return false;
}
