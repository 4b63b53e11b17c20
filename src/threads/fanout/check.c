/*
 * Checks for obstacles before anything changes.
 */
#include "threads/fanout/fanout_private.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/text/glob.h"
#include "base/text/str.h"
#include "git/format/gitlinks.h"
#include "run/preflight.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"
#include "workspace/workspace.h"

#include <dirent.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#define PARALLEL "refs/heads/parallel"

enum { MAX_LISTED = 5 }; /* how many changed files we list */

static struct git_place find_checkout(const struct fanout *f)
{
    const struct git_repo *repo = &f->pf->repo;
    return (struct git_place){
        .git_dir = repo->git_dir, .common = repo->common, .work_tree = repo->root};
}

static bool is_plan(const struct fanout *f, const char *path)
{
    autofree char *full = mem_printf("%s/%s", f->pf->repo.root, path);
    struct stat here, plan;
    return f->opts.plan_path && stat(full, &here) == 0 && stat(f->opts.plan_path, &plan) == 0 &&
           here.st_dev == plan.st_dev && here.st_ino == plan.st_ino;
}

/* Entries "XY path", each followed by a NUL. After a rename comes the old name. */
static void list_changed(const struct fanout *f, const struct buf *status, struct strv *out)
{
    for (const char *p = status->s; p < status->s + status->len; p += strlen(p) + 1) {
        const char *path = p + strlen("XY ");
        if (!is_plan(f, path))
            strv_push(out, path);
        if (*p == 'R' || *p == 'C')
            p += strlen(p) + 1;
    }
}

static void show_changed(const struct strv *paths, struct buf *out)
{
    for (size_t i = 0; i < paths->n && i < MAX_LISTED; i++)
        buf_addf(out, "%s'%.60s'", i ? ", " : "", paths->v[i]);
    if (paths->n > MAX_LISTED)
        buf_addstr(out, " and more");
}

/* We ignore untracked files, because ours are among them. */
static int check_changes(const struct fanout *f, struct err *err)
{
    struct git_place at = find_checkout(f);
    autostrv struct strv args = {0}, paths = {0};
    autobuf struct buf status = BUF_INIT, errout = BUF_INIT, names = BUF_INIT;
    int status_code;
    if (f->opts.allow_dirty)
        return 0;
    strv_pushl(&args, "status", "--porcelain", "-z", "--untracked-files=no",
               "--ignore-submodules=dirty", NULL);
    if (git_try(&at, &args, &status, &errout, &status_code, err))
        return -1;
    if (status_code != 0)
        return err_set(err, ERR_ENV, "git: %.*s", (int)strcspn(errout.s, "\n"), errout.s);
    list_changed(f, &status, &paths);
    if (!paths.n && gitlinks_changed(&at, 0, false, &paths, err))
        return -1;
    if (!paths.n)
        return 0;
    show_changed(&paths, &names);
    return err_set(err, ERR_ENV,
                   "uncommitted changes would be missing in the threads: %s; commit or "
                   "stash them, or continue without them: --allow-dirty",
                   names.s);
}

static bool has_thread_file(const char *admin)
{
    autofree char *file = mem_printf("%s/" THREAD_FILE, admin);
    return file_exists(file);
}

/* True if the file consists of this one line. */
static bool is_line(const char *folder, const char *name, const char *line)
{
    autofree char *path = mem_printf("%s/%s", folder, name);
    autobuf struct buf text = BUF_INIT;
    if (file_read(path, PATH_MAX + 64, &text, NULL))
        return false;
    buf_cut(&text, strcspn(text.s, "\n"));
    return strcmp(text.s, line) == 0;
}

/* True if the folder has nothing but the link to its administrative folder. A nested repository
 * does not count. */
static bool has_only_link(const struct thread *t)
{
    autofree char *link = mem_printf("gitdir: %s", t->admin);
    DIR *dir = opendir(t->path);
    bool only_link = dir != NULL;
    for (struct dirent *e; only_link && (e = readdir(dir));)
        only_link = str_is_dots(e->d_name) ||
                    (strcmp(e->d_name, ".git") == 0 && is_line(t->path, ".git", link));
    if (dir)
        (void)closedir(dir);
    return only_link;
}

bool fanout_is_half_made(const struct thread *t)
{
    autofree char *tree = mem_printf("%s/.git", t->path);
    if (!file_exists(t->admin))
        return has_only_link(t);
    return !has_thread_file(t->admin) && is_line(t->admin, "locked", "in use by anabranch") &&
           is_line(t->admin, "gitdir", tree);
}

static int check_place(const struct thread *t, struct err *err)
{
    const char *what = file_exists(t->path) ? t->path : file_exists(t->admin) ? t->admin : NULL;
    if (!what || fanout_is_half_made(t))
        return 0;
    return err_set(err, ERR_ENV, "'%s' is in the way of thread %s: move it away first", what,
                   t->id);
}

static int check_branch(const struct thread *t, const struct map *refs, struct err *err)
{
    if (!map_get(refs, t->branch, strlen(t->branch)) || fanout_is_half_made(t))
        return 0;
    const char *name = t->branch + strlen("refs/heads/");
    return err_set(err, ERR_ENV,
                   "the branch '%s' exists, but is no thread: rename it with 'git branch -m "
                   "%s NAME', or delete it",
                   name, name);
}

