/*
 * The base branch: it follows the tip, and the tip takes in what others put on it. Where the branch
 * is checked out, it moves with the checkout.
 */
#include "run/run_private.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/shell.h"
#include "data/merge.h"
#include "run/base_turn.h"
#include "run/forward.h"
#include "run/half_forward.h"
#include "run/shared.h"
#include "sys/patience.h"

#include <string.h>

enum { TRIES = 5, TURN_PAUSE_MS = 5, LOCK_MS = 10000, LOCK_PAUSE_MS = 20 };

static void set_published(struct run *run, const char *commit)
{
    free(run->published);
    run->published = mem_str(commit);
}

/* The tip has all that the base is then said to have; where it cannot be moved, neither is. */
static int set_tip(struct run *run, const char *commit, const char *published, struct err *err)
{
    struct git_place at = run_place(run);
    bool moved;
    if (git_move_ref(&at, run->tip_ref, run->tip, commit, "anabranch: follow the base", &moved,
                     err))
        return -1;
    if (!moved)
        return err_set(err, ERR_ENV, "'%s' was moved by someone else", run->tip_ref);
    free(run->tip);
    run->tip = mem_str(commit);
    set_published(run, published);
    return 0;
}

/* Both sides went on: their merge is the new tip. A conflict stays for the person at the end. */
static int join(struct run *run, const char *theirs, struct err *err)
{
    struct git_place at = run_place(run);
    automerge struct merge_result m = MERGE_RESULT_INIT;
    autobuf struct buf commit = BUF_INIT;
    at.work_tree = run->pf->repo.root;
    if (merge_trees(&at, theirs, run->tip, &m, err))
        return -1;
    if (!m.clean)
        return 0;
    const char *const parents[] = {theirs, run->tip, NULL};
    autofree char *message =
        mem_printf("Merge anabranch run %s\n\nAnabranch-Run: %s\n", run->id, run->id);
    if (git_commit_tree(&at, m.tree.s, parents, message, &commit, err))
        return -1;
    return set_tip(run, commit.s, theirs, err);
}

int publish_follow(struct run *run, struct err *err)
{
    struct git_place at = run_place(run);
    struct buf *now = &run->publication.seen;
    bool ours, theirs;
    buf_cut(now, 0);
    if (git_resolve(&at, run->base_ref, now, err))
        return err->code == ERR_INPUT ? 0 : -1; /* someone removed it: nothing to follow */
    if (strcmp(now->s, run->published) == 0)
        return 0;
    shared_followed(run, run->published, now->s);
    if (git_is_ancestor(&at, now->s, run->tip, &theirs, err) ||
        git_is_ancestor(&at, run->tip, now->s, &ours, err))
        return -1;
    if (!theirs && !ours)
        return join(run, now->s, err);
    if (ours)
        return set_tip(run, now->s, now->s, err);
    set_published(run, now->s);
    return 0;
}

/* --- moving it ---------------------------------------------------------------------------- */

static void move_base(void *ctx);

static void finish(struct run *run)
{
    struct publication *p = &run->publication;
    base_turn_done(&p->turn);
    p->busy = false;
    p->then(run);
}

static void fail(struct run *run, const struct err *err)
{
    run_fail(run, err);
    finish(run);
}

static void tell_waiting(struct run *run, const char *whom, const char *words)
{
    struct publication *p = &run->publication;
    struct err why = {0};
    (void)err_set(&why, ERR_ENV, "waiting for another %s%.*s", whom, (int)strcspn(words, "\n"),
                  words);
    if (!p->told)
        record_error(run, -1, &why);
    p->told = true;
}

/* The last time is worth waiting for; before that, what lands next brings another try. */
static bool waits_for_lock(struct run *run)
{
    struct publication *p = &run->publication;
    const char *words = forward_lock(run);
    if (!words || run->jobs || run->stopping || clock_mono() >= p->deadline)
        return false;
    tell_waiting(run, "git: ", words);
    watch_free(p->wait);
    p->wait = loop_timer(run->loop, LOCK_PAUSE_MS, move_base, run);
    return true;
}

/* It stays where it is, unless someone else moved it meanwhile: then we try again on top of that.
 */
static void not_moved(struct run *run)
{
    struct publication *p = &run->publication;
    struct git_place at = run_place(run);
    autobuf struct buf now = BUF_INIT;
    struct err none = {0};
    (void)git_resolve(&at, run->base_ref, &now, &none);
    if (now.len && strcmp(now.s, p->seen.s) != 0)
        forward_keep(run, now.s);
    if (p->given_up)
        finish(run);
    else if ((p->killed || strcmp(now.s, p->seen.s) != 0) && ++p->tries < TRIES)
        move_base(run);
    else if (forward_mend(run))
        move_base(run);
    else if (!waits_for_lock(run))
        finish(run);
}

static void on_forwarded(struct run *run, bool moved)
{
    struct publication *p = &run->publication;
    if (!moved) {
        not_moved(run);
        return;
    }
    set_published(run, p->target);
    finish(run);
}

