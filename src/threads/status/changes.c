#include "threads/status/changes.h"

#include "base/mem.h"
#include "git/batch.h"
#include "git/format/gitlinks.h"
#include "git/format/loose_ref.h"
#include "git/tree/work_scan.h"
#include "sys/fs/file.h"
#include "sys/proc/capture_many.h"
#include "sys/proc/parallel_for.h"
#include "threads/fanout/fanout.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { HEAD_MAX = 4096 };

struct worktree {
    struct thread_look *look;
    struct buf head,
        tree; /* the commit that is checked out, and its tree; if "", git must find it */
    struct work_scan scan;
    bool usable_scan; /* the scan has found all paths that we need to ask git about */
    bool settled;     /* we need not ask git any more */
};

struct worktrees {
    const struct git_repo *repo;
    struct git_batch *batch;
    struct worktree *v;
    size_t n;
};

/* True if the worktree has its own branch checked out. */
static bool is_on_branch(const struct thread *t)
{
    autofree char *path = mem_printf("%s/HEAD", t->admin);
    autofree char *expected = mem_printf("ref: %s\n", t->branch);
    autobuf struct buf text = BUF_INIT;
    return file_read(path, HEAD_MAX, &text, NULL) == 0 && strcmp(text.s, expected) == 0;
}

/* A ref without a file is packed. If its file has no plain id, it may be a symbolic ref. */
static int read_branch(const struct worktrees *ts, const char *branch, struct buf *ret_id,
                       struct err *err)
{
    autofree char *path = mem_printf("%s/%s", ts->repo->common, branch);
    bool found;
    if (loose_ref_read(ts->repo->common, branch, ret_id))
        return 0;
    if (access(path, F_OK) == 0 || errno != ENOENT)
        return 0;
    return git_batch_resolve(ts->batch, branch, ret_id, &found, err);
}

static int find_head(const struct worktrees *ts, struct worktree *t, struct err *err)
{
    bool found;
    if (!is_on_branch(t->look->thread))
        return 0;
    if (read_branch(ts, t->look->thread->branch, &t->head, err))
        return -1;
    if (!t->head.len)
        return 0;
    autofree char *tree = mem_printf("%s^{tree}", t->head.s);
    return git_batch_resolve(ts->batch, tree, &t->tree, &found, err);
}

static void scan_worktree(void *ctx, size_t i)
{
    struct worktree *t = &((struct worktree *)ctx)[i];
    const struct thread *thread = t->look->thread;
    autofree char *index = mem_printf("%s/index", thread->admin);
    t->usable_scan =
        !t->settled && t->tree.len && work_scan_open(&t->scan, thread->path, index, t->tree.s);
}

static bool is_clean(const struct worktree *t)
{
    const struct work_scan *scan = &t->scan;
    bool clean = t->usable_scan && !scan->changed.n;
    for (size_t i = 0; clean && i < scan->untracked.n; i++)
        clean = fanout_made(t->look->thread, scan->untracked.v[i]);
    return clean;
}

/* entry[0] gives the kind, and so the number of fields before the path. */
static const char *get_path(const char *entry)
{
    int fields = entry[0] == '1' ? 8 : entry[0] == '2' ? 9 : entry[0] == 'u' ? 10 : 1;
    for (; fields && *entry; entry++)
        fields -= *entry == ' ';
    return entry;
}

/* A rename is followed by its old name. */
static const char *add_entry(struct thread_look *l, const char *entry)
{
    const char *path = get_path(entry), *next = path + strlen(path) + 1;
    if (entry[0] == '?') {
        if (!fanout_made(l->thread, path))
            strv_pushf(&l->uncommitted, "?? %s", path);
        return next;
    }
    char x = entry[2] == '.' ? ' ' : entry[2], y = entry[3] == '.' ? ' ' : entry[3];
    if (entry[0] == '2') {
        strv_pushf(&l->uncommitted, "D  %s", next);
        next += strlen(next) + 1;
    }
    strv_pushf(&l->uncommitted, "%c%c %s", x, y, path);
    return next;
}

static void read_header(struct thread_look *l, const char *line)
{
    static const char oid[] = "# branch.oid ", head[] = "# branch.head ";
    const char *branch = l->thread->branch + strlen("refs/heads/");
    if (strncmp(line, oid, strlen(oid)) == 0)
        l->head = mem_str(line + strlen(oid));
    else if (strncmp(line, head, strlen(head)) == 0 && strcmp(line + strlen(head), branch) != 0)
        l->elsewhere = mem_str(line + strlen(head));
}

/* If git fails, our list of paths may be the cause: then we ask again without it. */
static void read_status(struct worktree *t, const struct proc_job *job)
{
    const char *s = job->out.s, *end = s + job->out.len;
    t->settled = job->status == 0 || !t->usable_scan;
    t->usable_scan = false;
    if (job->status != 0 && t->settled)
        thread_look_fail(t->look, job->errout.len ? job->errout.s : "git status failed");
    while (job->status == 0 && s < end) {
        if (*s == '#') {
            read_header(t->look, s);
            s += strlen(s) + 1;
        } else {
            s = add_entry(t->look, s);
        }
    }
}

