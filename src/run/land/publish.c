/*
 * The base branch follows the tip, and the tip includes commits that others put on the base. If the
 * branch is checked out, the checkout moves with it.
 */
#include "run/land/publish.h"

#include "base/mem.h"
#include "git/batch.h"
#include "git/checkout/branch_use.h"
#include "git/merge/first_parents.h"
#include "git/merge/merge.h"
#include "run/checkout/base_lock.h"
#include "run/checkout/base_use.h"
#include "run/checkout/checkout_lock.h"
#include "run/checkout/checkout_move.h"
#include "run/checkout/checkout_note.h"
#include "run/checkout/late_switch.h"
#include "run/report.h"
#include "run/state/merge_place.h"
#include "run/state/record.h"
#include "run/state/run_state.h"
#include "run/watch/watch.h"
#include "sys/clock.h"
#include "sys/time_limits.h"

#include <string.h>
#include <unistd.h>

static void set_published(struct run *run, const char *commit)
{
    free(run->base.published);
    run->base.published = mem_str(commit);
}

/* Notes that the base has all that landed. */
static void set_moved(struct run *run, const char *commit)
{
    set_published(run, commit);
    run->publisher.publication.base_moved = true;
}

int run_move_tip(struct run *run, const char *to, const char *why, struct err *err)
{
    enum { MOVES_MAX = 5 };
    struct git_place at = run_place(run);
    bool moved = false;
    for (int tries = 0; !moved && tries < MOVES_MAX; tries++) {
        if (tries)
            repo_watch_restore_tip(run);
        if (git_move_ref(&at, run->base.tip_ref, run->base.tip, to, why, &moved, err))
            return -1;
    }
    return moved ? 0
                 : err_set(err, ERR_ENV, "another process keeps moving '%s'", run->base.tip_ref);
}

/* Moves the tip and notes where the base is. The tip then has all of the base. If the tip cannot
 * move, nothing changes. */
static int set_tip(struct run *run, const char *commit, const char *published, struct err *err)
{
    if (run_move_tip(run, commit, "anabranch: follow the base", err))
        return -1;
    free(run->base.tip);
    run->base.tip = mem_str(commit);
    run_report_kind(run, ENGINE_TIP_MOVED);
    set_published(run, published);
    return 0;
}

/* The position of the base relative to the tip. */
enum base_position {
    BASE_BEHIND,   /* the tip has all of the base */
    BASE_AHEAD,    /* the base has all of the tip */
    BASE_EXTENDED, /* the base has run->base.published and a few commits more */
    BASE_DIVERGED,
};

static int ask_git_for_position(struct run *run, const char *now, enum base_position *ret,
                                struct err *err)
{
    struct git_place at = run_place(run);
    bool ours = false, theirs;
    if (git_is_ancestor(&at, now, run->base.tip, &theirs, err) ||
        (!theirs && git_is_ancestor(&at, run->base.tip, now, &ours, err)))
        return -1;
    *ret = theirs ? BASE_BEHIND : ours ? BASE_AHEAD : BASE_DIVERGED;
    return 0;
}

/* Reads the history directly: another process may commit several times while git answers once. */
static int find_position(struct run *run, const char *now, enum base_position *ret, struct err *err)
{
    enum { PUBLISHED, OTHER, WANTED };
    const char *const on_base[WANTED] = {run->base.published, run->base.tip};
    const char *const on_tip[WANTED] = {run->base.published, now};
    struct first_parents base, tip;
    if (first_parents_find(run->batch, now, on_base, WANTED, &base, err))
        return -1;
    if (base.found == OTHER ||
        (base.found >= 0 && strcmp(run->base.tip, run->base.published) == 0)) {
        *ret = BASE_AHEAD;
        return 0;
    }
    if (base.found < 0 || !base.straight)
        return ask_git_for_position(run, now, ret, err);
    if (first_parents_find(run->batch, run->base.tip, on_tip, WANTED, &tip, err))
        return -1;
    if (tip.found < 0)
        return ask_git_for_position(run, now, ret, err);
    *ret = tip.found == OTHER ? BASE_BEHIND : BASE_EXTENDED;
    return 0;
}

