#include "threads/converge/land.h"

#include "base/mem.h"
#include "git/merge/merge.h"
#include "git/state_paths.h"
#include "git/unsynced.h"
#include "run/checkout/base_lock.h"
#include "run/checkout/base_use.h"
#include "run/checkout/checkout_move.h"
#include "run/checkout/checkout_move_now.h"
#include "run/checkout/checkout_note.h"
#include "run/land/gc_hold.h"
#include "sys/fs/dirs.h"
#include "sys/interrupt.h"
#include "threads/converge/pull_request.h"

#include <string.h>

enum { MAX_TRIES = 5, SIGNAL_STATUS = 128 };

/* The threads that land on one branch, starting from its current tip. */
struct branch_landing {
    struct converge *c;
    struct base_lock *base_lock;
    const char *ref;
    struct git_place at;
    struct buf old_tip, new_tip; /* current and new tip of the branch */
    struct buf before_repair;    /* the tip before we repaired an interrupted move, or empty */
    VEC(struct converge_result *) tried, landed;
    struct buf git_message; /* git's message if the checkout could not follow */
    bool retry;             /* git was killed, or the user has switched branches meanwhile */
};

static const struct converge_result *get_result(const struct converge *c, const char *id)
{
    for (size_t i = 0; i < c->results.n; i++) {
        if (strcmp(c->results.v[i].look->thread->id, id) == 0)
            return &c->results.v[i];
    }
    return NULL;
}

/* The first thread that it depends on and that is not in the base, or NULL. */
static const char *find_missing_dependency(const struct converge *c, const struct thread *t)
{
    for (size_t i = 0; i < t->after.n; i++) {
        const struct converge_result *r = get_result(c, t->after.v[i]);
        if (r && r->end >= CONVERGE_REFUSED)
            return t->after.v[i];
    }
    return NULL;
}

static char *get_message(const struct thread *t)
{
    autobuf struct buf title = BUF_INIT;
    pull_request_title(t, &title);
    return mem_printf("Merge %s\n\nAnabranch-Thread: %s\n", title.s, t->id);
}

static int report_conflict(struct branch_landing *l, struct converge_result *r,
                           const struct merge_result *m, struct err *err)
{
    autobuf struct buf files = BUF_INIT;
    if (merge_describe(&l->at, m, &files, err))
        return -1;
    converge_end(r, CONVERGE_CONFLICT, "it conflicts in %s", files.s);
    return 0;
}

static int merge_one(struct branch_landing *l, struct converge_result *r, struct err *err)
{
    const struct thread_look *look = r->look;
    automerge struct merge_result m = MERGE_RESULT_INIT;
    autobuf struct buf commit = BUF_INIT;
    if (merge_trees(&l->at, l->new_tip.s, look->head, &m, err))
        return -1;
    if (!m.clean)
        return report_conflict(l, r, &m, err);
    autofree char *message = get_message(look->thread);
    const char *const parents[] = {l->new_tip.s, look->head, NULL};
    if (git_commit_tree(&l->at, m.tree.s, parents, message, &commit, err))
        return -1;
    buf_cut(&l->new_tip, 0);
    buf_addstr(&l->new_tip, commit.s);
    converge_end(r, CONVERGE_LANDED, "%s", commit.s);
    vec_push(&l->landed, r);
    return 0;
}

/* If the interrupted move has landed this thread, it counts as landed now. */
static int report_merged(struct branch_landing *l, struct converge_result *r, struct err *err)
{
    bool dependency = true;
    if (l->before_repair.len &&
        git_is_ancestor(&l->at, r->look->head, l->before_repair.s, &dependency, err))
        return -1;
    converge_end(r, dependency ? CONVERGE_NOTHING : CONVERGE_LANDED, "%s",
                 dependency ? "" : l->new_tip.s);
    return 0;
}

static int merge_next(struct branch_landing *l, struct converge_result *r, struct err *err)
{
    const char *dependency = find_missing_dependency(l->c, r->look->thread);
    bool merged;
    if (dependency) {
        converge_end(r, CONVERGE_REFUSED, "it depends on thread %s, which did not land",
                     dependency);
        return 0;
    }
    if (git_is_ancestor(&l->at, r->look->head, l->new_tip.s, &merged, err))
        return -1;
    if (merged)
        return report_merged(l, r, err);
    return merge_one(l, r, err);
}

static bool lands_here(const struct branch_landing *l, const struct converge_result *r)
{
    const struct thread *t = r->look->thread;
    return strcmp(l->c->base_ref ? l->c->base_ref : t->base, l->ref) == 0;
}

