#include "workspace/commit/commit.h"

#include "base/mem.h"
#include "git/format/gitlinks.h"
#include "git/tree/index_tree.h"
#include "git/tree/tree_diff.h"
#include "sys/fs/file.h"
#include "workspace/commit/stage.h"
#include "workspace/fill/included.h"
#include "workspace/fill/submodules.h"
#include "workspace/overlay/layers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct git_place get_attempt_place(const struct commit_job *job)
{
    struct git_place at = workspace_place(job->ws);
    at.index = job->index;
    at.excludes = job->excludes;
    return at;
}

/* The copy has the stat data that saves git from reading every file again. It gets the mtime of
 * the original, because git compares that with the files' times to find files that may have
 * changed in the same second. */
static int copy_index(const struct commit_job *job, const char *from, const struct stat *st,
                      struct err *err)
{
    autobuf struct buf bytes = BUF_INIT;
    if (file_read(from, FILE_LARGE, &bytes, err) ||
        file_create(job->index, bytes.s, bytes.len, err))
        return -1;
    const struct timespec times[] = {st->st_mtim, st->st_mtim};
    return utimensat(AT_FDCWD, job->index, times, 0) < 0
               ? err_sys(err, "set the time of '%s'", job->index)
               : 0;
}

/* Removes what an earlier or killed attempt has left. */
static int remove_index(const struct commit_job *job, struct err *err)
{
    autofree char *lock = mem_printf("%s.lock", job->index);
    if ((unlink(job->index) < 0 && errno != ENOENT) || (unlink(lock) < 0 && errno != ENOENT))
        return err_sys(err, "remove '%s'", job->index);
    return 0;
}

int commit_index(const struct commit_job *job, bool anew, struct err *err)
{
    struct git_place at = get_attempt_place(job);
    autofree char *from = mem_printf("%s/index", job->ws->admin);
    struct stat st;
    if (remove_index(job, err))
        return -1;
    if (!anew && stat(from, &st) == 0)
        return copy_index(job, from, &st, err);
    /* We must start from an index: `git add` would not add tracked files that are ignored. */
    return anew || errno == ENOENT ? git_call(&at, NULL, err, "read-tree", job->start, NULL)
                                   : err_sys(err, "look at '%s'", from);
}

/* *ret_yes: an included file differs between the two trees. We would have to remove it again,
 * which needs an index. */
static int has_included(const struct commit_job *job, const char *from, const char *to,
                        bool *ret_yes, struct err *err)
{
    autobrought struct included brought = BROUGHT_INIT;
    autobuf struct buf paths = BUF_INIT;
    *ret_yes = false;
    if (included_open(&brought, job->brought, job->root, err))
        return -1;
    if (!brought.paths.n)
        return 0;
    if (tree_diff(job->ws->batch, from, to, &paths, err))
        return -1;
    for (const char *p = paths.s; !*ret_yes && p < paths.s + paths.len; p += strlen(p) + 1)
        *ret_yes = included_has(&brought, p);
    return 0;
}

/* Scans the upper folder of an overlay workspace, which contains all changes. Not if the task
 * began with more than the base tree: its upper folder also contains that, and deleting such a
 * file leaves no trace. */
static bool scan_layers(const struct commit_job *job, const char *tree, struct work_scan *ret)
{
    autofree char *index = mem_printf("%s/index", job->ws->admin);
    autofree char *upper = layers_upper(job->ws->path);
    autotracked struct tracked own = TRACKED_INIT;
    if (!layers_are_of(job->ws->path, job->start))
        return false;
    if (job->tracked)
        return upper_scan_open(ret, upper, job->tracked);
    return tracked_open(&own, index, tree) && upper_scan_open(ret, upper, &own);
}

int commit_stage_plainly(const struct commit_job *job, struct buf *ret_tree,
                         struct strv *ret_ignored, bool *ret_done, struct err *err)
{
    struct git_place at = get_attempt_place(job);
    autobuf struct buf tree = BUF_INIT, made = BUF_INIT;
    autoworkscan struct work_scan above = {0};
    bool strays = false;
    *ret_done = false;
    if (!job->core || !at.batch)
        return 0;
    if (git_tree_of(&at, job->start, &tree, err) || remove_index(job, err))
        return -1;
    struct stage_job stage = {.ws = job->ws,
                              .core = job->core,
                              .tree = tree.s,
                              .excludes = job->excludes,
                              .index = job->wants_index ? job->index : NULL,
                              .scan = job->scan,
                              .found = job->found,
                              .ignored = ret_ignored};
    if (!job->scan && scan_layers(job, tree.s, &above))
        stage.scan = &above;
    if (stage_plainly(&stage, &made, ret_done, err) ||
        (made.len && has_included(job, tree.s, made.s, &strays, err)))
        return -1;
    *ret_done = *ret_done && !strays;
    if (*ret_done)
        buf_add(ret_tree, made.s, made.len);
    return 0;
}

