#include "workspace/commit/salvage.h"

#include "base/map.h"
#include "base/mem.h"
#include "git/format/gitlinks.h"
#include "git/format/index.h"
#include "git/unsynced.h"
#include "workspace/commit/lost_commits.h"
#include "workspace/commit/nested_repos.h"
#include "workspace/commit/vault.h"
#include "workspace/fill/included.h"
#include "workspace/fill/submodules.h"

#include <ctype.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void salvaged_done(struct salvaged *s)
{
    buf_done(&s->commit);
    strv_done(&s->nested);
    strv_done(&s->clones);
    strv_done(&s->dropped);
    strv_done(&s->left);
}

static struct git_place place_of(const struct salvage_job *job)
{
    struct git_place at = workspace_place(job->commit.ws);
    at.index = job->commit.index;
    at.excludes = job->commit.excludes;
    return at;
}

static int run_git_with(const struct git_place *at, const struct buf *in, struct err *err, ...)
    __attribute__((sentinel));

/* Runs `git ARG... NULL` with `in` as its input; does nothing if `in` is empty. */
static int run_git_with(const struct git_place *at, const struct buf *in, struct err *err, ...)
{
    autostrv struct strv args = {0};
    va_list ap;
    va_start(ap, err);
    for (const char *s; (s = va_arg(ap, const char *));)
        strv_push(&args, s);
    va_end(ap);
    return in->len ? git_ask(at, &args, in, NULL, err) : 0;
}

/* Clears the index flags that tell git not to look at a file: an agent can set one and then change
 * the file. Leaves missing files (a sparse checkout) as they are. */
static int unhide_files(const struct salvage_job *job, const struct git_place *at, struct err *err)
{
    autobuf struct buf list = BUF_INIT, hidden = BUF_INIT;
    if (git_call(at, &list, err, "ls-files", "-v", "-z", NULL))
        return -1;
    for (const char *p = list.s; p < list.s + list.len; p += strlen(p) + 1) {
        struct stat st;
        if (!islower((unsigned char)*p) && *p != 'S')
            continue;
        autofree char *path = mem_printf("%s/%s", job->commit.ws->path, p + 2);
        if (lstat(path, &st) == 0)
            buf_add(&hidden, p + 2, strlen(p + 2) + 1);
    }
    return run_git_with(at, &hidden, err, "update-index", "-z", "--no-skip-worktree", "--stdin",
                        NULL) ||
                   run_git_with(at, &hidden, err, "update-index", "-z", "--no-assume-unchanged",
                                "--stdin", NULL)
               ? -1
               : 0;
}

/* Finds tracked files that are now a FIFO, a socket and so on: `git add` would fail on them. */
static int find_special(const struct salvage_job *job, const struct git_place *at, struct strv *ret,
                        struct err *err)
{
    autobuf struct buf out = BUF_INIT;
    if (git_call(at, &out, err, "ls-files", "-z", "--modified", NULL))
        return -1;
    for (const char *p = out.s; p < out.s + out.len; p += strlen(p) + 1) {
        autofree char *path = mem_printf("%s/%s", job->commit.ws->path, p);
        struct stat st;
        if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode) &&
            !S_ISDIR(st.st_mode))
            strv_push(ret, p);
    }
    return 0;
}

/* The change is too large: adds only the files that fit. */
static int add_fitting(const struct git_place *at, struct change_size *size, struct salvaged *ret,
                       struct err *err)
{
    strv_done(&ret->left);
    ret->left = size->left;
    size->left = (struct strv){0};
    ret->left_count = size->left_count;
    ret->left_bytes = size->left_bytes;
    return run_git_with(at, &size->fits, err, "update-index", "--add", "--remove", "-z", "--stdin",
                        NULL);
}

