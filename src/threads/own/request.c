#include "threads/own/request.h"

#include "base/mem.h"
#include "base/text/glob.h"
#include "base/text/text.h"
#include "git/state_paths.h"
#include "plan/schedule/claims.h"
#include "sys/clock.h"
#include "sys/fs/dirs.h"
#include "sys/own_fd.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct request {
    const struct threads *all;
    struct thread *thread;
    bool fold;
};

void own_decisions_done(struct own_decisions *ds)
{
    for (size_t i = 0; i < ds->n; i++) {
        free(ds->v[i].path);
        free(ds->v[i].claim);
        free(ds->v[i].whose);
        free(ds->v[i].whose_tree);
    }
    vec_done(ds);
}

/* True if the claim contains everything that is requested. A path without wildcards may be a file;
 * then we ignore what would be below it. */
static bool claim_covers(const char *claim, const struct glob *wanted, const char *path, bool fold)
{
    struct glob *glob = glob_new(claim, fold);
    bool is_literal = *path && !strpbrk(path, GLOB_SPECIAL);
    bool result = glob && ((is_literal && glob_match(glob, path)) || glob_covers(glob, wanted));
    glob_free(glob);
    return result;
}

static bool claim_overlaps(const char *claim, const struct glob *wanted, bool fold)
{
    struct glob *glob = glob_new(claim, fold);
    bool result = glob && glob_overlap(glob, wanted, NULL);
    glob_free(glob);
    return result;
}

static const char *find_covering_claim(const struct strv *claims, const struct glob *wanted,
                                       const char *path, bool fold)
{
    for (size_t i = 0; i < claims->n; i++) {
        if (claim_covers(claims->v[i], wanted, path, fold))
            return claims->v[i];
    }
    return NULL;
}

static bool already_has(const struct request *a, const struct glob *wanted, const char *path)
{
    const struct thread *t = a->thread;
    bool result = find_covering_claim(&t->owns, wanted, path, a->fold);
    for (size_t i = 0; i < t->requests.n && !result; i++) {
        const struct thread_request *r = &t->requests.v[i];
        result = !r->claimed_by && claim_covers(r->path, wanted, path, a->fold);
    }
    return result;
}

/* The claim of another thread that overlaps, or NULL. */
static const char *find_overlapping_claim(const struct thread *t, const struct glob *wanted,
                                          bool fold)
{
    for (size_t i = 0; i < t->owns.n; i++) {
        if (claim_overlaps(t->owns.v[i], wanted, fold))
            return t->owns.v[i];
    }
    for (size_t i = 0; i < t->requests.n; i++) {
        if (!t->requests.v[i].claimed_by && claim_overlaps(t->requests.v[i].path, wanted, fold))
            return t->requests.v[i].path;
    }
    return NULL;
}

static bool find_owner(const struct request *a, const struct glob *wanted, struct own_decision *d)
{
    for (size_t i = 0; i < a->all->n; i++) {
        const struct thread *other = &a->all->v[i];
        if (other == a->thread || access(other->path, F_OK) < 0)
            continue;
        const char *claim = find_overlapping_claim(other, wanted, a->fold);
        if (!claim)
            continue;
        d->claim = mem_str(claim);
        d->whose = mem_str(other->id);
        d->whose_tree = mem_str(other->path);
        return true;
    }
    return false;
}

static void decide_request(const struct request *a, const struct glob *wanted,
                           struct own_decision *d)
{
    const char *forbid = find_covering_claim(&a->thread->forbids, wanted, d->path, a->fold);
    d->claim = forbid ? mem_str(forbid) : NULL;
    d->answer = forbid                            ? OWN_ANSWER_FORBIDDEN
                : already_has(a, wanted, d->path) ? OWN_ANSWER_HAS
                : find_owner(a, wanted, d)        ? OWN_ANSWER_TAKEN
                                                  : OWN_ANSWER_GRANTED;
}