static bool is_named(const struct thread_look *l, const char *path)
{
    for (size_t i = 0; i < l->uncommitted.n; i++) {
        if (strcmp(l->uncommitted.v[i] + strlen("XY "), path) == 0)
            return true;
    }
    return false;
}

/* git must not look into submodules: it would run commands that the agent configured there. So we
 * check them ourselves. */
static void add_modules(const struct worktrees *ts, const struct worktree *t)
{
    struct thread_look *l = t->look;
    autofree char *index = mem_printf("%s/index", l->thread->admin);
    struct git_place at = {.git_dir = l->thread->admin,
                           .common = ts->repo->common,
                           .work_tree = l->thread->path,
                           .index = index};
    autostrv struct strv modules = {0};
    struct err err = {0};
    if (gitlinks_changed(&at, l->head ? strlen(l->head) : 0, true, &modules, &err))
        thread_look_fail(l, err.msg);
    for (size_t i = 0; i < modules.n; i++) {
        if (!is_named(l, modules.v[i]))
            strv_pushf(&l->uncommitted, " M %s", modules.v[i]);
    }
}

static void add_paths(const struct worktree *t, struct strv *argv)
{
    const struct work_scan *scan = &t->scan;
    strv_push(argv, "--");
    for (size_t i = 0; i < scan->changed.n; i++)
        strv_push(argv, scan->changed.v[i]);
    for (size_t i = 0; i < scan->untracked.n; i++) {
        if (!fanout_made(t->look->thread, scan->untracked.v[i]))
            strv_push(argv, scan->untracked.v[i]);
    }
}

/* Names all three folders, so that git trusts nothing in the worktree. */
static void prepare_status(const struct worktrees *ts, const struct worktree *t,
                           struct proc_job *job)
{
    const struct thread *thread = t->look->thread;
    struct git_place at = {
        .git_dir = thread->admin, .common = ts->repo->common, .work_tree = thread->path};
    *job = (struct proc_job)PROC_JOB_INIT;
    git_prepare(&at, &job->argv, &job->env);
    if (ts->n > 2) /* git's own threads only help if it is alone */
        strv_pushl(&job->argv, "-c", "core.preloadIndex=false", NULL);
    strv_pushl(&job->argv, "-C", thread->path, "--literal-pathspecs", "status", "--porcelain=v2",
               "-z", "--branch", "--no-ahead-behind", "--untracked-files=all", "--renames",
               "--ignore-submodules=dirty", NULL);
    if (t->usable_scan)
        add_paths(t, &job->argv);
}

/* Asks git about all worktrees that are not settled. */
static int ask_git(struct worktrees *ts, struct err *err)
{
    size_t asked = 0;
    struct proc_job *jobs = mem_array(ts->n, sizeof(*jobs));
    struct worktree **asked_worktrees = mem_array(ts->n, sizeof(struct worktree *));
    for (size_t i = 0; i < ts->n; i++) {
        if (ts->v[i].settled)
            continue;
        prepare_status(ts, &ts->v[i], &jobs[asked]);
        asked_worktrees[asked++] = &ts->v[i];
    }
    int rc = capture_many(jobs, asked, err);
    for (size_t i = 0; i < asked; i++) {
        if (rc == 0)
            read_status(asked_worktrees[i], &jobs[i]);
        if (rc == 0 && jobs[i].status == 0)
            add_modules(ts, asked_worktrees[i]);
        proc_job_done(&jobs[i]);
    }
    free(jobs);
    free(asked_worktrees);
    return rc;
}

static int find_heads(struct worktrees *ts, struct err *err)
{
    for (size_t i = 0; i < ts->n; i++) {
        struct worktree *t = &ts->v[i];
        t->settled = access(t->look->thread->path, F_OK) < 0;
        if (t->settled)
            thread_look_fail(t->look, "its worktree is gone");
        else if (find_head(ts, t, err))
            return -1;
    }
    return 0;
}

static void settle_clean(struct worktree *t)
{
    if (!is_clean(t))
        return;
    t->look->head = buf_steal(&t->head);
    t->settled = true;
}

static int find_changes(struct worktrees *ts, struct err *err)
{
    if (find_heads(ts, err))
        return -1;
    parallel_for(ts->n, scan_worktree, ts->v);
    for (size_t i = 0; i < ts->n; i++)
        settle_clean(&ts->v[i]);
    if (ask_git(ts, err))
        return -1;
    return ask_git(ts, err); /* again without paths, if git failed */
}

int thread_changes(struct thread_looks *ls, const struct git_repo *repo, struct git_batch *batch,
                   struct err *err)
{
    struct worktrees ts = {
        .repo = repo, .batch = batch, .v = mem_array(ls->n, sizeof(*ts.v)), .n = ls->n};
    for (size_t i = 0; i < ls->n; i++)
        ts.v[i] = (struct worktree){.look = &ls->v[i], .head = BUF_INIT, .tree = BUF_INIT};
    int rc = find_changes(&ts, err);
    for (size_t i = 0; i < ls->n; i++) {
        buf_done(&ts.v[i].head);
        buf_done(&ts.v[i].tree);
        work_scan_close(&ts.v[i].scan);
    }
    free(ts.v);
    return rc;
}