static int check_places(const struct fanout *f, struct err *err)
{
    struct git_place at = {.git_dir = f->pf->repo.common};
    autobuf struct buf refs = BUF_INIT;
    automap struct map known = {0};
    if (git_call(&at, &refs, err, "for-each-ref", "--format=%(refname)", PARALLEL, NULL))
        return -1;
    for (char *rest = refs.s, *ref; (ref = strsep(&rest, "\n"));)
        (void)map_put(&known, ref, strlen(ref), refs.s);
    if (map_get(&known, PARALLEL, strlen(PARALLEL)))
        return err_set(
            err, ERR_ENV,
            "the branch 'parallel' conflicts with the threads' branches, 'parallel/...': "
            "rename it with 'git branch -m parallel NAME'");
    for (size_t i = 0; i < f->fresh.n; i++) {
        if (check_place(&f->fresh.v[i], err) || check_branch(&f->fresh.v[i], &known, err))
            return -1;
    }
    return 0;
}

/* Our folder ignores itself and everything in it, so no folder of the project can be used. */
static int check_tracked(const struct fanout *f, struct err *err)
{
    struct git_place at = find_checkout(f);
    const char *root = f->pf->repo.root;
    autobuf struct buf files = BUF_INIT;
    size_t len = strlen(root);
    if (strncmp(f->work, root, len) != 0 || f->work[len] != '/')
        return 0;
    autofree char *spec = mem_printf(":(top,literal)%s", f->work + len + 1);
    if (git_call(&at, &files, err, "-C", root, "ls-files", "--", spec, NULL))
        return -1;
    if (!files.len)
        return 0;
    return err_set(err, ERR_INPUT,
                   "the project has files of its own in '%s': choose another folder for the "
                   "threads with workspace.dir",
                   f->work + len + 1);
}

/* If the project tracks our file, it would be committed. */
static int check_brief(const struct fanout *f, struct err *err)
{
    struct git_place at = {.git_dir = f->pf->repo.common};
    autostrv struct strv args = {0};
    autobuf struct buf none = BUF_INIT;
    int status;
    strv_pushl(&args, "cat-file", "-e", NULL);
    strv_pushf(&args, "%s:" THREAD_BRIEF, f->base_commit);
    if (git_try(&at, &args, &none, NULL, &status, err))
        return -1;
    if (status != 0)
        return 0;
    return err_set(err, ERR_INPUT,
                   "the project has a file '" THREAD_BRIEF
                   "' of its own, but each thread's brief needs this name: rename it");
}

static int check_hidden(const struct fanout *f, struct err *err)
{
    autofree char *ignore = mem_printf("%s/.gitignore", f->work);
    autobuf struct buf text = BUF_INIT;
    if (!file_exists(ignore))
        return 0;
    if (file_read(ignore, 1 << 20, &text, err))
        return -1;
    for (char *rest = text.s, *line; (line = strsep(&rest, "\n"));) {
        if (strcmp(line, "*") == 0)
            return 0;
    }
    return err_set(err, ERR_ENV, "'%s' does not hide the threads: it needs a line '*'", ignore);
}

struct owned {
    const struct thread *thread;
    const char *path;
    struct glob *glob;
};

struct owned_list {
    VEC(struct owned) all;
};

static void owned_done(struct owned_list *list)
{
    for (size_t i = 0; i < list->all.n; i++)
        glob_free(list->all.v[i].glob);
    vec_done(&list->all);
}

static void add_owned(struct owned_list *list, const struct thread *t, const char *path, bool fold)
{
    struct owned owned = {t, path, glob_new(path, fold)};
    if (owned.glob)
        vec_push(&list->all, owned);
}

/* Paths granted later belong to a thread, too. */
static void list_owned(struct owned_list *list, const struct threads *ts, bool fold)
{
    for (size_t i = 0; i < ts->n; i++) {
        const struct thread *t = &ts->v[i];
        for (size_t k = 0; k < t->owns.n; k++)
            add_owned(list, t, t->owns.v[k], fold);
        for (size_t k = 0; k < t->requests.n; k++) {
            if (!t->requests.v[k].claimed_by)
                add_owned(list, t, t->requests.v[k].path, fold);
        }
    }
}

static bool do_overlap(const struct owned *a, const struct owned *b)
{
    const char *left = glob_prefix(a->glob), *right = glob_prefix(b->glob);
    size_t n = strlen(left) < strlen(right) ? strlen(left) : strlen(right);
    return strncmp(left, right, n) == 0 && glob_overlap(a->glob, b->glob, NULL);
}

/* Compares new threads with existing ones. We compared the threads of a plan with each other when
 * we read the plan. */
static int check_paths(const struct fanout *f, struct err *err)
{
    own_cleanup(owned_done) struct owned_list fresh = {0}, there = {0};
    if (f->pf->plan.overlap == OVERLAP_SERIALISE || f->pf->plan.overlap == OVERLAP_ALLOW)
        return 0;
    list_owned(&fresh, &f->fresh, f->pf->repo.core.ignore_case);
    list_owned(&there, &f->there, f->pf->repo.core.ignore_case);
    for (size_t i = 0; i < fresh.all.n * there.all.n; i++) {
        const struct owned *a = &fresh.all.v[i / there.all.n], *b = &there.all.v[i % there.all.n];
        if (do_overlap(a, b))
            return err_set(
                err, ERR_INPUT,
                "thread %s owns '%s', which overlaps with '%s' of the existing thread %s",
                a->thread->id, a->path, b->path, b->thread->id);
    }
    return 0;
}

static int check_git(const struct fanout *f, struct err *err)
{
    struct git_place at = {.git_dir = f->pf->repo.common};
    autobuf struct buf version = BUF_INIT;
    return git_call(&at, &version, err, "version", NULL) ? -1
                                                         : preflight_git_version(version.s, err);
}

int fanout_check(const struct fanout *f, struct err *err)
{
    if (check_git(f, err) || check_paths(f, err) || check_tracked(f, err) || check_brief(f, err) ||
        check_changes(f, err) || check_hidden(f, err) || check_places(f, err))
        return -1;
    return dirs_check(f->work, err) || preflight_disk(f->pf->repo.root, err) ? -1 : 0;
}