static int add_files(const struct salvage_job *job, const struct git_place *at, bool anew,
                     struct strv *nested, struct salvaged *ret, struct err *err)
{
    autostrv struct strv args = {0}, special = {0};
    autochangesize struct change_size size = CHANGE_SIZE_INIT;
    if (commit_index(&job->commit, anew, err) || unhide_files(job, at, err) ||
        (anew && find_special(job, at, &special, err)) ||
        nested_repos_find(at, job->commit.ws, nested, err) ||
        change_measure(at, &job->bounds, &size, err))
        return -1;
    if (size.over)
        return add_fitting(at, &size, ret, err);
    strv_pushl(&args, "add", "-A", "--", ".", NULL);
    nested_repos_exclude(nested, "", &args);
    nested_repos_exclude(&special, "", &args);
    return gitlinks_stage(at, strlen(job->commit.start), &args, err) ||
                   git_ask(at, &args, NULL, NULL, err)
               ? -1
               : 0;
}

/* If the agent, or its death, has damaged the index, we start from a new one instead of losing the
 * files. */
static int stage_files(const struct salvage_job *job, const struct git_place *at,
                       struct strv *nested, struct salvaged *ret, struct err *err)
{
    struct err first = {0};
    if (add_files(job, at, false, nested, ret, &first) == 0)
        return 0;
    strv_done(nested);
    *nested = (struct strv){0};
    return add_files(job, at, true, nested, ret, err);
}

/* Adds the ignored files that the patterns list. Included files are not the agent's work. */
static int add_ignored(const struct salvage_job *job, const struct git_place *at,
                       const struct included *included, struct err *err)
{
    autostrv struct strv args = {0};
    autobuf struct buf out = BUF_INIT, wanted = BUF_INIT;
    if (!job->pattern_count)
        return 0;
    strv_pushl(&args, "ls-files", "-z", "--others", "--ignored", NULL);
    for (size_t i = 0; i < job->pattern_count; i++)
        strv_pushf(&args, "--exclude=%s", job->patterns[i]);
    if (git_ask(at, &args, NULL, &out, err))
        return -1;
    for (const char *p = out.s; p < out.s + out.len; p += strlen(p) + 1) {
        if (p[strlen(p) - 1] != '/' && !included_has(included, p))
            buf_add(&wanted, p, strlen(p) + 1);
    }
    return run_git_with(at, &wanted, err, "update-index", "--add", "-z", "--stdin", NULL);
}

/* True if a folder contains included files: then the folder itself is not the agent's work. */
static bool has_included_below(const struct included *included, const char *folder, size_t len)
{
    const struct buf *all = &included->text;
    for (const char *p = all->s; p < all->s + all->len; p += strlen(p) + 1) {
        if (strncmp(p, folder, len) == 0)
            return true;
    }
    return false;
}

/* `path` has a slash at the end if it is a folder that git ignores as a whole. */
static void add_dropped(const struct included *included, const char *path, struct salvaged *ret)
{
    size_t len = strlen(path);
    bool folder = path[len - 1] == '/';
    autofree char *plain = mem_dup(path, folder ? len - 1 : len);
    if (included_has(included, plain) || (folder && has_included_below(included, path, len)))
        return;
    if (ret->dropped_count++ < SALVAGE_NAMES)
        strv_push(&ret->dropped, path);
}

/* Lists the files that will be lost with the workspace. */
static int list_dropped(const struct git_place *at, const struct included *included,
                        struct salvaged *ret, struct err *err)
{
    autobuf struct buf out = BUF_INIT;
    if (git_call(at, &out, err, "ls-files", "-z", "--others", "--ignored", "--exclude-standard",
                 "--directory", NULL))
        return -1;
    const char *folder = ""; /* git may also list files inside it */
    for (const char *p = out.s; p < out.s + out.len; p += strlen(p) + 1) {
        size_t len = strlen(p);
        if (*folder && strncmp(p, folder, strlen(folder)) == 0)
            continue;
        folder = p[len - 1] == '/' ? p : "";
        add_dropped(included, p, ret);
    }
    return 0;
}

