#include "git/checkout/branch_use.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/own.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"
#include "sys/own_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MAX = 1 << 16 };

static const char heads[] = "refs/heads/";

static bool is_head(const char *head, const char *ref)
{
    return head && strncmp(head, "ref: ", 5) == 0 && strcmp(head + 5, ref) == 0;
}

/* The file has three lines for each ref: its name, and two ids. */
static bool has_line(const char *text, const char *line)
{
    size_t len = strlen(line);
    for (const char *s = text; s && *s; s += strcspn(s, "\n"), s += *s == '\n') {
        if (strncmp(s, line, len) == 0 && (s[len] == '\n' || !s[len]))
            return true;
    }
    return false;
}

/* git notes the short name of the branch, or a commit if HEAD was detached. */
static bool is_bisected(const char *start, const char *ref)
{
    return start && (strcmp(start, ref) == 0 || (strncmp(ref, heads, strlen(heads)) == 0 &&
                                                 strcmp(start, ref + strlen(heads)) == 0));
}

const char *branch_operation(const struct branch_signs *s, const char *ref)
{
    if ((s->rebased && strcmp(s->rebased, ref) == 0) || has_line(s->updated, ref))
        return "a rebase";
    if (is_bisected(s->bisect, ref))
        return "a bisection";
    if (!is_head(s->head, ref))
        return NULL;
    return s->am                     ? "git am"
           : s->rebase               ? "a rebase"
           : s->merge                ? "a merge"
           : s->revert               ? "a revert"
           : s->pick || s->sequencer ? "a cherry-pick or revert"
                                     : NULL;
}

