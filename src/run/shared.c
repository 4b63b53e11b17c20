#include "run/shared_private.h"

#include "base/build.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "base/text.h"
#include "sys/dirs.h"
#include "sys/file.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { NAMES_MAX = 10, FINDINGS_MAX = 20, KEEP_TRIES = 1000 };

/* --- telling ------------------------------------------------------------------------------ */

static void put_tasks(struct arena *a, struct node *data, const struct run *run,
                      const shared_tasks *suspects)
{
    struct node *list = build_put_list(a, data, "tasks");
    for (size_t i = 0; i < suspects->n && i < NAMES_MAX; i++)
        build_add_string(a, list, run->pf->plan.tasks[suspects->v[i]].id);
    if (suspects->n > NAMES_MAX)
        build_put_int(a, data, "more_tasks", (int64_t)(suspects->n - NAMES_MAX));
}

void shared_tell(struct run *run, const shared_tasks *suspects, const struct finding *f)
{
    struct arena a = {0};
    struct node *data = build_map(&a);
    build_put_string(&a, data, "what", f->what);
    build_put_string(&a, data, "name", f->name);
    build_put_string(&a, data, "from", f->from);
    build_put_string(&a, data, "to", f->to);
    build_put_bool(&a, data, "restored", f->restored);
    build_put_string(&a, data, "undo", f->undo);
    build_put_string(&a, data, "saved", f->saved);
    build_put_string(&a, data, "kept", f->kept);
    struct node *paths = f->paths ? build_put_list(&a, data, "paths") : NULL;
    for (size_t i = 0; paths && i < f->paths->n && i < FINDINGS_MAX; i++)
        build_add_string(&a, paths, f->paths->v[i]);
    if (f->more)
        build_put_int(&a, data, "more", (int64_t)f->more);
    if (suspects->n != 1)
        put_tasks(&a, data, run, suspects);
    record(run, EV_GIT_STATE_CHANGED, suspects->n == 1 ? (int64_t)suspects->v[0] : -1, data);
    arena_done(&a);
}

char *shared_save(struct run *run, const char *name, struct git_content content)
{
    autofree char *dir = mem_printf("%s/shared/%d", run->dir, ++run->shared->saved);
    const char *slash = strrchr(name, '/');
    char *path = mem_printf("%s/%s", dir, slash ? slash + 1 : name);
    struct err err = {0};
    if (dirs_make(dir, &err) == 0 && file_create(path, content.s, content.len, &err) == 0 &&
        (chmod(path, content.mode & 0777) == 0 || err_sys(&err, "chmod '%s'", path)))
        return path;
    record_error(run, -1, &err);
    free(path);
    return NULL;
}

/* Whether a ref leads to it; what is no commit is kept in any case. */
static bool is_reachable(const struct git_place *at, const char *commit)
{
    autostrv struct strv args = {0};
    autobuf struct buf out = BUF_INIT;
    int status = 0;
    strv_pushl(&args, "for-each-ref", "--count=1", "--format=%(refname)", "--contains", commit,
               NULL);
    return git_try(at, &args, &out, NULL, &status, NULL) == 0 && status == 0 && out.len;
}

char *shared_keep(struct run *run, const char *commit)
{
    struct git_place at = run_place(run);
    struct err err = {0};
    bool moved = false;
    if (!isxdigit((unsigned char)*commit) || is_reachable(&at, commit))
        return NULL;
    for (int i = 1; i < KEEP_TRIES; i++) {
        char *ref = mem_printf("refs/anabranch/salvage/%s/shared/%d", run->id, i);
        autobuf struct buf there = BUF_INIT;
        if (git_resolve(&at, ref, &there, NULL) &&
            git_move_ref(&at, ref, "", commit, "anabranch: keep", &moved, &err) == 0 && moved)
            return ref;
        free(ref);
        if (err.code)
            break;
    }
    record_error(run, -1, &err);
    return NULL;
}

/* --- what has changed --------------------------------------------------------------------- */