/* The user has rewritten the base that we knew, by a rebase, an amend or a reset. We accept
 * their version and put what landed since on top. git finds the merge base by history, so we
 * make a stand-in commit of their tree that has that history. */
static int merge_rewritten(struct run *run, const struct git_place *at, const char *theirs,
                           struct merge_result *m, struct err *err)
{
    autobuf struct buf tree = BUF_INIT, stand_in = BUF_INIT;
    const char *const parents[] = {run->base.published, NULL};
    if (git_tree_of(at, theirs, &tree, err) ||
        git_commit_tree(at, tree.s, parents, "stand-in for a merge", &stand_in, err))
        return -1;
    return merge_since(at, run->base.published, stand_in.s, run->base.tip, m, err);
}

static int merge_diverged(struct run *run, const struct git_place *at, const char *theirs,
                          struct merge_result *m, struct err *err)
{
    bool has;
    if (git_is_ancestor(at, run->base.published, theirs, &has, err))
        return -1;
    return has ? merge_trees(at, theirs, run->base.tip, m, err)
               : merge_rewritten(run, at, theirs, m, err);
}

/* Both sides have new commits: their merge is the new tip. If they conflict, *ret_commit stays
 * empty and a person resolves the conflict after the run. */
static int merge_base_and_tip(struct run *run, const char *theirs, bool extended,
                              struct buf *ret_commit, struct err *err)
{
    struct git_place at = run_place(run);
    automerge struct merge_result m = MERGE_RESULT_INIT;
    at.work_tree = run->pf->repo.root;
    if (extended ? merge_since(&at, run->base.published, theirs, run->base.tip, &m, err)
                 : merge_diverged(run, &at, theirs, &m, err))
        return -1;
    if (!m.clean)
        return 0;
    const char *const parents[] = {theirs, run->base.tip, NULL};
    autofree char *message =
        mem_printf("Merge anabranch run %s\n\nAnabranch-Run: %s\n", run->id, run->id);
    return git_commit_tree(&at, m.tree.s, parents, message, ret_commit, err);
}

/* Finds the commit that the tip must become to contain all of the base, which is at
 * publisher.base_seen; *ret_tip is empty if the tip stays. *ret_has is false if the two cannot be
 * merged. Moves no ref. */
static int find_tip(struct run *run, struct buf *ret_tip, bool *ret_has, struct err *err)
{
    struct git_place at = run_place(run);
    struct buf *now = &run->publisher.base_seen;
    enum base_position position;
    *ret_has = false;
    buf_cut(now, 0);
    if (git_resolve(&at, run->base.ref, now, err))
        return err->code == ERR_INPUT ? 0 : -1; /* someone removed the base: nothing to follow */
    *ret_has = strcmp(now->s, run->base.published) == 0;
    if (*ret_has)
        return 0;
    if (find_position(run, now->s, &position, err) ||
        (position >= BASE_EXTENDED &&
         merge_base_and_tip(run, now->s, position == BASE_EXTENDED, ret_tip, err)))
        return -1;
    if (position == BASE_AHEAD)
        buf_addstr(ret_tip, now->s);
    *ret_has = position == BASE_BEHIND || ret_tip->len;
    return 0;
}

int publish_follow(struct run *run, struct err *err)
{
    struct buf *now = &run->publisher.base_seen;
    autobuf struct buf tip = BUF_INIT;
    bool has;
    if (find_tip(run, &tip, &has, err))
        return -1;
    if (now->len && strcmp(now->s, run->base.published) != 0)
        repo_watch_followed(run, run->base.published, now->s);
    if (tip.len)
        return set_tip(run, tip.s, now->s, err);
    if (has)
        set_published(run, now->s);
    return 0;
}

static void move_base(void *ctx);
static void take_base_lock(void *ctx);

