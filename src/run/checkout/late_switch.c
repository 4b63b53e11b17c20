#include "run/checkout/late_switch.h"

#include "git/checkout/branch_use.h"
#include "run/checkout/base_use.h"
#include "run/checkout/checkout_lock.h"
#include "run/checkout/checkout_move.h"
#include "run/checkout/repair/checkout_follow.h"
#include "run/state/record.h"
#include "run/state/run_state.h"
#include "sys/clock.h"

#include <string.h>

bool late_switch_awaits(struct run *run)
{
    struct publisher *p = &run->publisher;
    struct err none = {0};
    char *words = NULL;
    if (!p->moved_from || run->engine->stopping || publication_is_given_up(&p->publication) ||
        clock_mono() >= p->publication.deadline ||
        base_use_git_words(&run->pf->repo, run->base.ref, run->id, NULL, &words, &none) || !words)
        return false;
    free(words);
    publication_settle(&p->publication);
    return true;
}

int late_switch_find(struct run *run, struct buf *path, struct err *err)
{
    bool maybe; /* a bare repository has a HEAD but no checkout */
    if (branch_has_checkout(run->pf->repo.common, run->base.ref, run->id, &maybe, err))
        return -1;
    return maybe ? checkout_move_find(run, run->base.ref, path, err) : 0;
}

/* Brings a checkout to the base, if its user has switched to the base while the base moved. */
static int follow_switch(struct run *run, struct err *err)
{
    struct publisher *p = &run->publisher;
    const struct forward_move move = {
        .ref = run->base.ref, .from = p->moved_from, .to = run->base.published};
    autofree char *aside = checkout_move_aside(&run->pf->repo);
    autolock struct checkout_lock own = {0};
    autobuf struct buf path = BUF_INIT;
    struct git_repo there = {0};
    bool taken = true;
    if (late_switch_find(run, &path, err))
        return -1;
    if (!path.len)
        return 0;
    int rc = git_open(&there, path.s, err);
    bool locked = !rc && p->checkout.lock && strcmp(p->checkout.git_dir, there.git_dir) == 0;
    if (!rc && !locked)
        rc = checkout_lock_take(&own, there.git_dir, path.s, aside, &taken, err);
    if (!rc && taken)
        rc = checkout_follow(locked ? &p->checkout : &own, &there, &move, err);
    git_close(&there);
    return rc;
}

void late_switch_follow(struct run *run)
{
    struct publisher *p = &run->publisher;
    struct err err = {0};
    if (p->moved_from && follow_switch(run, &err))
        record_error(run, -1, &err);
    free(p->moved_from);
    p->moved_from = NULL;
}