struct look {
    struct run *run;
    struct job *job; /* whose process has ended, or NULL */
    const struct git_changes *changes;
    size_t told, more, remotes;
    bool wrote; /* to the configuration: what changes there now is our doing */
};

static bool begins_with(const char *s, const char *begin)
{
    return strncmp(s, begin, strlen(begin)) == 0;
}

static void tell(struct look *l, const struct finding *f)
{
    if (l->told++ < FINDINGS_MAX)
        shared_tell(l->run, &l->run->shared->suspects, f);
    else
        l->more++;
}

static void tell_ref(struct look *l, const struct git_change *c)
{
    autobuf struct buf undo = BUF_INIT;
    autofree char *kept = c->from.s ? shared_keep(l->run, c->from.s) : NULL;
    undo_ref(c, &undo);
    tell(l, &(struct finding){.what = "ref",
                              .name = c->name,
                              .from = c->from.s,
                              .to = c->to.s,
                              .undo = undo.s,
                              .kept = kept});
}

/* Whether the commit is what another run has landed. */
static bool is_landing(struct run *run, const char *commit)
{
    struct git_place at = run_place(run);
    autobuf struct buf out = BUF_INIT;
    struct err none = {0};
    return git_call(&at, &out, &none, "log", "-1",
                    "--format=%(trailers:key=Anabranch-Run,valueonly)", commit, NULL) == 0 &&
           out.len;
}

static void tell_base(struct look *l, const char *from, const char *to)
{
    struct shared *s = l->run->shared;
    struct git_change c = {.name = l->run->base_ref,
                           .from = {.s = from, .len = strlen(from)},
                           .to = {.s = to, .len = to ? strlen(to) : 0}};
    if (to && s->base_told && strcmp(s->base_told, to) == 0)
        return;
    free(s->base_told);
    s->base_told = to ? mem_str(to) : NULL;
    if (!to || !is_landing(l->run, to))
        tell_ref(l, &c);
}

/* Whether the run put the base there, is about to, or took note that someone else did. */
static bool is_known(const struct run *run, const char *commit)
{
    const struct publication *p = &run->publication;
    return strcmp(commit, run->published) == 0 ||
           (p->busy && p->target && strcmp(commit, p->target) == 0);
}

void shared_followed(struct run *run, const char *from, const char *to)
{
    struct look l = {.run = run};
    if (run->shared && run->shared->suspects.n && !is_known(run, to))
        tell_base(&l, from, to);
}

static void look_at_ref(struct look *l, const struct git_change *c)
{
    const struct run *run = l->run;
    if (strcmp(c->name, run->base_ref) == 0) {
        if (!c->to.s || !is_known(run, c->to.s))
            tell_base(l, run->published, c->to.s);
    } else if (begins_with(c->name, "refs/remotes/")) {
        l->remotes++;
    } else if (!map_get(&run->shared->ours, c->name, strlen(c->name)) &&
               strcmp(c->name, "refs/stash") != 0) {
        tell_ref(l, c);
    }
}

/* Of a workspace: "worktrees/20260301-120000-abcd-TASK/HEAD", also of other runs. */
static bool is_workspace(const char *name)
{
    static const char form[] = "00000000-000000-xxxx-";
    if (!begins_with(name, "worktrees/"))
        return false;
    name += strlen("worktrees/");
    for (size_t i = 0; form[i]; i++) {
        unsigned char c = (unsigned char)name[i];
        if (form[i] == '0' ? !isdigit(c) : form[i] == 'x' ? !isxdigit(c) : c != '-')
            return false;
    }
    return true;
}

static void look_at_head(struct look *l, const struct git_change *c)
{
    const struct git_repo *repo = &l->run->pf->repo;
    autofree char *own = mem_printf("%s/HEAD", repo->git_dir);
    autofree char *path = mem_printf("%s/%s", repo->common, c->name);
    autobuf struct buf undo = BUF_INIT;
    if (is_workspace(c->name))
        return;
    if (c->from.s && strcmp(path, own) == 0)
        undo_head(c, repo->root, &undo);
    tell(l, &(struct finding){.what = "head",
                              .name = c->name,
                              .from = c->from.s,
                              .to = c->to.s,
                              .undo = undo.len ? undo.s : NULL});
}