static void finish_when_quiet(void *ctx)
{
    enum { PAUSE_MS = 5 };
    struct run *run = ctx;
    struct publisher *p = &run->publisher;
    if (checkout_move_settles(run) || late_switch_awaits(run)) {
        watch_free(p->wait);
        p->wait = loop_timer(run->loop, PAUSE_MS, finish_when_quiet, run);
        return;
    }
    late_switch_follow(run);
    checkout_lock_release(&p->checkout);
    base_lock_done(&p->lock);
    publication_end(&run->publisher.publication);
    p->after(run);
}

static void fail_publication(struct run *run, const struct err *err)
{
    run_fail(run, err);
    checkout_lock_release(&run->publisher.checkout);
    finish_when_quiet(run);
}

static void report_waiting(struct run *run, enum publication_event event)
{
    const char *holder = "another git: ", *message = checkout_move_lock(run);
    struct err why = {0};
    if (event == PUBLICATION_OTHER_RUN)
        holder = "another anabranch run that is landing", message = "";
    else if (event == PUBLICATION_USER)
        holder = "the user: ", message = run->base.refusal;
    (void)err_set(&why, ERR_ENV, "waiting for %s%.*s", holder, (int)strcspn(message, "\n"),
                  message);
    record_error(run, -1, &why);
}

static struct publication_facts get_facts(const struct run *run)
{
    return (struct publication_facts){
        .now = clock_mono(), .last = !run->engine->attempts, .stopping = run->engine->stopping};
}

/* Does what follows a try that did not move the base. While we wait for the user, other runs may
 * take the base lock. */
static void take_step(struct run *run, enum publication_event event,
                      const struct publication_facts *facts)
{
    struct publisher *p = &run->publisher;
    struct publication_step step = publication_step(&run->publisher.publication, event, facts);
    if (step.action == PUBLICATION_REPAIR) {
        event = checkout_move_mend(run) ? PUBLICATION_REPAIRED : PUBLICATION_NOT_REPAIRED;
        step = publication_step(&run->publisher.publication, event, facts);
    }
    if (step.report)
        report_waiting(run, event);
    if (step.action == PUBLICATION_FINISH) {
        finish_when_quiet(run);
        return;
    }
    if (step.action == PUBLICATION_TAKE_LOCK)
        base_lock_leave(&p->lock);
    watch_free(p->wait);
    p->wait = loop_timer(run->loop, step.wait_ms,
                         step.action == PUBLICATION_TRY ? move_base : take_base_lock, run);
}

static void wait_because(struct run *run, enum publication_event event)
{
    struct publication_facts facts = get_facts(run);
    take_step(run, event, &facts);
}

/* The base did not move. */
static void retry_or_finish(struct run *run)
{
    struct publisher *p = &run->publisher;
    struct git_place at = run_place(run);
    autobuf struct buf now = BUF_INIT;
    struct err none = {0};
    checkout_lock_release(&p->checkout);
    (void)git_resolve(&at, run->base.ref, &now, &none);
    bool changed = strcmp(now.s, p->base_seen.s) != 0;
    if (now.len && changed && checkout_move_may_have_begun(run))
        checkout_move_keep(run, now.s);
    struct publication_facts facts = get_facts(run);
    facts.base_changed = changed;
    facts.git_locked = checkout_move_lock(run) != NULL;
    facts.git_refused = run->base.refusal && checkout_move_is_here(&run->pf->repo, run->base.ref);
    take_step(run, PUBLICATION_FAILED, &facts);
}

static void on_checkout_moved(struct run *run, bool moved)
{
    if (!moved) {
        retry_or_finish(run);
        return;
    }
    set_moved(run, run->publisher.target);
    finish_when_quiet(run);
}

