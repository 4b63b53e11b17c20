#include "threads/fanout/fanout.h"

#include "base/mem.h"
#include "base/text/shell_quote.h"
#include "plan/words.h"
#include "threads/fanout/fanout_private.h"
#include "threads/relocate.h"
#include "workspace/workspace.h"

#include <string.h>
#include <unistd.h>

#define HEADS "refs/heads/"

void fanout_close(struct fanout *f)
{
    threads_done(&f->there);
    threads_done(&f->fresh);
    strv_done(&f->known);
    free(f->work);
    free(f->base);
    free(f->base_commit);
    *f = (struct fanout){0};
}

/* The branch that is checked out, or none. */
static int use_head(struct fanout *f, struct err *err)
{
    struct git_place here = {.git_dir = f->pf->repo.git_dir};
    autostrv struct strv args = {0};
    autobuf struct buf ref = BUF_INIT, commit = BUF_INIT;
    int status;
    strv_pushl(&args, "symbolic-ref", "--quiet", "HEAD", NULL);
    if (git_try(&here, &args, &ref, NULL, &status, err))
        return -1;
    if (git_resolve(&here, "HEAD", &commit, err))
        return err->code != ERR_INPUT ? -1
                                      : err_set(err, ERR_INPUT,
                                                "the repository has no commit yet: threads need "
                                                "one to start from");
    buf_cut(&ref, strcspn(ref.s, "\n"));
    f->base = status == 0 ? mem_str(ref.s) : NULL;
    f->base_commit = mem_str(commit.s);
    return 0;
}

static int find_base(struct fanout *f, struct err *err)
{
    const char *named = f->pf->plan.base;
    struct git_place at = {.git_dir = f->pf->repo.common};
    autobuf struct buf commit = BUF_INIT;
    if (!named)
        return use_head(f, err);
    f->base = mem_printf(HEADS "%s", named);
    if (git_resolve(&at, f->base, &commit, err))
        return err->code != ERR_INPUT
                   ? -1
                   : err_set(err, ERR_INPUT, "there is no branch '%s' with a commit", named);
    f->base_commit = mem_str(commit.s);
    return 0;
}

/* The main worktree, or the current one if there is none. */
static char *find_main_root(const struct git_repo *repo)
{
    const char *slash = strrchr(repo->common, '/');
    bool linked = strcmp(repo->git_dir, repo->common) != 0;
    return linked && strcmp(slash, "/.git") == 0
               ? mem_dup(repo->common, (size_t)(slash - repo->common))
               : mem_str(repo->root);
}

static void set_folder(struct fanout *f)
{
    const char *dir = f->pf->plan.workspace_dir ? f->pf->plan.workspace_dir : "worktrees";
    autofree char *root = find_main_root(&f->pf->repo);
    f->work = *dir == '/' ? mem_str(dir) : mem_printf("%s/%s", root, dir);
    for (size_t len = strlen(f->work); len > 1 && f->work[len - 1] == '/'; len--)
        f->work[len - 1] = '\0';
}

static char *get_branch(const struct task *t)
{
    return t->branch ? mem_printf(HEADS "parallel/%s-thread-%s", t->branch, t->id)
                     : mem_printf(HEADS "parallel/thread-%s", t->id);
}

static bool is_first_line(const char *text, const char *line)
{
    text += strspn(text, " \t\r\n");
    size_t len = strcspn(text, "\r\n");
    return strlen(line) == len && strncmp(text, line, len) == 0;
}

/* The goal is the whole prompt, unless the task has a title that differs from its first line. */
static int set_goal(struct thread *thread, const struct plan_file *pf, const struct task *t,
                    struct err *err)
{
    autobuf struct buf text = BUF_INIT;
    if (plan_file_prompt(pf, t, &text, err))
        return err_wrap(err, "task '%s'", t->id);
    while (text.len && strchr(" \t\r\n", text.s[text.len - 1]))
        buf_cut(&text, text.len - 1);
    bool titled = t->title && !is_first_line(text.s, t->title);
    thread->goal = titled ? mem_str(t->title) : mem_str(text.s + strspn(text.s, "\r\n"));
    thread->prompt = titled ? mem_str(text.s) : NULL;
    return 0;
}

static void add_claims(struct strv *paths, struct claimed **claims, size_t n)
{
    for (size_t i = 0; claims && i < n; i++) {
        if (claims[i])
            strv_push(paths, claims[i]->path);
    }
}

static enum agent_engine get_engine(const struct fanout *f, const struct task *t)
{
    return f->opts.engine ? f->opts.engine : t->engine ? t->engine : ENGINE_CLAUDE;
}

static enum enforce get_enforce(const struct plan *plan, const struct task *t)
{
    return t->enforce ? t->enforce : plan->enforce ? plan->enforce : ENFORCE_BLOCK;
}