/* The lock that a git leaves which was killed meanwhile is not to be waited for, by nobody. */
static int try_ref(struct run *run, bool *ret_moved, struct err *err)
{
    struct git_place at = run_place(run);
    const char *to = run->publication.target;
    if (git_batch_move_ref(run->batch, run->base_ref, run->published, to, ret_moved, err))
        return -1;
    if (*ret_moved)
        return 0;
    if (git_batch_was_killed(run->batch))
        base_turn_clear(&run->publication.turn, &run->pf->repo, run->base_ref);
    return git_move_ref(&at, run->base_ref, run->published, to, "anabranch: land", ret_moved, err);
}

/* Where it is checked out nowhere, a ref moves; forward, as git itself would insist. */
static int move_ref(struct run *run, struct err *err)
{
    struct git_place at = run_place(run);
    bool moved, ahead;
    if (git_is_ancestor(&at, run->published, run->publication.target, &ahead, err))
        return -1;
    if (!ahead)
        return err_set(err, ERR_ENV, "'%s' has something that would be lost", run->base_ref);
    if (base_turn_mark(&run->publication.turn, err) || try_ref(run, &moved, err))
        return -1;
    base_turn_unmark(&run->publication.turn, moved);
    if (moved) {
        set_published(run, run->publication.target);
        finish(run);
    } else {
        not_moved(run);
    }
    return 0;
}

/* What a converge has left that was killed is followed as anything else. */
static void finish_others(struct run *run)
{
    autobuf struct buf from = BUF_INIT;
    struct err err = {0};
    if (half_forward_mend(&run->publication.turn, &run->pf->repo, &from, &err))
        record_error(run, -1, &err);
}

static void move_base(void *ctx)
{
    struct run *run = ctx;
    struct publication *p = &run->publication;
    autobuf struct buf path = BUF_INIT;
    struct err err = {0};
    base_turn_clear(&p->turn, &run->pf->repo, run->base_ref);
    finish_others(run);
    if (publish_follow(run, &err)) {
        fail(run, &err);
        return;
    }
    if (strcmp(run->tip, run->published) == 0) {
        finish(run);
        return;
    }
    free(p->target);
    p->target = mem_str(run->tip);
    if (forward_find(run, run->base_ref, &path, &err) ||
        (path.len ? forward_start(run, path.s, on_forwarded, &err) : move_ref(run, &err)))
        fail(run, &err);
}

/* Runs that land on one base take turns; who else moves it is followed. */
static void take_turn(void *ctx)
{
    struct run *run = ctx;
    struct publication *p = &run->publication;
    struct err err = {0};
    if (base_turn_take(&p->turn, run->state_dir, &err)) {
        fail(run, &err);
    } else if (p->turn.fd < 0) {
        if (clock_mono() >= p->deadline)
            tell_waiting(run, "run of anabranch, whose turn it is to land", "");
        watch_free(p->wait);
        p->wait = loop_timer(run->loop, TURN_PAUSE_MS, take_turn, run);
    } else {
        move_base(run);
    }
}

void publish(struct run *run, void (*then)(struct run *))
{
    struct publication *p = &run->publication;
    if (p->given_up) {
        then(run);
        return;
    }
    p->busy = true;
    p->tries = 0;
    p->killed = p->adopted = false;
    p->deadline = clock_mono() + patience(LOCK_MS);
    p->then = then;
    take_turn(run);
}

void publish_give_up(struct run *run)
{
    struct publication *p = &run->publication;
    if (p->child) {
        forward_end(run);
    } else if (p->busy) {
        p->given_up = true;
        watch_free(p->wait);
        p->wait = NULL;
        finish(run);
    }
}

void publication_done(struct publication *p)
{
    forward_forget(p);
    watch_free(p->wait);
    base_turn_done(&p->turn);
    buf_done(&p->seen);
    free(p->target);
}

/* Where someone removed the base, it is made again. */
static char *advice(const struct run *run)
{
    struct git_place at = run_place(run);
    autobuf struct buf base = BUF_INIT, out = BUF_INIT;
    if (git_resolve(&at, run->base_ref, &base, NULL)) {
        shell_add(&out, "git branch", run->base, run->result, NULL);
    } else {
        shell_add(&out, "git switch", run->base, NULL);
        shell_add(&out, " && git merge", run->result, NULL);
    }
    return buf_steal(&out);
}

int publish_finish(struct run *run, struct err *err)
{
    struct git_place at = run_place(run);
    bool moved;
    if (strcmp(run->tip, run->published) == 0)
        return git_move_ref(&at, run->tip_ref, run->tip, "", "anabranch: done", &moved, err);
    autofree char *name = mem_printf("anabranch/%s/" STORE_RESULT, run->id);
    autofree char *ref = mem_printf("refs/heads/%s", name);
    if (git_move_ref(&at, ref, "", run->tip, "anabranch: result", &moved, err))
        return -1;
    if (!moved)
        return err_set(err, ERR_ENV,
                       "the branch '%s' exists already; all that landed is kept as %s", name,
                       run->tip_ref);
    if (git_move_ref(&at, run->tip_ref, run->tip, "", "anabranch: done", &moved, err))
        return -1;
    run->result = steal_ptr(name);
    run->advice = advice(run);
    return 0;
}