int commit_stage(const struct commit_job *job, struct buf *ret_tree, struct strv *argv,
                 struct strv *env, struct err *err)
{
    struct git_place at = get_attempt_place(job);
    bool done;
    if (commit_stage_plainly(job, ret_tree, NULL, &done, err))
        return -1;
    if (done)
        return 0;
    if (commit_index(job, false, err))
        return -1;
    git_prepare(&at, argv, env);
    strv_pushl(argv, "add", "-A", "--", ".", NULL);
    return gitlinks_stage(&at, strlen(job->start), argv, err);
}

/* Removes included files from the index: an ignore file of the project, or a hook, can add them
 * whatever we exclude. */
static int unstage_included(const struct git_place *at, const struct commit_job *job,
                            const struct included *brought, struct err *err)
{
    autobuf struct buf added = BUF_INIT, strays = BUF_INIT;
    autostrv struct strv args = {0};
    if (git_call(at, &added, err, "diff-index", "--cached", "-z", "--name-only", "--no-renames",
                 "--diff-filter=A", job->start, "--", NULL))
        return -1;
    for (const char *p = added.s; p < added.s + added.len; p += strlen(p) + 1) {
        if (included_has(brought, p))
            buf_add(&strays, p, strlen(p) + 1);
    }
    strv_pushl(&args, "update-index", "-z", "--force-remove", "--stdin", NULL);
    return strays.len ? git_ask(at, &args, &strays, NULL, err) : 0;
}

int commit_has_brought(const struct git_place *at, const char *start, const char *head,
                       const struct included *brought, bool *ret_yes, struct err *err)
{
    *ret_yes = false;
    if (!brought->paths.n)
        return 0;
    autobuf struct buf added = BUF_INIT;
    autofree char *range = mem_printf("%s..%s", start, head);
    if (git_call(at, &added, err, "log", "-z", "-m", "--format=", "--name-only", "--no-renames",
                 "--diff-filter=A", range, "--", NULL))
        return -1;
    for (const char *p = added.s; !*ret_yes && p < added.s + added.len; p += strlen(p) + 1)
        *ret_yes = included_has(brought, p);
    return 0;
}

/* *ret_yes: all commits between the two exist. After a power failure a commit's parent may be
 * missing. */
static int is_whole(const struct git_place *at, const char *start, const char *head, bool *ret_yes,
                    struct err *err)
{
    autostrv struct strv args = {0};
    autobuf struct buf errout = BUF_INIT;
    int status;
    strv_pushl(&args, "rev-list", "--quiet", head, "--not", start, "--", NULL);
    if (git_try(at, &args, NULL, &errout, &status, err))
        return -1;
    *ret_yes = status == 0;
    return 0;
}

/* We keep the agent's own commits if they build on the commit at which it began. */
static int find_parent(const struct git_place *at, const struct commit_job *job,
                       const struct included *brought, struct buf *parent, struct err *err)
{
    bool builds_on = false, strays = false;
    if (workspace_head(job->ws, parent, NULL) == 0 &&
        git_is_ancestor(at, job->start, parent->s, &builds_on, err))
        return -1;
    bool has_own = builds_on && strcmp(parent->s, job->start) != 0;
    if (has_own && is_whole(at, job->start, parent->s, &builds_on, err))
        return -1;
    if (has_own && builds_on &&
        commit_has_brought(at, job->start, parent->s, brought, &strays, err))
        return -1;
    if (!builds_on || strays) {
        buf_cut(parent, 0);
        buf_addstr(parent, job->start);
    }
    return 0;
}

static int write_tree(const struct git_place *at, size_t id_len, struct buf *ret_tree,
                      struct err *err)
{
    bool done = false;
    if (at->batch && index_tree(at->batch, at->index, id_len, ret_tree, &done, err))
        return -1;
    return done ? 0 : git_call(at, ret_tree, err, "write-tree", NULL);
}

/* Finds the staged tree. */
static int find_tree(const struct git_place *at, const struct commit_job *job,
                     const struct included *brought, struct buf *ret_tree, struct err *err)
{
    if (job->tree) {
        buf_addstr(ret_tree, job->tree);
        return 0;
    }
    if (brought->paths.n && unstage_included(at, job, brought, err))
        return -1;
    return write_tree(at, strlen(job->start), ret_tree, err);
}