/* Tells of the lines that are in `a` and not in `b`, by the id of their stash: the second word. */
static void compare_stashes(struct look *l, const char *a, const char *b, bool lost)
{
    autofree char *lines = mem_str(a ? a : "");
    for (char *next = lines, *line; (line = strsep(&next, "\n")) && *line;) {
        char *id = strchr(line, ' '), *message = strchr(line, '\t');
        size_t len = id ? strcspn(id + 1, " ") : 0;
        if (!id || !message)
            continue;
        autofree char *commit = mem_dup(id + 1, len);
        if (b && strstr(b, commit))
            continue;
        autofree char *kept = lost ? shared_keep(l->run, commit) : NULL;
        autobuf struct buf undo = BUF_INIT;
        undo_stash(message + 1, commit, &undo);
        tell(l, &(struct finding){.what = "stash",
                                  .name = message + 1,
                                  .from = lost ? commit : NULL,
                                  .to = lost ? NULL : commit,
                                  .undo = lost ? undo.s : NULL,
                                  .kept = kept});
    }
}

static const char *digest(struct git_content content, char hex[65])
{
    if (!content.s)
        return NULL;
    sha256_hex(content.s, content.len, hex);
    return hex;
}

static void look_at_file(struct look *l, const struct git_change *c)
{
    struct shared *s = l->run->shared;
    autofree char *path = mem_printf("%s/%s", l->run->pf->repo.common, c->name);
    autofree char *saved = c->from.s ? shared_save(l->run, c->name, c->from) : NULL;
    autobuf struct buf undo = BUF_INIT;
    char from[65], to[65];
    bool hook = c->part == GIT_PART_HOOK;
    if (hook && !s->changed_hook)
        s->changed_hook = mem_str(c->name);
    undo_file(path, saved, &undo);
    tell(l, &(struct finding){.what = hook ? "hook" : "file",
                              .name = c->name,
                              .from = digest(c->from, from),
                              .to = digest(c->to, to),
                              .undo = undo.s,
                              .saved = saved});
}

static void look_at(struct look *l, const struct git_change *c)
{
    switch (c->part) {
    case GIT_PART_REF:
        look_at_ref(l, c);
        break;
    case GIT_PART_HEAD:
        look_at_head(l, c);
        break;
    case GIT_PART_STASH:
        compare_stashes(l, c->from.s, c->to.s, true);
        compare_stashes(l, c->to.s, c->from.s, false);
        break;
    case GIT_PART_CONFIG:
        if (!l->wrote)
            l->wrote = shared_config(l->run, l->job, c);
        break;
    case GIT_PART_HOOK:
    case GIT_PART_FILE:
        look_at_file(l, c);
        break;
    }
}

/* --- looking ------------------------------------------------------------------------------ */

static void tell_rest(struct look *l)
{
    const shared_tasks *suspects = &l->run->shared->suspects;
    struct finding remotes = {.what = "ref", .name = "refs/remotes", .more = l->remotes};
    struct finding rest = {.what = "ref", .more = l->more};
    if (l->remotes)
        shared_tell(l->run, suspects, &remotes);
    if (l->more)
        shared_tell(l->run, suspects, &rest);
}

/* Where something was put back, what that looks like is seen at once, and not told. */
static void look_at_state(struct run *run, struct job *job)
{
    struct look l = {.run = run, .job = job};
    struct err err = {0};
    do {
        autochanges struct git_changes changes = {0};
        bool again = l.wrote;
        if (git_state_look(&run->shared->state, &changes, &err)) {
            record_error(run, -1, &err);
            return;
        }
        for (size_t i = 0; i < changes.list.n && run->shared->suspects.n; i++)
            look_at(&l, &changes.list.v[i]);
        if (again)
            break;
    } while (l.wrote);
    tell_rest(&l);
}