static int add_thread(struct fanout *f, const struct task *t, struct err *err)
{
    const struct plan_file *pf = f->pf;
    const struct claims *c = &pf->claims;
    autofree char *path = mem_printf("%s/thread-%s", f->work, t->id);
    autofree char *admin = workspace_admin_name(path);
    vec_push(&f->fresh, (struct thread){
                            .id = mem_str(t->id),
                            .branch = get_branch(t),
                            .engine = mem_str(engine_words[get_engine(f, t)]),
                            .ordered = t->order != INT64_MIN,
                            .order = t->order != INT64_MIN ? t->order : 0,
                            .enforce = mem_str(enforce_words[get_enforce(&pf->plan, t)]),
                            .base = f->base ? mem_str(f->base) : NULL,
                            .base_commit = mem_str(f->base_commit),
                            .made = true,
                            .path = mem_str(path),
                            .admin = mem_printf("%s/worktrees/%s", pf->repo.common, admin),
                        });
    struct thread *thread = &f->fresh.v[f->fresh.n - 1];
    add_claims(&thread->owns, c->owns ? c->owns[t->index] : NULL, t->owns.n);
    add_claims(&thread->forbids, c->forbids ? c->forbids[t->index] : NULL, t->forbids.n);
    for (size_t i = 0; i < t->dep_count; i++)
        strv_push(&thread->after, pf->plan.tasks[t->deps[i]].id);
    return set_goal(thread, pf, t, err);
}

/* An existing thread must be the same as in the plan. */
static int add_known(struct fanout *f, const struct thread *there, const struct task *t,
                     struct err *err)
{
    autofree char *branch = get_branch(t);
    if (strcmp(there->branch, branch) != 0)
        return err_set(err, ERR_INPUT,
                       "thread '%s' already exists, on the branch '%s': give this one another "
                       "id, or clean up first",
                       t->id, there->branch + strlen(HEADS));
    autobuf struct buf moved = BUF_INIT, repair = BUF_INIT;
    if (thread_is_moved(there, &moved)) {
        shell_quote(&repair, "git worktree repair", moved.s, NULL);
        return err_set(err, ERR_ENV,
                       "the worktree of thread %s was moved, but git does not know it: run %s",
                       t->id, repair.s);
    }
    if (access(there->path, F_OK) < 0)
        return err_set(err, ERR_ENV,
                       "the worktree '%s' of thread %s is gone: restore it, or let git forget it "
                       "with 'git worktree prune'",
                       there->path, t->id);
    strv_push(&f->known, t->id);
    return 0;
}

static int add_tasks(struct fanout *f, struct err *err)
{
    const struct plan *plan = &f->pf->plan;
    for (size_t i = 0; i < plan->task_count; i++) {
        const struct task *t = &plan->tasks[i];
        const struct thread *there = threads_find(&f->there, t->id);
        if (f->opts.wanted && !f->opts.wanted[i])
            continue;
        if (there ? add_known(f, there, t, err) : add_thread(f, t, err))
            return -1;
    }
    threads_sort(&f->fresh);
    return 0;
}

int fanout_open(struct fanout *f, const struct plan_file *pf, const struct fanout_options *opts,
                struct err *err)
{
    *f = (struct fanout){.pf = pf, .opts = *opts};
    if (!pf->repo.root)
        return err_set(err, ERR_ENV, "'%s' is not in a git repository", pf->project);
    if (find_base(f, err) || threads_load(&f->there, &pf->repo, err) ||
        threads_check(&f->there, err)) /* an unknown claim may overlap */
        return -1;
    set_folder(f);
    return add_tasks(f, err) || fanout_check(f, err) ? -1 : 0;
}

/* A command from the plan, with the brief as its prompt. */
static void add_command(const struct plan_command *cmd, struct buf *out)
{
    buf_addf(out, " &&%s%s", cmd->shell ? " " : "", cmd->shell ? cmd->shell : "");
    for (size_t i = 0; i < cmd->argv.n; i++) {
        bool prompt = strcmp(cmd->argv.v[i], "{prompt_file}") == 0;
        shell_quote(out, "", prompt ? THREAD_BRIEF : cmd->argv.v[i], NULL);
    }
}

void fanout_add_call(const struct fanout *f, const struct thread *t, struct buf *out)
{
    const struct task *task = plan_find(&f->pf->plan, t->id);
    shell_quote(out, "cd", t->path, NULL);
    if (strcmp(t->engine, engine_words[ENGINE_COMMAND]) == 0 && task)
        add_command(&task->command, out);
    else if (strcmp(t->engine, engine_words[ENGINE_SIM]) != 0)
        buf_addf(out, " && %s", t->engine); /* the engine's name is also its program's */
}