static int open_dir(int at, const char *name)
{
    return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* The text of a file; NULL if it is not a regular file. */
static const char *read_file(int dir, const char *name, struct buf *text)
{
    autoclose int fd = -1;
    bool read = file_open(dir, name, O_RDONLY | O_NOFOLLOW, &fd, NULL) == 0 &&
                file_read_open(fd, name, FILE_MAX, text, NULL) == 0;
    return read ? text->s : NULL;
}

static const char *read_line(int dir, const char *name, struct buf *text)
{
    if (!read_file(dir, name, text))
        return NULL;
    buf_cut(text, strcspn(text->s, "\n"));
    return text->s;
}

static bool entry_exists(int dir, const char *name)
{
    struct stat st;
    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

struct text_buffers {
    struct buf head, rebased, updated, bisect;
};

static void texts_done(struct text_buffers *t)
{
    struct buf *const all[] = {&t->head, &t->rebased, &t->updated, &t->bisect};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        buf_done(all[i]);
}

/* Most worktrees have neither folder: then this costs two calls. */
static void read_rebase(int dir, struct branch_signs *s, struct text_buffers *t)
{
    autoclose int merge = open_dir(dir, "rebase-merge"), apply = open_dir(dir, "rebase-apply");
    if (merge >= 0) {
        s->rebase = true;
        s->rebased = read_line(merge, "head-name", &t->rebased);
        s->updated = read_file(merge, "update-refs", &t->updated);
    }
    if (apply >= 0) {
        s->am = entry_exists(apply, "applying");
        s->rebase = s->rebase || !s->am;
        if (!s->rebased)
            s->rebased = read_line(apply, "head-name", &t->rebased);
    }
}

static const char *find_in_worktree(int dir, const char *ref)
{
    struct branch_signs s = {0};
    own_cleanup(texts_done) struct text_buffers t = {BUF_INIT, BUF_INIT, BUF_INIT, BUF_INIT};
    s.head = read_line(dir, "HEAD", &t.head);
    s.bisect = read_line(dir, "BISECT_START", &t.bisect);
    read_rebase(dir, &s, &t);
    if (is_head(s.head, ref)) {
        s.merge = entry_exists(dir, "MERGE_HEAD");
        s.pick = entry_exists(dir, "CHERRY_PICK_HEAD");
        s.revert = entry_exists(dir, "REVERT_HEAD");
        s.sequencer = entry_exists(dir, "sequencer");
    }
    return branch_operation(&s, ref);
}

/* An agent may have written the file. */
static bool is_commit_id(const char *text)
{
    size_t len = strspn(text, "0123456789abcdef");
    return len >= 40 && !text[len];
}

/* The commit at which a rebase, `git am` or a series of picks began; NULL: none is in progress. */
static char *read_origin(int dir)
{
    static const char *const files[][2] = {
        {"rebase-merge", "orig-head"}, {"rebase-apply", "orig-head"}, {"sequencer", "head"}};
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        autobuf struct buf text = BUF_INIT;
        autoclose int folder = open_dir(dir, files[i][0]);
        if (folder >= 0 && read_line(folder, files[i][1], &text) && is_commit_id(text.s))
            return buf_steal(&text);
    }
    return NULL;
}

struct search {
    const char *ref, *ours, *operation;
    char *where, *origin;
};

static void search_folder(struct search *s, const char *git_dir)
{
    autoclose int dir = open_dir(AT_FDCWD, git_dir);
    if (dir >= 0 && !s->operation)
        s->operation = find_in_worktree(dir, s->ref);
    if (!s->operation || s->where)
        return;
    s->where = mem_str(git_dir);
    s->origin = read_origin(dir);
}

static int search_worktree(void *ctx, const char *dir, const char *name, struct err *err)
{
    struct search *s = ctx;
    autofree char *git_dir = mem_printf("%s/%s", dir, name);
    (void)err;
    if (!s->ours || strncmp(name, s->ours, strlen(s->ours)) != 0)
        search_folder(s, git_dir);
    return 0;
}

static void search_done(struct search *s)
{
    free(s->where);
    free(s->origin);
}

static int search_all(struct search *s, const char *common, struct err *err)
{
    autofree char *worktrees = mem_printf("%s/worktrees", common);
    search_folder(s, common);
    return dirs_each(worktrees, search_worktree, s, err);
}

int branch_use_find(const char *common, const char *ref, const char *ours,
                    const char **ret_operation, char **ret_where, struct err *err)
{
    own_cleanup(search_done) struct search s = {.ref = ref, .ours = ours};
    if (search_all(&s, common, err))
        return -1;
    *ret_operation = s.operation;
    *ret_where = steal_ptr(s.where);
    return 0;
}

int branch_use_origin(const char *common, const char *ref, const char *ours, char **ret_commit,
                      struct err *err)
{
    own_cleanup(search_done) struct search s = {.ref = ref, .ours = ours};
    if (search_all(&s, common, err))
        return -1;
    *ret_commit = steal_ptr(s.origin);
    return 0;
}

bool branch_is_checked_out(const char *git_dir, const char *ref)
{
    autoclose int dir = open_dir(AT_FDCWD, git_dir);
    autobuf struct buf text = BUF_INIT;
    return dir >= 0 && is_head(read_line(dir, "HEAD", &text), ref);
}

struct head_search {
    const char *ref, *ours;
    bool found;
};

static int search_head(void *ctx, const char *dir, const char *name, struct err *err)
{
    struct head_search *s = ctx;
    autofree char *git_dir = mem_printf("%s/%s", dir, name);
    (void)err;
    if (!s->ours || strncmp(name, s->ours, strlen(s->ours)) != 0)
        s->found = s->found || branch_is_checked_out(git_dir, s->ref);
    return 0;
}

int branch_has_checkout(const char *common, const char *ref, const char *ours, bool *ret_yes,
                        struct err *err)
{
    struct head_search s = {.ref = ref, .ours = ours};
    autofree char *worktrees = mem_printf("%s/worktrees", common);
    s.found = branch_is_checked_out(common, ref);
    if (dirs_each(worktrees, search_head, &s, err))
        return -1;
    *ret_yes = s.found;
    return 0;
}