/* Those stay under suspicion whose processes go on. */
static void narrow(const struct run *run, shared_tasks *suspects)
{
    size_t kept = 0;
    for (size_t i = 0; i < suspects->n; i++) {
        const struct job *job = run->tasks[suspects->v[i]].job;
        if (job && job->process.lifeline >= 0)
            suspects->v[kept++] = suspects->v[i];
    }
    suspects->n = kept;
}

static void look_at_checkout(struct run *run)
{
    bool looked;
    struct shared *s = run->shared;
    autostrv struct strv paths = {0}, news = {0};
    struct err err = {0};
    if (checkout_look(&s->checkout, &paths, &looked, &err)) {
        record_error(run, -1, &err);
        s->has_checkout = false;
        return;
    }
    if (!looked)
        return;
    for (size_t i = 0; i < paths.n; i++) {
        char *key = arena_str(&s->arena, paths.v[i]);
        if (!map_put(&s->told, key, strlen(key), key))
            strv_push(&news, key);
    }
    struct finding f = {.what = "checkout", .name = run->pf->repo.root, .paths = &news};
    f.more = news.n > FINDINGS_MAX ? news.n - FINDINGS_MAX : 0;
    if (news.n && s->file_suspects.n)
        shared_tell(run, &s->file_suspects, &f);
    narrow(run, &s->file_suspects);
}

static void look_at_all(struct run *run, struct job *job, bool files)
{
    struct shared *s = run->shared;
    pace_begin(&s->pace);
    look_at_state(run, job);
    pace_end(&s->pace);
    narrow(run, &s->suspects);
    if (s->has_checkout && files && !run->publication.child) /* we are at work there ourselves */
        look_at_checkout(run);
}

static void suspect(shared_tasks *suspects, uint32_t task)
{
    for (size_t i = 0; i < suspects->n; i++) {
        if (suspects->v[i] == task)
            return;
    }
    vec_push(suspects, task);
}

/* What was there before it began is not its doing. */
void shared_enter(struct job *job)
{
    struct shared *s = job->run->shared;
    if (!s)
        return;
    if (pace_is_due(&s->pace))
        look_at_all(job->run, NULL, pace_is_due(&s->checkout.pace));
    suspect(&s->suspects, job->task);
    suspect(&s->file_suspects, job->task);
}

void shared_leave(struct job *job)
{
    struct shared *s = job->run->shared;
    if (s)
        look_at_all(job->run, job, pace_is_due(&s->checkout.pace));
}

void shared_finish(struct run *run)
{
    if (run->shared)
        look_at_all(run, NULL, run->shared->file_suspects.n > 0);
}

const char *shared_changed_hook(const struct run *run)
{
    return run->shared ? run->shared->changed_hook : NULL;
}

/* --- beginning and end -------------------------------------------------------------------- */

void shared_own(struct run *run, const char *ref)
{
    struct shared *s = run->shared;
    if (s && !begins_with(ref, "refs/heads/anabranch/")) {
        char *key = arena_str(&s->arena, ref);
        (void)map_put(&s->ours, key, strlen(key), key);
    }
}

int shared_begin(struct run *run, struct err *err)
{
    struct shared *s = run->shared = mem_alloc(sizeof(*s));
    struct err none = {0};
    if (git_state_open(&s->state, run->pf->repo.common, err))
        return -1;
    s->has_checkout = checkout_open(&s->checkout, &run->pf->repo, strlen(run->tip), &none) == 0;
    return 0;
}

void shared_free(struct shared *s)
{
    if (!s)
        return;
    git_state_close(&s->state);
    checkout_close(&s->checkout);
    map_done(&s->ours);
    map_done(&s->told);
    arena_done(&s->arena);
    vec_done(&s->suspects);
    vec_done(&s->file_suspects);
    free(s->base_told);
    free(s->changed_hook);
    free(s);
}