/* Commits the staged tree; no commit if it equals the tree at which the workspace began. */
static int make_commit(const struct git_place *at, const struct commit_job *job, bool always,
                       struct buf *ret_commit, struct err *err)
{
    autobuf struct buf tree = BUF_INIT, parent = BUF_INIT, parent_tree = BUF_INIT;
    autobrought struct included brought = BROUGHT_INIT;
    if (included_open(&brought, job->brought, job->root, err) ||
        find_tree(at, job, &brought, &tree, err) || find_parent(at, job, &brought, &parent, err))
        return -1;
    if (git_tree_of(at, parent.s, &parent_tree, err))
        return -1;
    if (always || strcmp(tree.s, parent_tree.s) != 0) {
        const char *const parents[] = {parent.s, NULL};
        return git_commit_tree(at, tree.s, parents, job->message, ret_commit, err);
    }
    if (strcmp(parent.s, job->start) != 0)
        buf_add(ret_commit, parent.s, parent.len);
    return 0;
}

void commit_draft_done(struct commit_draft *draft)
{
    buf_done(&draft->tree);
    own_history_done(&draft->own);
}

int commit_draft_make(const struct commit_job *job, const char *tip, struct commit_draft *ret,
                      struct err *err)
{
    struct git_place at = get_attempt_place(job);
    autobrought struct included brought = BROUGHT_INIT;
    autobuf struct buf head = BUF_INIT;
    if (included_open(&brought, job->brought, job->root, err) ||
        find_tree(&at, job, &brought, &ret->tree, err))
        return -1;
    if (workspace_head(job->ws, &head, NULL)) { /* the agent has left no usable HEAD */
        buf_cut(&head, 0);
        buf_addstr(&head, job->start);
    }
    return own_history_read(&at, job->start, tip, head.s, &ret->own, err);
}

/* Finds or makes the parent of our commit. */
static int make_parent(const struct git_place *at, const struct commit_draft *draft,
                       struct commit_style style, struct buf *ret, struct err *err)
{
    if (draft->own.commits.n && !style.as_one)
        return own_history_write(at, &draft->own, style.keep_authors, ret, err);
    buf_addstr(ret, draft->own.bases.v[0]);
    return 0;
}

static int commit_on_top(const struct git_place *at, const struct commit_job *job,
                         const struct commit_draft *draft, struct commit_style style,
                         struct buf *ret_commit, struct err *err)
{
    autobuf struct buf below = BUF_INIT, tree = BUF_INIT;
    if (make_parent(at, draft, style, &below, err) || git_tree_of(at, below.s, &tree, err))
        return -1;
    const char *const parents[] = {below.s, NULL};
    if (strcmp(draft->tree.s, tree.s) != 0)
        return git_commit_tree(at, draft->tree.s, parents, job->message, ret_commit, err);
    if (strcmp(below.s, draft->own.bases.v[0]) != 0)
        buf_add(ret_commit, below.s, below.len);
    return 0;
}

int commit_finish(const struct commit_job *job, const struct commit_draft *draft,
                  struct commit_style style, struct buf *ret_commit, struct err *err)
{
    struct git_place at = get_attempt_place(job);
    autobuf struct buf old_tip = BUF_INIT;
    bool moved = true;
    if (commit_on_top(&at, job, draft, style, ret_commit, err) ||
        submodules_save(job->ws, job->index, err) ||
        git_resolve(&at, job->ws->branch, &old_tip, err))
        return -1;
    if (ret_commit->len && strcmp(old_tip.s, ret_commit->s) != 0 &&
        git_move_ref(&at, job->ws->branch, old_tip.s, ret_commit->s, "anabranch: commit", &moved,
                     err))
        return -1;
    return moved ? 0 : err_set(err, ERR_ENV, "another program has moved '%s'", job->ws->branch);
}

int commit_make(const struct commit_job *job, bool always, struct buf *ret_commit, struct err *err)
{
    struct git_place at = get_attempt_place(job);
    autobuf struct buf made = BUF_INIT;
    if (make_commit(&at, job, false, &made, err))
        return -1;
    /* The agent's last commit does not tell where it comes from and why it was saved. */
    if ((made.len || always) && make_commit(&at, job, true, ret_commit, err))
        return -1;
    return 0;
}

int commit_paths(const struct git_place *at, const char *from, const char *to, struct buf *out,
                 struct err *err)
{
    if (at->batch)
        return tree_diff(at->batch, from, to, out, err);
    return git_call(at, out, err, "diff-tree", "-r", "-z", "--no-renames", "--name-only",
                    "--no-ext-diff", from, to, NULL);
}