static int merge_all(struct branch_landing *l, struct err *err)
{
    buf_cut(&l->old_tip, 0);
    buf_cut(&l->new_tip, 0);
    for (size_t i = 0; i < l->tried.n; i++)
        converge_end(l->tried.v[i], CONVERGE_PENDING, "%s", "");
    l->tried.n = l->landed.n = 0;
    if (git_resolve(&l->at, l->ref, &l->old_tip, err))
        return -1;
    buf_addstr(&l->new_tip, l->old_tip.s);
    for (size_t i = 0; i < l->c->results.n; i++) {
        struct converge_result *r = &l->c->results.v[i];
        if (r->end != CONVERGE_PENDING || !lands_here(l, r))
            continue;
        vec_push(&l->tried, r);
        if (merge_next(l, r, err))
            return -1;
    }
    return 0;
}

/* True if git has refused the move before it changed anything. */
static bool was_refused(const struct branch_landing *l)
{
    return strstr(l->git_message.s, "would be overwritten") ||
           strstr(l->git_message.s, ".lock': File exists");
}

/* If git has refused the move, it changed nothing. If it was killed, it may have written half of
 * it: then the lock stays for checkout_note_mend(). If the user has left the branch meanwhile, we
 * move it without a checkout. */
static void finish_move(struct branch_landing *l, struct checkout_lock *lock, bool noted,
                        int status, bool moved)
{
    bool killed = status > SIGNAL_STATUS;
    l->retry = killed || (status == 0 && !moved);
    if (moved || (noted && was_refused(l)))
        checkout_note_forget(l->c->repo);
    if (killed)
        checkout_lock_leave(lock);
    else
        base_lock_unmark(l->base_lock, moved);
}

static int move_checkout(struct branch_landing *l, struct checkout_lock *lock, const char *path,
                         bool *ret_moved, struct err *err)
{
    const struct git_repo *repo = l->c->repo;
    struct git_place at = {.common = repo->common};
    struct forward_move move = {
        .ref = l->ref, .from = l->old_tip.s, .to = l->new_tip.s, .why = "anabranch: converge"};
    autostrv struct strv env = {0};
    int status;
    bool made;
    git_environment(&env);
    if (checkout_lock_prepare(lock, repo->common, l->old_tip.s, &env, err) ||
        checkout_note_note(repo, l->ref, l->old_tip.s, l->new_tip.s, path, &made, err) ||
        base_lock_mark(l->base_lock, err) ||
        checkout_move_now(lock, &at, &move, &env, &l->git_message, &status, ret_moved, err))
        return -1;
    finish_move(l, lock, made, status, *ret_moved);
    return 0;
}

static int move_ref(struct branch_landing *l, bool *ret_moved, struct err *err)
{
    if (base_lock_mark(l->base_lock, err) ||
        git_move_ref(&l->at, l->ref, l->old_tip.s, l->new_tip.s, "anabranch: converge", ret_moved,
                     err))
        return -1;
    base_lock_unmark(l->base_lock, *ret_moved);
    return 0;
}

/* *ret_yes is true if neither the branch nor its checkout has changed since we merged, and the user
 * is not in the middle of an operation or of a switch to the branch. `path`: its checkout, or NULL.
 */
static int is_unchanged(struct branch_landing *l, const char *path, bool *ret_yes, struct err *err)
{
    autobuf struct buf current = BUF_INIT, now = BUF_INIT;
    autofree char *used = NULL;
    if (base_use_words(l->c->repo, l->ref, NULL, &used, err) ||
        (!used && base_use_git_words(l->c->repo, l->ref, NULL, path, &used, err)) ||
        checkout_move_place(l->c->repo, l->ref, &now, err) || /* a switch may just have ended */
        git_resolve(&l->at, l->ref, &current, err))
        return -1;
    if (used)
        buf_addstr(&l->git_message, used);
    l->retry = !used && (now.len > 0) != (path != NULL);
    *ret_yes = !used && !l->retry && strcmp(current.s, l->old_tip.s) == 0;
    return 0;
}

/* We lock a checkout of another branch, too: a git that switches to our branch meanwhile would show
 * the landed changes as deleted. If we cannot get this lock, we move the branch anyway. */
static int move_branch(struct branch_landing *l, bool *ret_moved, struct err *err)
{
    autobuf struct buf path = BUF_INIT;
    autolock struct checkout_lock lock = {0};
    bool ready, checked_out;
    *ret_moved = l->retry = false;
    buf_cut(&l->git_message, 0);
    if (checkout_move_place(l->c->repo, l->ref, &path, err) ||
        unsynced_sync(l->c->repo->common, err)) /* git syncs the ref, but not our merges */
        return -1;
    checked_out = path.len > 0;
    if (!checked_out)
        buf_addstr(&path, l->c->repo->root);
    if (checkout_move_now_lock(&lock, l->c->repo, path.s, l->ref, checked_out, &ready,
                               &l->git_message, err))
        return -1;
    if (!checked_out && !lock.lock) {
        ready = true;
        buf_cut(&l->git_message, 0);
    }
    l->retry = !ready && lock.lock;
    if (ready && is_unchanged(l, checked_out ? path.s : NULL, &ready, err))
        return -1;
    if (!ready)
        return 0;
    return checked_out ? move_checkout(l, &lock, path.s, ret_moved, err)
                       : move_ref(l, ret_moved, err);
}

