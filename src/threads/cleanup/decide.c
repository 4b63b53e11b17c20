/*
 * Decides if a thread can be removed, and why.
 */
#include "threads/cleanup/cleanup_private.h"

#include "base/mem.h"
#include "git/merge/is_merged.h"
#include "sys/fs/file.h"
#include "sys/guard/proc_table.h"

#include <dirent.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

static int set_verdict(struct verdict *v, bool remove, enum cleanup_reason reason, const char *fmt,
                       ...) __attribute__((format(printf, 4, 5)));

static int set_verdict(struct verdict *v, bool remove, enum cleanup_reason reason, const char *fmt,
                       ...)
{
    va_list ap;
    v->remove = remove;
    v->reason = reason;
    va_start(ap, fmt);
    buf_addv(&v->why, fmt, ap);
    va_end(ap);
    return 0;
}

/* Reads the first line of a file. Returns false if there is no file. */
static bool read_line(const char *folder, const char *name, struct buf *ret)
{
    autofree char *path = mem_printf("%s/%s", folder, name);
    if (file_read(path, 1 << 16, ret, NULL))
        return false;
    buf_cut(ret, strcspn(ret->s, "\n"));
    return true;
}

/* The folder is missing together with its parent: its disk may not be mounted. */
static bool may_be_unmounted(const struct cleaning *c, const struct thread *t)
{
    const char *root = c->opts->repo->common;
    size_t len = (size_t)(strrchr(root, '/') - root);
    autofree char *above = mem_dup(t->path, (size_t)(strrchr(t->path, '/') - t->path));
    bool inside = strncmp(t->path, root, len) == 0 && t->path[len] == '/';
    return !inside && *above && !file_resolves(above);
}

/* admin: the administrative folder of a worktree. */
static bool is_on_branch(const char *admin, const char *branch)
{
    autobuf struct buf head = BUF_INIT;
    return read_line(admin, "HEAD", &head) && strncmp(head.s, "ref: ", 5) == 0 &&
           strcmp(head.s + 5, branch) == 0;
}

/* git can be told to check out a branch more than once. */
static bool is_elsewhere(const struct cleaning *c, const struct thread *t)
{
    const char *common = c->opts->repo->common;
    autofree char *worktrees = mem_printf("%s/worktrees", common);
    DIR *dir = opendir(worktrees);
    bool found = is_on_branch(common, t->branch);
    for (struct dirent *e; !found && dir && (e = readdir(dir));) {
        autofree char *admin = mem_printf("%s/%s", worktrees, e->d_name);
        found = *e->d_name != '.' && strcmp(admin, t->admin) != 0 && is_on_branch(admin, t->branch);
    }
    if (dir)
        (void)closedir(dir);
    return found;
}

/* A lock of our own comes from a fanout that was killed. */
static bool is_locked(const struct thread *t, struct buf *ret_why)
{
    return read_line(t->admin, "locked", ret_why) && strcmp(ret_why->s, "in use by anabranch") != 0;
}

/* Checks reasons that have nothing to do with the thread's work. Returns true if it found one. */
static bool check_place(const struct cleaning *c, const struct thread *t, struct verdict *v)
{
    autobuf struct buf lock = BUF_INIT;
    if (!t->made)
        (void)set_verdict(v, false, CLEANUP_FOREIGN, "it was not made by fanout");
    else if (is_locked(t, &lock))
        (void)set_verdict(v, false, CLEANUP_LOCKED, "it is locked%s%s", lock.len ? ": " : "",
                          lock.s);
    else if (may_be_unmounted(c, t))
        (void)set_verdict(v, false, CLEANUP_ELSEWHERE, "the disk of %s does not seem to be mounted",
                          t->path);
    else if (!v->tip.len && file_resolves(t->path))
        (void)set_verdict(v, false, CLEANUP_ELSEWHERE, "its branch is gone");
    else if (!v->tip.len)
        (void)set_verdict(v, true, CLEANUP_GONE, "neither its branch nor its worktree exists");
    else if (file_resolves(t->path) && cleanup_unfinished(t))
        (void)set_verdict(v, false, CLEANUP_DIRTY, "%s in it is not finished",
                          cleanup_unfinished(t));
    else if (!is_on_branch(t->admin, t->branch))
        (void)set_verdict(v, false, CLEANUP_ELSEWHERE, "its branch is not checked out in it");
    else if (is_elsewhere(c, t))
        (void)set_verdict(v, false, CLEANUP_ELSEWHERE, "its branch is also checked out elsewhere");
    else
        return false;
    return true;
}

static int check_inside(const struct cleaning *c, const struct thread *t, struct verdict *v,
                        struct err *err)
{
    autobuf struct buf why = BUF_INIT;
    if (cleanup_inside(c, t, &why, err))
        return -1;
    if (!why.len)
        return 0;
    buf_cut(&v->why, 0);
    return set_verdict(v, false, CLEANUP_DIRTY, "%s", why.s);
}

