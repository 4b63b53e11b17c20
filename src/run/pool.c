#include "run/pool.h"

#include "base/mem.h"
#include "data/git_index.h"
#include "run/fill.h"
#include "run/sweep.h"
#include "sys/dirs.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* --- taking in ---------------------------------------------------------------------------- */

#define FILLED "anabranch.index" /* in the administrative folder: the index as git filled it */

static bool is_wanted(const struct job *job)
{
    enum provider provider = job->run->provider;
    return provider != PROVIDER_CHECKOUT &&
           (provider == PROVIDER_POOL || workspace_is_large(&job->ws));
}

/* Submodules have files that nobody would clean, and what git does not look at it does not mend. */
static bool is_plain(const char *path, size_t id_len)
{
    autogitindex struct git_index index;
    bool plain = git_index_open(&index, path, id_len, NULL) == 0;
    for (struct git_index_entry e; plain && git_index_next(&index, &e);)
        plain = !e.unseen && !e.unmerged && (S_ISREG(e.mode) || S_ISLNK(e.mode));
    return plain && index.good;
}

/* git never writes into an index, it puts another one in its place: a second name will do. */
void pool_note(struct job *job)
{
    autofree char *index = mem_printf("%s/index", job->ws.admin);
    autofree char *filled = mem_printf("%s/" FILLED, job->ws.admin);
    if (is_wanted(job) && is_plain(index, strlen(job->run->base_commit)))
        (void)!link(index, filled); /* without it the tree is just deleted */
}

static bool has_room(const struct run *run)
{
    size_t to_begin = run->sched.left > run->jobs ? run->sched.left - run->jobs : 0;
    return run->pool.trees.n < run->sched.workers && run->pool.trees.n < to_begin;
}

/* In the place of the tree's `.git` is the index from now on. */
bool pool_keep(struct run *run, const char *admin, const char *tree)
{
    autofree char *filled = mem_printf("%s/" FILLED, admin), *git = mem_printf("%s/.git", tree);
    autofree char *kept = mem_printf("%s/%s/.%zu.gone", run->work, run->id, run->pool.count);
    struct err none = {0};
    if (!has_room(run) || access(filled, F_OK) < 0 || dirs_remove(git, &none) ||
        rename(filled, git) < 0 || rename(tree, kept) < 0)
        return false;
    run->pool.count++;
    strv_push(&run->pool.trees, kept);
    return true;
}

/* --- giving out --------------------------------------------------------------------------- */

bool pool_has(const struct run *run)
{
    return run->pool.trees.n > 0;
}

/* Puts the tree in the place of the workspace's, which has nothing in it but its `.git`. */
static int put_in_place(const struct workspace *ws, const char *tree, struct err *err)
{
    autofree char *index = mem_printf("%s/index", ws->admin);
    autofree char *git = mem_printf("%s/.git", ws->path), *its = mem_printf("%s/.git", tree);
    return rename(its, index) < 0 || rename(git, its) < 0 || rmdir(ws->path) < 0 ||
                   rename(tree, ws->path) < 0
               ? err_sys(err, "use '%s' again", tree)
               : 0;
}

static void delete_tree(struct run *run, const char *tree, uint32_t task)
{
    autostrv struct strv trees = {0};
    struct err err = {0};
    strv_push(&trees, tree);
    if (sweep(run, task, &trees, &err))
        record_error(run, task, &err);
}

/* The tree is not fit after all, as with folders that may not be written to: git fills a new one.
 */
static int fill_anew(struct job *job, struct err *err)
{
    autofree char *gone = mem_printf("%s.gone", job->ws.path);
    if (dirs_remove(gone, err))
        return -1;
    if (rename(job->ws.path, gone) == 0)
        delete_tree(job->run, gone, job->task);
    return workspace_restore(&job->ws, err) || fill_by_git(job, err) ? -1 : 0;
}

/* What the user's settings would have git overlook counts. */
static int start_git(struct job *job, const char *const *args,
                     void (*next)(struct job *job, int exit_code), struct err *err)
{
    struct git_place at = workspace_place(&job->ws);
    autofree char *log = job_file(job, "prepare.log");
    autostrv struct strv argv = {0}, env = {0};
    git_prepare(&at, &argv, &env);
    strv_pushl(&argv, "-c", "core.trustctime=true", "-c", "core.checkStat=default", NULL);
    for (; *args; args++)
        strv_push(&argv, *args);
    return process_start(job, argv.v, env.v, job->ws.path, log, next, err);
}

static void on_cleaned(struct job *job, int exit_code)
{
    struct err err = {0};
    if (exit_code == 0 || job->stopped)
        fill_by_git_done(job, exit_code);
    else if (fill_anew(job, &err))
        job_fail(job, FAILURE_SETUP, "%s", err.msg);
}

static void on_reset(struct job *job, int exit_code)
{
    static const char *const clean[] = {"clean", "-ffdxq", NULL};
    struct err err = {0};
    if (exit_code != 0 || job->stopped)
        on_cleaned(job, exit_code);
    else if (start_git(job, clean, on_cleaned, &err))
        job_fail(job, FAILURE_SETUP, "%s", err.msg);
}

int pool_fill(struct job *job, struct err *err)
{
    static const char *const reset[] = {"read-tree", "--reset", "-u", "HEAD", NULL};
    struct run *run = job->run;
    autofree char *tree = run->pool.trees.v[--run->pool.trees.n];
    struct err why = {0};
    run->pool.trees.v[run->pool.trees.n] = NULL;
    if (put_in_place(&job->ws, tree, &why) == 0)
        return start_git(job, reset, on_reset, err);
    delete_tree(run, tree, job->task);
    return fill_anew(job, err);
}

/* --- the end ------------------------------------------------------------------------------ */

void pool_empty(struct run *run)
{
    struct err err = {0};
    if (run->pool.trees.n && sweep(run, -1, &run->pool.trees, &err))
        record_error(run, -1, &err);
    strv_done(&run->pool.trees);
}