static void report_not_landed(struct branch_landing *l)
{
    const char *name = l->ref + strlen("refs/heads/");
    /* git's message may have several lines. It is empty if git was killed or a ref did not move. */
    for (char *s = l->git_message.s; *s; s++)
        *s = *s == '\n' || *s == '\t' ? ' ' : *s;
    for (size_t i = 0; i < l->landed.n; i++) {
        if (l->git_message.len)
            converge_end(l->landed.v[i], CONVERGE_FAILED, "the checkout of %s could not follow: %s",
                         name, l->git_message.s);
        else
            converge_end(l->landed.v[i], CONVERGE_FAILED,
                         "%s did not move: others moved it, or git was killed; try again", name);
    }
}

/* Someone may have moved the branch meanwhile: then we merge everything again on top of it. */
static int should_retry(struct branch_landing *l, bool *ret_yes, struct err *err)
{
    autobuf struct buf current = BUF_INIT;
    if (git_resolve(&l->at, l->ref, &current, err))
        return -1;
    *ret_yes = l->retry || strcmp(current.s, l->old_tip.s) != 0;
    return 0;
}

/* After a signal: the merge commits are on no branch yet. */
static int report_stopped(struct branch_landing *l)
{
    for (size_t i = 0; i < l->landed.n; i++)
        (void)converge_stops(l->landed.v[i]);
    return 0;
}

static int land_on(struct branch_landing *l, struct err *err)
{
    bool moved = false, retry = true;
    for (int tries = 0; retry && tries < MAX_TRIES; tries++) {
        base_lock_clear(l->base_lock, l->c->repo, l->ref);
        if (checkout_note_mend(l->base_lock, l->c->repo, &l->before_repair, err) ||
            merge_all(l, err))
            return -1;
        if (!l->landed.n)
            return 0;
        if (interrupt_signal())
            return report_stopped(l);
        if (move_branch(l, &moved, err))
            return -1;
        if (moved)
            return 0;
        if (should_retry(l, &retry, err))
            return -1;
    }
    report_not_landed(l);
    return 0;
}

/* Threads for other branches are not affected. */
static void report_all_failed(struct branch_landing *l, const struct err *err)
{
    for (size_t i = 0; i < l->c->results.n; i++) {
        struct converge_result *r = &l->c->results.v[i];
        bool unfinished = r->end == CONVERGE_PENDING || r->end == CONVERGE_LANDED;
        if (unfinished && lands_here(l, r))
            converge_end(r, CONVERGE_FAILED, "%s", err->msg);
    }
}

static void land_branch(struct converge *c, struct base_lock *base_lock, const char *ref)
{
    struct branch_landing l = {
        .c = c,
        .base_lock = base_lock,
        .ref = ref,
        .at = {.batch = c->batch, .git_dir = c->repo->common, .work_tree = c->repo->root},
        .old_tip = BUF_INIT,
        .new_tip = BUF_INIT,
        .before_repair = BUF_INIT,
        .git_message = BUF_INIT};
    struct err err = {0};
    if (land_on(&l, &err))
        report_all_failed(&l, &err);
    buf_done(&l.old_tip);
    buf_done(&l.new_tip);
    buf_done(&l.before_repair);
    buf_done(&l.git_message);
    vec_done(&l.tried);
    vec_done(&l.landed);
}

static void land_all(struct converge *c, struct base_lock *base_lock)
{
    for (size_t i = 0; i < c->results.n; i++) {
        const struct converge_result *r = &c->results.v[i];
        if (r->end == CONVERGE_PENDING && !converge_stops(&c->results.v[i]))
            land_branch(c, base_lock, c->base_ref ? c->base_ref : r->look->thread->base);
    }
}

int converge_land(struct converge *c, struct err *err)
{
    autofree char *state = state_path(c->repo->common);
    autobase_lock struct base_lock base_lock = BASE_LOCK_INIT;
    if (dirs_make(state, err) || base_lock_await(&base_lock, state, c->opts.waiting, err))
        return -1;
    gc_hold_take(c->repo->common, state, c->opts.waiting);
    land_all(c, &base_lock);
    gc_hold_leave(c->repo->common, state);
    return 0;
}