/* A person or an agent who works in the folder would lose it. */
static int check_processes(const struct thread *t, struct verdict *v)
{
    autobuf struct buf command = BUF_INIT;
    pid_t pid = proc_table_in(t->path);
    if (!pid)
        return 0;
    proc_table_command(pid, &command);
    buf_cut(&v->why, 0);
    return set_verdict(v, false, CLEANUP_BUSY, "process %d works in it: %s", (int)pid, command.s);
}

/* If the commit contains the work, decides how. */
static int check_merged_into(const struct cleaning *c, struct verdict *v, const char *commit,
                             const char *name, bool *ret_decided, struct err *err)
{
    static const struct {
        enum cleanup_reason reason;
        const char *before, *after;
    } ways[] = {
        [MERGED_NOT] = {CLEANUP_UNMERGED, "", ""},
        [MERGED_WHOLE] = {CLEANUP_MERGED, "merged into ", ""},
        [MERGED_REBASED] = {CLEANUP_REBASED, "rebased onto ", ""},
        [MERGED_SQUASHED] = {CLEANUP_SQUASHED, "squashed into ", ""},
        [MERGED_CONTAINED] = {CLEANUP_CONTAINED, "", " has all its changes"},
    };
    enum merged how;
    if (merged_look(&c->at, v->tip.s, commit, &how, err))
        return -1;
    *ret_decided = how != MERGED_NOT;
    if (*ret_decided)
        (void)set_verdict(v, true, ways[how].reason, "%s%s%s", ways[how].before, name,
                          ways[how].after);
    return 0;
}

static int check_merged(const struct cleaning *c, const struct cleanup_base *b, struct verdict *v,
                        bool *ret_decided, struct err *err)
{
    if (b->local && check_merged_into(c, v, b->local, b->local_name, ret_decided, err))
        return -1;
    bool same = b->local && b->remote && strcmp(b->local, b->remote) == 0;
    if (!*ret_decided && b->remote && !same)
        return check_merged_into(c, v, b->remote, b->remote_name, ret_decided, err);
    return 0;
}

static int check_forge(struct cleaning *c, const struct thread *t, const struct cleanup_base *b,
                       struct verdict *v, struct err *err)
{
    autobuf struct buf note = BUF_INIT;
    bool merged = false;
    if (cleanup_ask_forge(c, t, v->tip.s, &merged, &note, err))
        return -1;
    if (merged)
        return set_verdict(v, true, CLEANUP_FORGE, "its pull request was merged");
    return set_verdict(v, false, CLEANUP_UNMERGED, "its commits are not in %s%s%s%s",
                       b->local_name ? b->local_name : "any base branch",
                       b->remote_name ? " or " : "", b->remote_name ? b->remote_name : "", note.s);
}

/* A branch that only followed its base has no commit of its own. If the base's history has all of
 * it, the reflog of the worktree shows if a commit was made in it. */
static int check_started(const struct cleaning *c, const struct thread *t, struct verdict *v,
                         bool *ret_decided, struct err *err)
{
    bool old = false, followed = v->remove && v->reason == CLEANUP_MERGED && !cleanup_has_begun(t);
    if (git_is_ancestor(&c->at, v->tip.s, t->base_commit, &old, err))
        return -1;
    *ret_decided = old || followed;
    if (!*ret_decided)
        return 0;
    buf_cut(&v->why, 0);
    return set_verdict(v, c->opts->unstarted, CLEANUP_UNSTARTED, "it has no commit of its own yet");
}

static int check_work(struct cleaning *c, const struct thread *t, struct verdict *v,
                      struct err *err)
{
    const struct cleanup_base *b;
    bool merged = false, unstarted = false;
    if (cleanup_base(c, t, &b, err) || check_merged(c, b, v, &merged, err) ||
        check_started(c, t, v, &unstarted, err))
        return -1;
    return merged || unstarted ? 0 : check_forge(c, t, b, v, err);
}

int cleanup_look(struct cleaning *c, const struct thread *t, struct verdict *ret, struct err *err)
{
    autobuf struct buf names = BUF_INIT;
    if (git_resolve(&c->at, t->branch, &ret->tip, err) && err->code != ERR_INPUT)
        return -1;
    if (check_place(c, t, ret))
        return 0;
    if (cleanup_changes(c, t, &names, err))
        return err_wrap(err, "%s", git_short_name(t->branch));
    if (names.len)
        return set_verdict(ret, false, CLEANUP_DIRTY, "not committed: %s", names.s);
    if (check_work(c, t, ret, err) || (ret->remove && check_inside(c, t, ret, err)))
        return -1;
    return ret->remove ? check_processes(t, ret) : 0;
}