static int handle_ignored(const struct salvage_job *job, const struct git_place *at,
                          struct salvaged *ret, struct err *err)
{
    autobrought struct included included = BROUGHT_INIT;
    if (included_open(&included, job->commit.brought, job->commit.root, err))
        return -1;
    return add_ignored(job, at, &included, err) || list_dropped(at, &included, ret, err) ? -1 : 0;
}

int salvage_dropped(const struct salvage_job *job, struct salvaged *ret, struct err *err)
{
    struct git_place at = place_of(job);
    autobrought struct included included = BROUGHT_INIT;
    if (included_open(&included, job->commit.brought, job->commit.root, err))
        return -1;
    return list_dropped(&at, &included, ret, err);
}

static int save_nested(const struct salvage_job *job, const struct strv *paths,
                       struct salvaged *ret, struct err *err)
{
    struct git_place at = workspace_place(job->commit.ws);
    autofree char *index = mem_printf("%s.nested", job->commit.index);
    int rc = 0;
    at.index = index;
    for (size_t i = 0; rc == 0 && i < paths->n; i++) {
        autofree char *ref = mem_printf("%s.nested/%zu", job->ref, i + 1);
        bool saved = false;
        rc = nested_repos_save(&at, job->commit.ws, paths, i, ref, &saved, err);
        if (rc == 0)
            strv_push(saved ? &ret->nested : &ret->clones, paths->v[i]);
    }
    (void)unlink(index);
    return rc;
}

/* *ret_yes: `other` has each file that the commit changed with the same content. */
static int is_contained(const struct git_place *at, const struct salvage_job *job,
                        const char *commit, const char *other, bool *ret_yes, struct err *err)
{
    autobuf struct buf changed = BUF_INIT, differs = BUF_INIT;
    automap struct map paths = {0};
    if (commit_paths(at, job->commit.start, commit, &changed, err) ||
        commit_paths(at, commit, other, &differs, err))
        return -1;
    for (const char *p = differs.s; p < differs.s + differs.len; p += strlen(p) + 1)
        (void)map_put(&paths, p, strlen(p), &paths);
    *ret_yes = true;
    for (const char *p = changed.s; *ret_yes && p < changed.s + changed.len; p += strlen(p) + 1)
        *ret_yes = !map_get(&paths, p, strlen(p));
    return 0;
}

/* Chooses the lost commits worth saving: none that contains included files, and (if there is an
 * `other`) none that is only an earlier version of it. */
static int choose_lost(const struct salvage_job *job, const struct strv *found, const char *other,
                       struct strv *ret, struct err *err)
{
    struct git_place at = {.git_dir = job->commit.ws->common};
    autobrought struct included included = BROUGHT_INIT;
    if (included_open(&included, job->commit.brought, job->commit.root, err))
        return -1;
    for (size_t i = 0; i < found->n; i++) {
        bool tainted = false, contained = false;
        if (commit_has_brought(&at, job->commit.start, found->v[i], &included, &tainted, err) ||
            (other && is_contained(&at, job, found->v[i], other, &contained, err)))
            return -1;
        if (!tainted && !contained)
            strv_push(ret, found->v[i]);
    }
    return 0;
}

static int save_lost(const struct salvage_job *job, const char *const *kept, bool all,
                     struct salvaged *ret, struct err *err)
{
    struct git_place at = {.git_dir = job->commit.ws->common};
    autostrv struct strv found = {0}, strays = {0};
    autobuf struct buf commit = BUF_INIT;
    autofree char *ref = mem_printf("%s.commits", job->ref);
    if (lost_commits_find(job->commit.ws, kept, all, &found, err) ||
        choose_lost(job, &found, all ? NULL : kept[0], &strays, err))
        return -1;
    ret->stray_count = strays.n;
    if (!strays.n)
        return 0;
    return lost_commits_tie(&at, &strays, job->commit.message, &commit, err) ||
                   git_call(&at, NULL, err, "update-ref", "--no-deref", ref, commit.s, NULL)
               ? -1
               : 0;
}

