#include "run/watch/watch.h"

#include "base/mem.h"
#include "run/attempt/attempt.h"
#include "run/state/record.h"
#include "run/state/run_state.h"
#include "run/watch/watch_private.h"

#include <string.h>

/* Looks at the shared state. If we restored something, we look again at once, so that our own
 * change is not reported. */
static void check_state(struct run *run, struct attempt *attempt)
{
    struct repo_watch_look l = {.run = run, .attempt = attempt};
    struct err err = {0};
    do {
        autochanges struct git_changes changes = {0};
        bool again = l.wrote;
        if (shared_state_look(&run->repo_watch->state, &changes, &err)) {
            record_error(run, -1, &err);
            return;
        }
        for (size_t i = 0; i < changes.odd.n; i++)
            repo_watch_tell_odd(&l, changes.odd.v[i]);
        for (size_t i = 0; i < changes.list.n && run->repo_watch->suspects.n; i++)
            repo_watch_look_at(&l, &changes.list.v[i]);
        if (again)
            break;
    } while (l.wrote);
    if (run->repo_watch->suspects.n)
        shared_look_at_conflicts(&l);
    repo_watch_look_done(&l);
}

/* Keeps only suspects whose processes still run. */
static void keep_running_suspects(const struct run *run, shared_tasks *suspects)
{
    size_t kept = 0;
    for (size_t i = 0; i < suspects->n; i++) {
        const struct attempt *attempt = run->tasks[suspects->v[i]].attempt;
        if (attempt && attempt->process.guarded)
            suspects->v[kept++] = suspects->v[i];
    }
    suspects->n = kept;
}

static void check_checkout(struct run *run)
{
    struct repo_watch *s = run->repo_watch;
    autostrv struct strv paths = {0}, news = {0};
    struct err err = {0};
    bool looked = false, wanted = s->file_suspects.n > 0;
    if (user_files_look(&s->checkout, wanted ? &paths : NULL, &looked, &err)) {
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
        repo_watch_tell(run, &s->file_suspects, &f);
    repo_watch_files_look(run);
    throttle_end(&s->checkout.pace); /* include the time for this look */
    keep_running_suspects(run, &s->file_suspects);
}

static void check_all(struct run *run, struct attempt *attempt, bool files)
{
    struct repo_watch *s = run->repo_watch;
    throttle_begin(&s->pace);
    check_state(run, attempt);
    throttle_end(&s->pace);
    keep_running_suspects(run, &s->suspects);
    if (s->has_checkout && files && !run->publisher.child) /* not while our own git works there */
        check_checkout(run);
}

static void add_suspect(shared_tasks *suspects, uint32_t task)
{
    for (size_t i = 0; i < suspects->n; i++) {
        if (suspects->v[i] == task)
            return;
    }
    vec_push(suspects, task);
}

/* Looks before the process starts: earlier changes are not its doing. */
void repo_watch_enter(struct attempt *attempt)
{
    struct repo_watch *s = attempt->run->repo_watch;
    if (!s)
        return;
    if (throttle_is_due(&s->pace))
        check_all(attempt->run, NULL, throttle_is_due(&s->checkout.pace));
    add_suspect(&s->suspects, attempt->task);
    add_suspect(&s->file_suspects, attempt->task);
}

void repo_watch_leave(struct attempt *attempt)
{
    struct repo_watch *s = attempt->run->repo_watch;
    if (s)
        check_all(attempt->run, attempt, throttle_is_due(&s->checkout.pace));
}

void repo_watch_finish(struct run *run)
{
    if (run->repo_watch)
        check_all(run, NULL, run->repo_watch->file_suspects.n > 0);
}

const char *repo_watch_changed_hook(const struct run *run)
{
    return run->repo_watch ? run->repo_watch->changed_hook : NULL;
}

void repo_watch_own(struct run *run, const char *ref)
{
    static const char below[] = "refs/heads/anabranch/";
    struct repo_watch *s = run->repo_watch;
    if (s && strncmp(ref, below, strlen(below)) != 0) {
        char *key = arena_str(&s->arena, ref);
        (void)map_put(&s->ours, key, strlen(key), key);
    }
}

void repo_watch_saved(struct run *run, const char *ref, const char *commit)
{
    if (run->repo_watch)
        shared_state_note_ref(&run->repo_watch->state, ref, commit);
}

void repo_watch_peek(struct run *run)
{
    struct repo_watch *s = run->repo_watch = mem_alloc(sizeof(*s));
    struct err none = {0};
    s->staged = (struct staged){.first = BUF_INIT};
    s->state = (struct shared_state){.packed = PACKED_REFS_INIT};
    s->has_checkout =
        user_files_open(&s->checkout, &run->pf->repo, strlen(run->base.tip), &none) == 0;
}

int repo_watch_begin(struct run *run, struct err *err)
{
    repo_watch_peek(run);
    struct repo_watch *s = run->repo_watch;
    if (shared_state_open(&s->state, run->pf->repo.common, err))
        return -1;
    if (s->has_checkout)
        repo_watch_files_begin(run);
    return 0;
}

void repo_watch_free(struct repo_watch *s)
{
    if (!s)
        return;
    shared_state_close(&s->state);
    user_files_close(&s->checkout);
    staged_close(&s->staged);
    untracked_close(&s->untracked);
    for (size_t i = 0; i < s->conflicts.n; i++)
        free(s->conflicts.v[i].commit);
    vec_done(&s->conflicts);
    map_done(&s->ours);
    map_done(&s->told);
    arena_done(&s->arena);
    vec_done(&s->suspects);
    vec_done(&s->file_suspects);
    free(s->base_told);
    free(s->changed_hook);
    free(s);
}