static struct thread_request *find_or_add_request(struct thread *t, const char *path)
{
    for (size_t i = 0; i < t->requests.n; i++) {
        if (strcmp(t->requests.v[i].path, path) == 0)
            return &t->requests.v[i];
    }
    vec_push(&t->requests, (struct thread_request){.path = mem_str(path)});
    return &t->requests.v[t->requests.n - 1];
}

static void record_decision(struct thread *t, const struct own_decision *d)
{
    if (d->answer == OWN_ANSWER_HAS)
        return;
    struct thread_request *r = find_or_add_request(t, d->path);
    free(r->claimed_by);
    r->claimed_by = d->whose                            ? mem_str(d->whose)
                    : d->answer == OWN_ANSWER_FORBIDDEN ? mem_str(t->id)
                                                        : NULL;
    r->at = clock_wall();
}

/* Turns typed text into a claim. Names like app/[id] are common: if there is a file or folder of
 * that name, we do not read it as a glob. */
static void text_to_claim(const struct request *a, const char *prefix, const char *text,
                          struct buf *ret_prefix, struct buf *ret_text)
{
    autofree char *path = mem_printf("%s/%s/%s", a->thread->path, prefix, text);
    struct stat st;
    bool exists = lstat(path, &st) == 0;
    bool has_wildcards = strpbrk(prefix, GLOB_SPECIAL) || (exists && strpbrk(text, GLOB_SPECIAL));
    text_escape(ret_prefix, prefix, GLOB_SPECIAL);
    if (has_wildcards && exists)
        text_escape(ret_text, text, GLOB_SPECIAL);
    else
        buf_addstr(ret_text, text);
    if (has_wildcards && exists &&
        S_ISDIR(st.st_mode)) /* a claim with a backslash contains nothing below itself */
        buf_addstr(ret_text, "/**");
}

static int decide_path(const struct request *a, const char *prefix, const char *text,
                       struct own_decisions *ret, struct err *err)
{
    autobuf struct buf path = BUF_INIT, folder = BUF_INIT, claim = BUF_INIT;
    text_to_claim(a, prefix, text, &folder, &claim);
    const char *wrong = claim_normalise(claim.s, folder.s, &path);
    if (wrong)
        return err_set(err, ERR_INPUT, "'%s' %s", text, wrong);
    struct glob *wanted = glob_new(path.s, a->fold);
    if (!wanted)
        return err_set(err, ERR_INPUT, "'%s' is not a pattern that can match a path", text);
    struct own_decision d = {.path = mem_str(path.s)};
    decide_request(a, wanted, &d);
    glob_free(wanted);
    if (d.answer == OWN_ANSWER_GRANTED && threads_check(a->all, err)) {
        vec_push(ret, d);
        return err_wrap(err, "cannot tell if '%s' is free", text);
    }
    record_decision(a->thread, &d);
    vec_push(ret, d);
    return 0;
}

static int lock_requests(const struct git_repo *repo, int *ret_fd, struct err *err)
{
    autofree char *folder = state_path(repo->common);
    autofree char *path = mem_printf("%s/own", folder);
    return dirs_make(folder, err) || dirs_lock(path, ret_fd, err) ? -1 : 0;
}

int own_request(const struct git_repo *repo, const char *id, const char *prefix,
                const char *const *paths, struct own_decisions *ret, struct err *err)
{
    autothreads struct threads all = {0};
    autoclose int lock = -1;
    *ret = (struct own_decisions){0};
    if (lock_requests(repo, &lock, err) || threads_load(&all, repo, err))
        return -1;
    struct request a = {
        .all = &all, .thread = threads_find(&all, id), .fold = repo->core.ignore_case};
    if (!a.thread)
        return err_set(err, ERR_ENV, "thread %s no longer exists", id);
    for (; *paths; paths++) {
        if (decide_path(&a, prefix, *paths, ret, err))
            return -1;
    }
    return thread_save(a.thread, err);
}