static int set_ref(const struct salvage_job *job, struct salvaged *ret, struct err *err)
{
    struct git_place at = {.git_dir = job->commit.ws->common, .batch = job->commit.ws->batch};
    bool moved = true;
    if (!ret->commit.len)
        return 0;
    unsynced_note();
    if (job->unnamed)
        return 0;
    if (git_move_ref(&at, job->ref, "", ret->commit.s, "anabranch: salvage", &moved, err))
        return -1;
    if (!moved)
        return err_set(err, ERR_ENV, "'%s' exists already", job->ref);
    ret->objects_lost =
        vault_keep(&at, job->ref, ret->commit.s, job->commit.start, &ret->vault, err) != 0;
    return ret->objects_lost ? -1 : 0;
}

/* The work tree is gone, but its index may still exist. */
static int commit_staged(const struct commit_job *cj, struct salvaged *ret, struct err *err)
{
    struct err first = {0};
    if (commit_index(cj, false, &first) == 0 && commit_make(cj, false, &ret->commit, &first) == 0)
        return 0;
    buf_cut(&ret->commit, 0);
    return commit_index(cj, true, err) || commit_make(cj, false, &ret->commit, err) ? -1 : 0;
}

/* Stages the files without starting git, in plain cases: then there are no nested repositories or
 * submodules, and the scan lists the ignored files. */
static int stage_without_git(const struct salvage_job *job, struct buf *ret_tree, bool *ret_done,
                             struct salvaged *ret, struct err *err)
{
    autobrought struct included included = BROUGHT_INIT;
    autostrv struct strv ignored = {0};
    *ret_done = false;
    if (job->no_files || job->pattern_count)
        return 0;
    if (included_open(&included, job->commit.brought, job->commit.root, err) ||
        commit_stage_plainly(&job->commit, ret_tree, &ignored, ret_done, err))
        return -1;
    for (size_t i = 0; *ret_done && i < ignored.n; i++)
        add_dropped(&included, ignored.v[i], ret);
    return 0;
}

static int commit_files(const struct salvage_job *job, struct salvaged *ret, struct err *err)
{
    const struct commit_job *cj = &job->commit;
    struct git_place at = place_of(job);
    autostrv struct strv nested = {0};
    if (job->no_files)
        return commit_staged(cj, ret, err);
    if (cj->tree)
        return commit_make(cj, false, &ret->commit, err);
    return stage_files(job, &at, &nested, ret, err) || handle_ignored(job, &at, ret, err) ||
                   nested_repos_find_modules(&at, cj->ws, &nested, err) ||
                   save_nested(job, &nested, ret, err) ||
                   commit_make(cj, ret->nested.n > 0, &ret->commit, err) ||
                   submodules_save(cj->ws, cj->index, err)
               ? -1
               : 0;
}

static int save_all(const struct salvage_job *job, struct salvaged *ret, struct err *err)
{
    const struct commit_job *cj = &job->commit;
    workspace_unclog(cj->ws);
    if (commit_files(job, ret, err))
        return -1;
    autostrv struct strv kept = {0};
    strv_push(&kept, ret->commit.len ? ret->commit.s : cj->start);
    for (const char *const *again = job->made_again; again && *again; again++)
        strv_push(&kept, *again);
    if (save_lost(job, (const char *const *)kept.v, true, ret, err))
        return -1;
    if (!ret->commit.len && ret->stray_count && commit_make(cj, true, &ret->commit, err))
        return -1;
    return set_ref(job, ret, err);
}

static int save_once(const struct salvage_job *job, struct salvaged *ret, struct err *err)
{
    struct salvage_job staged = *job;
    autobuf struct buf tree = BUF_INIT;
    bool done;
    if (stage_without_git(job, &tree, &done, ret, err))
        return -1;
    staged.commit.tree = done ? tree.s : NULL;
    return save_all(&staged, ret, err);
}