/* Nobody should wait for the lock of a git that was killed meanwhile: removes it. */
static int try_move_ref(struct run *run, bool *ret_moved, struct err *err)
{
    struct git_place at = run_place(run);
    const char *to = run->publisher.target;
    if (git_batch_move_ref(run->batch, run->base.ref, run->base.published, to, ret_moved, err))
        return -1;
    if (*ret_moved)
        return 0;
    if (git_batch_was_killed(run->batch))
        base_lock_clear(&run->publisher.lock, &run->pf->repo, run->base.ref);
    return git_move_ref(&at, run->base.ref, run->base.published, to, "anabranch: land", ret_moved,
                        err);
}

/* Fails unless the target contains all of the base, as git itself would insist. */
static int check_fast_forward(struct run *run, const char *target, struct err *err)
{
    struct git_place at = run_place(run);
    const char *const wanted[] = {run->base.published};
    struct first_parents l;
    bool ahead = true;
    if (first_parents_find(run->batch, target, wanted, 1, &l, err) ||
        (l.found < 0 && git_is_ancestor(&at, run->base.published, target, &ahead, err)))
        return -1;
    return ahead ? 0 : err_set(err, ERR_ENV, "moving '%s' would lose commits", run->base.ref);
}

/* Moves the ref of a base that is checked out nowhere. */
static int move_ref(struct run *run, struct err *err)
{
    bool moved;
    if (check_fast_forward(run, run->publisher.target, err) ||
        base_lock_mark(&run->publisher.lock, err) || try_move_ref(run, &moved, err))
        return -1;
    base_lock_unmark(&run->publisher.lock, moved);
    if (moved) {
        run->publisher.moved_from = mem_str(run->base.published);
        set_moved(run, run->publisher.target);
        finish_when_quiet(run);
    } else {
        retry_or_finish(run);
    }
    return 0;
}

/* Merges the base into the tip while nobody else can move the base, and moves both refs at once.
 * *ret_moved is false if that is not enough. */
static int move_held_base(struct run *run, bool *ret_moved, struct err *err)
{
    struct publisher *p = &run->publisher;
    autobuf struct buf tip = BUF_INIT;
    bool has;
    *ret_moved = false;
    if (find_tip(run, &tip, &has, err))
        return -1;
    const char *to = tip.len ? tip.s : run->base.tip;
    if (!has || strcmp(to, p->base_seen.s) == 0 || (!tip.len && check_fast_forward(run, to, err)))
        return 0;
    const struct git_batch_move moves[] = {{run->base.ref, p->base_seen.s, to},
                                           {run->base.tip_ref, run->base.tip, to}};
    if (git_batch_move_refs(run->batch, moves, tip.len ? 2 : 1, ret_moved, err))
        return -1;
    if (!*ret_moved)
        return 0;
    repo_watch_followed(run, run->base.published, p->base_seen.s);
    free(run->base.tip);
    run->base.tip = mem_str(to);
    run_report_kind(run, ENGINE_TIP_MOVED);
    p->moved_from = mem_str(p->base_seen.s);
    set_moved(run, to);
    return 0;
}

/* Holds git's lock on the base and moves it; *ret_moved tells whether it moved. If another
 * process has the lock, the caller waits for it in other ways. */
static int hold_and_move_base(struct run *run, bool *ret_moved, struct err *err)
{
    struct publisher *p = &run->publisher;
    bool held = false;
    *ret_moved = false;
    if (base_lock_mark(&p->lock, err) ||
        git_batch_hold(run->batch, run->base.ref, run->base.published, &held, err))
        return -1;
    int rc = held ? move_held_base(run, ret_moved, err) : 0;
    git_batch_release(run->batch);
    if (git_batch_was_killed(run->batch)) /* it may have left its lock, as the mark says */
        base_lock_clear(&p->lock, &run->pf->repo, run->base.ref);
    else
        base_lock_unmark(&p->lock, *ret_moved);
    return rc;
}

/* Finishes the move of a process that was killed, such as a converge. We follow its result like
 * any other change of the base. */
static void finish_killed_move(struct run *run)
{
    autobuf struct buf from = BUF_INIT;
    struct err err = {0};
    if (checkout_note_mend(&run->publisher.lock, &run->pf->repo, &from, &err))
        record_error(run, -1, &err);
}

