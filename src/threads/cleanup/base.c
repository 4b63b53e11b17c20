#include "threads/cleanup/cleanup_private.h"

#include "base/mem.h"
#include "base/text/str.h"
#include "sys/interrupt.h"

#include <string.h>

static const char *get_short_name(const char *ref)
{
    const char *name = strchr(ref + strlen("refs/"), '/');
    return name + 1;
}

/* If the remote does not answer, we use the last fetched commit. */
static void fetch_remote(struct cleaning *c, struct cleanup_base *b)
{
    autobuf struct buf commit = BUF_INIT;
    struct err err = {0};
    if (!b->upstream.remote)
        return;
    if (upstream_fetch(&b->upstream, &c->at, c->opts->dry_run, &commit, &err)) {
        if (!interrupt_signal())
            c->opts->warn(c->opts->ctx, err.msg);
        buf_cut(&commit, 0);
        (void)git_resolve(&c->at, b->upstream.tracking, &commit, NULL);
    }
    b->remote = commit.len ? mem_str(commit.s) : NULL;
    b->remote_name = mem_str(get_short_name(b->upstream.tracking));
}

/* If a thread came from a commit instead of a branch, or its branch is gone, we take the branch
 * that is checked out in the main worktree. */
static int find_ref(const struct cleaning *c, const char *ref, struct buf *ret, struct err *err)
{
    struct git_place main_at = {.git_dir = c->opts->repo->common};
    autostrv struct strv args = {0};
    autobuf struct buf commit = BUF_INIT;
    int status;
    if (ref && git_resolve(&c->at, ref, &commit, NULL) == 0) {
        buf_addstr(ret, ref);
        return 0;
    }
    strv_pushl(&args, "symbolic-ref", "--quiet", "HEAD", NULL);
    if (git_try(&main_at, &args, ret, NULL, &status, err))
        return -1;
    buf_cut(ret, status ? 0 : strcspn(ret->s, "\n"));
    return 0;
}

static int find_base(struct cleaning *c, struct cleanup_base *b, struct err *err)
{
    autobuf struct buf ref = BUF_INIT, commit = BUF_INIT;
    if (find_ref(c, b->ref, &ref, err))
        return -1;
    if (!ref.len)
        return 0;
    if (upstream_find(&b->upstream, &c->at, ref.s, err))
        return -1;
    if (git_resolve(&c->at, ref.s, &commit, NULL) == 0)
        b->local = mem_str(commit.s);
    b->local_name = mem_str(get_short_name(ref.s));
    fetch_remote(c, b);
    return 0;
}

static void base_done(struct cleanup_base *b)
{
    upstream_done(&b->upstream);
    free(b->local);
    free(b->remote);
    free(b->local_name);
    free(b->remote_name);
}

void cleanup_bases_done(struct cleaning *c)
{
    for (size_t i = 0; i < c->bases.n; i++)
        base_done(&c->bases.v[i]);
    vec_done(&c->bases);
}

int cleanup_base(struct cleaning *c, const struct thread *t, const struct cleanup_base **ret,
                 struct err *err)
{
    struct cleanup_base b = {.ref = t->base};
    for (size_t i = 0; i < c->bases.n; i++) {
        *ret = &c->bases.v[i];
        if (str_same((*ret)->ref, t->base))
            return 0;
    }
    if (find_base(c, &b, err)) {
        base_done(&b);
        return -1;
    }
    vec_push(&c->bases, b);
    *ret = &c->bases.v[c->bases.n - 1];
    return 0;
}