/* Forgets what we have saved so far. The refs may point to objects that no longer exist. */
static int start_over(const struct salvage_job *job, struct salvaged *ret, struct err *err)
{
    struct git_place at = {.git_dir = job->commit.ws->common};
    autofree char *commits = mem_printf("%s.commits", job->ref);
    salvaged_done(ret);
    *ret = (struct salvaged)SALVAGED_INIT;
    return git_call(&at, NULL, err, "update-ref", "--no-deref", "-d", job->ref, NULL) ||
                   git_call(&at, NULL, err, "update-ref", "--no-deref", "-d", commits, NULL)
               ? -1
               : 0;
}

int salvage_workspace(const struct salvage_job *job, struct salvaged *ret, struct err *err)
{
    enum { TRIES = 5 };
    for (int tries = 1;; tries++) {
        if (save_once(job, ret, err) == 0)
            return 0;
        if (!ret->objects_lost || tries == TRIES || start_over(job, ret, err))
            return -1;
    }
}

/* The index entries that `git add` skipped. */
struct passed_over {
    bool modules;      /* there are submodules, or we could not read the index */
    struct buf hidden; /* existing files that git was told not to look at */
};

static void passed_over_done(struct passed_over *p)
{
    buf_done(&p->hidden);
}

static void read_index(const struct salvage_job *job, struct passed_over *ret)
{
    const struct workspace *ws = job->commit.ws;
    autofree char *path = mem_printf("%s/index", ws->admin);
    autogitindex struct git_index index;
    bool opened = git_index_open(&index, path, strlen(job->commit.start), NULL) == 0;
    for (struct git_index_entry e; opened && git_index_next(&index, &e);) {
        autofree char *file = e.unseen ? mem_printf("%s/%s", ws->path, e.path) : NULL;
        struct stat st;
        ret->modules |= (e.mode & GIT_INDEX_KIND) == GIT_INDEX_SUBMODULE;
        if (file && lstat(file, &st) == 0 && !S_ISDIR(st.st_mode))
            buf_add(&ret->hidden, e.path, strlen(e.path) + 1);
    }
    ret->modules |= !opened || !index.good;
}

/* Commits only these files and the listed ignored files, on top of the commit at which the task
 * began. */
static int save_unseen(const struct salvage_job *job, const struct buf *hidden, bool always,
                       struct salvaged *ret, struct err *err)
{
    const struct commit_job *cj = &job->commit;
    struct git_place at = place_of(job);
    autobrought struct included included = BROUGHT_INIT;
    autobuf struct buf tree = BUF_INIT, was = BUF_INIT;
    const char *const parents[] = {cj->start, NULL};
    if (included_open(&included, cj->brought, cj->root, err) || commit_index(cj, true, err) ||
        add_ignored(job, &at, &included, err) ||
        run_git_with(&at, hidden, err, "update-index", "-z", "--stdin", NULL) ||
        git_call(&at, &tree, err, "write-tree", NULL) || git_tree_of(&at, cj->start, &was, err))
        return -1;
    if (!always && strcmp(tree.s, was.s) == 0)
        return 0;
    return git_commit_tree(&at, tree.s, parents, cj->message, &ret->commit, err);
}

int salvage_rest(const struct salvage_job *job, const char *const *kept, bool has_nested,
                 struct salvaged *ret, struct err *err)
{
    struct git_place at = place_of(job);
    own_cleanup(passed_over_done) struct passed_over passed = {.hidden = BUF_INIT};
    autostrv struct strv nested = {0};
    if (!job->plain)
        read_index(job, &passed);
    if ((has_nested || passed.modules) &&
        (commit_index(&job->commit, true, err) ||
         nested_repos_find(&at, job->commit.ws, &nested, err) ||
         nested_repos_find_modules(&at, job->commit.ws, &nested, err) ||
         save_nested(job, &nested, ret, err)))
        return -1;
    if (save_lost(job, kept, false, ret, err))
        return -1;
    bool more = ret->nested.n || ret->stray_count;
    if ((more || job->pattern_count || passed.hidden.len) &&
        save_unseen(job, &passed.hidden, more, ret, err))
        return -1;
    return set_ref(job, ret, err);
}