/* Moves the checkout. Once nobody else can change it, we check HEAD, the user's operations and
 * the branch again. If the base conflicts with the tip, git refuses to move it and says why. */
static int move_checkout(struct run *run, const char *path, struct err *err)
{
    enum checkout_move_try outcome;
    struct git_place at = run_place(run);
    autobuf struct buf now = BUF_INIT;
    bool used;
    if (checkout_move_lock_checkout(run, path, true, &outcome, err))
        return -1;
    if (outcome == FORWARD_READY) {
        if (base_use_look_again(run, path, &used, err) ||
            git_resolve(&at, run->base.ref, &now, err))
            return -1;
        bool here = branch_is_checked_out(run->publisher.checkout.git_dir, run->base.ref);
        if (used) {
            checkout_move_unlock_checkout(run);
            wait_because(run, PUBLICATION_USER);
            return 0;
        }
        if (here && strcmp(now.s, run->publisher.base_seen.s) == 0)
            return checkout_move_start(run, path, on_checkout_moved, err);
        checkout_move_unlock_checkout(run);
        outcome = FORWARD_BUSY;
    }
    if (outcome == FORWARD_LOCKED)
        retry_or_finish(run);
    else
        wait_because(run, PUBLICATION_OTHER_GIT);
    return 0;
}

/* Locks the user's checkout while the ref moves: a git that switches to the base meanwhile would
 * show what lands as deleted. If the lock of another git stays, we move the branch anyway,
 * because it is not checked out; base_use_look_again() finds a git that switches. */
static int lock_checkout_for_ref(struct run *run, bool *ret_ready, struct err *err)
{
    enum checkout_move_try outcome;
    if (checkout_move_lock_checkout(run, run->pf->repo.root, false, &outcome, err))
        return -1;
    *ret_ready =
        outcome == FORWARD_READY ||
        (outcome == FORWARD_LOCKED && clock_mono() >= run->publisher.publication.git_wait_until);
    if (*ret_ready)
        checkout_move_await_quiet(run);
    return 0;
}

/* Locks the checkout before the ref of a base moves that is checked out nowhere. If *ret_ready is
 * false, we wait for somebody. A rebase may have detached HEAD, or a switch may have ended, just
 * now. */
static int prepare_ref(struct run *run, bool *ret_ready, struct err *err)
{
    autobuf struct buf path = BUF_INIT;
    bool used = false, locked = true;
    *ret_ready = false;
    if (strcmp(run->base.tip, run->base.published) != 0 && lock_checkout_for_ref(run, &locked, err))
        return -1;
    if (!locked) {
        wait_because(run, PUBLICATION_OTHER_GIT);
        return 0;
    }
    if (base_use_look_again(run, NULL, &used, err) || late_switch_find(run, &path, err))
        return -1;
    *ret_ready = !used && !path.len;
    if (!*ret_ready) {
        checkout_move_unlock_checkout(run);
        wait_because(run, used ? PUBLICATION_USER : PUBLICATION_OTHER_GIT);
    }
    return 0;
}

/* Finds the checkout before it looks at the base: after that every millisecond counts. */
static int try_to_move(struct run *run, struct err *err)
{
    struct publication *p = &run->publisher.publication;
    autobuf struct buf path = BUF_INIT;
    bool moved = false, used, ready = true;
    if (base_use_look_first(run, &path, &used, err))
        return -1;
    if (used) {
        wait_because(run, PUBLICATION_USER);
        return 0;
    }
    if (!path.len && prepare_ref(run, &ready, err))
        return -1;
    if (!ready)
        return 0;
    if (!path.len && publication_holds_base(p) && hold_and_move_base(run, &moved, err))
        return -1;
    int64_t begin = clock_mono();
    if (!moved && publish_follow(run, err))
        return -1;
    p->follow_ms = clock_mono() - begin;
    if (moved || strcmp(run->base.tip, run->base.published) == 0) {
        p->base_moved = true;
        finish_when_quiet(run);
        return 0;
    }
    free(run->publisher.target);
    run->publisher.target = mem_str(run->base.tip);
    return path.len ? move_checkout(run, path.s, err) : move_ref(run, err);
}

