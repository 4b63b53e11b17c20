#include "run/watch/watch_private.h"

#include "base/mem.h"

#include <string.h>

/* --- looking ------------------------------------------------------------------------------ */

/* Where something was put back, what that looks like is seen at once, and not told. */
static void look_at_state(struct run *run, struct job *job)
{
    struct shared_look l = {.run = run, .job = job};
    struct err err = {0};
    do {
        autochanges struct git_changes changes = {0};
        bool again = l.wrote;
        if (git_state_look(&run->shared->state, &changes, &err)) {
            record_error(run, -1, &err);
            return;
        }
        for (size_t i = 0; i < changes.odd.n; i++)
            shared_tell_odd(&l, changes.odd.v[i]);
        for (size_t i = 0; i < changes.list.n && run->shared->suspects.n; i++)
            shared_look_at(&l, &changes.list.v[i]);
        if (again)
            break;
    } while (l.wrote);
    shared_look_done(&l);
}

/* Those stay under suspicion whose processes go on. */
static void narrow(const struct run *run, shared_tasks *suspects)
{
    size_t kept = 0;
    for (size_t i = 0; i < suspects->n; i++) {
        const struct job *job = run->tasks[suspects->v[i]].job;
        if (job && job->process.guarded)
            suspects->v[kept++] = suspects->v[i];
    }
    suspects->n = kept;
}

static void look_at_checkout(struct run *run)
{
    struct shared *s = run->shared;
    autostrv struct strv paths = {0}, news = {0};
    struct err err = {0};
    bool looked = false, wanted = s->file_suspects.n > 0;
    if (checkout_look(&s->checkout, wanted ? &paths : NULL, &looked, &err)) {
        record_error(run, -1, &err);
        s->has_checkout = false;
    }
    if (!looked)
        return;
    for (size_t i = 0; i < paths.n; i++) {
        char *key = arena_str(&s->arena, paths.v[i]);
        if (!map_put(&s->told, key, strlen(key), key))
            strv_push(&news, key);
    }
    struct finding f = {.what = "checkout", .name = run->pf->repo.root, .paths = &news};
    f.more = news.n > SHARED_MAX ? news.n - SHARED_MAX : 0;
    if (news.n)
        shared_tell(run, &s->file_suspects, &f);
    shared_files_look(run);
    pace_end(&s->checkout.pace); /* that took its time as well */
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
    static const char below[] = "refs/heads/anabranch/";
    struct shared *s = run->shared;
    if (s && strncmp(ref, below, strlen(below)) != 0) {
        char *key = arena_str(&s->arena, ref);
        (void)map_put(&s->ours, key, strlen(key), key);
    }
}

void shared_saved(struct run *run, const char *ref, const char *commit)
{
    if (run->shared)
        git_state_note_ref(&run->shared->state, ref, commit);
}

int shared_begin(struct run *run, struct err *err)
{
    struct shared *s = run->shared = mem_alloc(sizeof(*s));
    s->staged = (struct staged){.first = BUF_INIT};
    struct err none = {0};
    if (git_state_open(&s->state, run->pf->repo.common, err))
        return -1;
    s->has_checkout = checkout_open(&s->checkout, &run->pf->repo, strlen(run->tip), &none) == 0;
    if (s->has_checkout)
        shared_files_begin(run);
    return 0;
}

void shared_free(struct shared *s)
{
    if (!s)
        return;
    git_state_close(&s->state);
    checkout_close(&s->checkout);
    staged_close(&s->staged);
    untracked_close(&s->untracked);
    map_done(&s->ours);
    map_done(&s->told);
    arena_done(&s->arena);
    vec_done(&s->suspects);
    vec_done(&s->file_suspects);
    free(s->base_told);
    free(s->changed_hook);
    free(s);
}