static bool user_commits(const struct run *run)
{
    autofree char *lock = mem_printf("%s/index.lock", run->pf->repo.git_dir);
    return publication_yields(&run->publisher.publication, run->engine->stopping, clock_mono()) &&
           access(lock, F_OK) == 0 && !checkout_lock_is_left(run->pf->repo.git_dir) &&
           checkout_move_is_here(&run->pf->repo, run->base.ref);
}

static void move_base(void *ctx)
{
    struct run *run = ctx;
    struct err err = {0};
    if (user_commits(run)) {
        wait_because(run, PUBLICATION_COMMIT);
        return;
    }
    base_lock_clear(&run->publisher.lock, &run->pf->repo, run->base.ref);
    finish_killed_move(run);
    if (try_to_move(run, &err))
        fail_publication(run, &err);
}

/* Runs that land on one base take the base lock in turn. If others move the base, we follow. */
static void take_base_lock(void *ctx)
{
    struct run *run = ctx;
    struct publisher *p = &run->publisher;
    struct err err = {0};
    if (base_lock_take(&p->lock, run->files.state, &err))
        fail_publication(run, &err);
    else if (p->lock.fd < 0)
        wait_because(run, PUBLICATION_OTHER_RUN);
    else
        move_base(run);
}

void publish(struct run *run, void (*then)(struct run *))
{
    int64_t deadline = clock_mono() + time_limit(PUBLICATION_WAIT_MS);
    if (!publication_begin(&run->publisher.publication, deadline)) {
        then(run);
        return;
    }
    checkout_move_await_quiet(run);
    run->publisher.after = then;
    take_base_lock(run);
}

void publish_give_up(struct run *run)
{
    struct publisher *p = &run->publisher;
    enum publication_stop stop = publication_give_up(&run->publisher.publication);
    if (stop == PUBLICATION_STOP_WAITING) {
        watch_free(p->wait);
        p->wait = NULL;
        finish_when_quiet(run);
    } else if (stop != PUBLICATION_STOP_NOTHING) {
        checkout_move_end(run, stop);
    }
}

void publisher_done(struct publisher *p)
{
    checkout_move_forget(p);
    watch_free(p->wait);
    base_lock_done(&p->lock);
    buf_done(&p->base_seen);
    free(p->target);
    free(p->moved_from);
}

static char *make_advice(const struct run *run)
{
    automergeplace struct merge_place place = {.base = run->base.name};
    autobuf struct buf out = BUF_INIT;
    merge_place_find(&place, &run->pf->repo);
    merge_place_add_result(&place, run->base.result, &out);
    return buf_steal(&out);
}

int publish_finish(struct run *run, struct err *err)
{
    struct git_place at = run_place(run);
    bool moved, used;
    if (base_use_may_undo(run, &run->publisher.may_be_undone, err) ||
        (run->publisher.may_be_undone && base_use_look(run, &used, err)))
        return -1;
    if (strcmp(run->base.tip, run->base.published) == 0 && !run->publisher.may_be_undone)
        return git_move_ref(&at, run->base.tip_ref, run->base.tip, "", "anabranch: done", &moved,
                            err);
    autofree char *name = mem_printf("anabranch/%s/" STORE_RESULT, run->id);
    autofree char *ref = mem_printf("refs/heads/%s", name);
    if (git_move_ref(&at, ref, "", run->base.tip, "anabranch: result", &moved, err))
        return -1;
    if (!moved)
        return err_set(err, ERR_ENV,
                       "branch '%s' already exists; everything that landed is kept as %s", name,
                       run->base.tip_ref);
    if (git_move_ref(&at, run->base.tip_ref, run->base.tip, "", "anabranch: done", &moved, err))
        return -1;
    run->base.result = steal_ptr(name);
    run->base.advice = make_advice(run);
    return 0;
}
