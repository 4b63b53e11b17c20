/*
 * Removes a thread.
 */
#include "threads/cleanup/cleanup_private.h"

#include "base/mem.h"
#include "threads/fanout/fanout.h"
#include "threads/remove.h"
#include "workspace/commit/salvage.h"
#include "workspace/commit/salvage_list.h"

#include <string.h>
#include <unistd.h>

/* Notes that fanout left in the thread's administrative folder. */
struct thread_notes {
    char *excludes, *brought;
};

static void notes_done(struct thread_notes *n)
{
    free(n->excludes);
    free(n->brought);
}

static void notes_find(struct thread_notes *n, const struct thread *t)
{
    n->excludes = mem_printf("%s/anabranch.excludes", t->admin);
    n->brought = mem_printf("%s/anabranch.brought", t->admin);
    if (access(n->excludes, R_OK) < 0) {
        free(n->excludes);
        n->excludes = NULL;
    }
}

/* Finds an unused ref for the salvage. */
static char *find_unused_ref(const struct cleaning *c, const struct thread *t, int *ret_n)
{
    for (*ret_n = 1;; ++*ret_n) {
        autofree char *ref = mem_printf(SALVAGE_REFS "threads/%s/%d", t->id, *ret_n);
        autobuf struct buf existing = BUF_INIT;
        if (git_resolve(&c->at, ref, &existing, NULL))
            return steal_ptr(ref);
    }
}

static struct salvage_job get_salvage_job(const struct cleaning *c, const struct workspace *ws,
                                          const struct thread_notes *notes, const char *tip)
{
    return (struct salvage_job){.commit = {.ws = ws,
                                           .start = tip,
                                           .excludes = notes->excludes,
                                           .brought = notes->brought,
                                           .root = c->opts->repo->root}};
}

static struct workspace get_workspace(const struct cleaning *c, const struct thread *t)
{
    return (struct workspace){
        .path = t->path, .admin = t->admin, .common = c->opts->repo->common, .branch = t->branch};
}

/* Its files are in commits. Saves commits that would become unreachable. */
static int save_unreachable(const struct cleaning *c, const struct thread *t, const char *tip,
                            struct buf *ret_salvage, struct err *err)
{
    own_cleanup(notes_done) struct thread_notes notes = {0};
    autosalvaged struct salvaged saved = SALVAGED_INIT;
    struct workspace ws = get_workspace(c, t);
    const char *const reachable[] = {tip, NULL};
    int n;
    autofree char *ref = find_unused_ref(c, t, &n);
    autofree char *message = salvage_message("threads", t->id, n, tip, "its thread was removed");
    autofree char *index = mem_printf("%s/anabranch/tmp/cleanup.%d", ws.common, (int)getpid());
    notes_find(&notes, t);
    struct salvage_job job = get_salvage_job(c, &ws, &notes, tip);
    job.ref = ref;
    job.commit.message = message;
    job.commit.index = index;
    int rc = salvage_rest(&job, reachable, false, &saved, err);
    (void)unlink(index); /* exists only if needed */
    if (rc == 0 && saved.commit.len)
        buf_addstr(ret_salvage, ref + strlen(SALVAGE_REFS));
    return rc;
}

/* Removes the branch's configuration, like `git branch -d`. */
static int remove_branch_config(const struct cleaning *c, const struct thread *t, struct err *err)
{
    autofree char *section = mem_printf("branch.%s", t->branch + strlen("refs/heads/"));
    autostrv struct strv args = {0};
    autobuf struct buf none = BUF_INIT, errout = BUF_INIT;
    int status;
    strv_pushl(&args, "config", "--local", "--remove-section", section, NULL);
    if (git_try(&c->at, &args, &none, &errout, &status, err))
        return -1;
    if (status && !strstr(errout.s, "no such section"))
        return err_set(err, ERR_ENV, "git config: %.*s", (int)strcspn(errout.s, "\n"), errout.s);
    return 0;
}

int cleanup_take(const struct cleaning *c, const struct thread *t, const char *tip,
                 struct buf *ret_salvage, struct err *err)
{
    if (save_unreachable(c, t, *tip ? tip : t->base_commit, ret_salvage, err))
        return -1;
    return thread_remove(t, c->opts->repo, *tip ? tip : NULL, err) ||
                   remove_branch_config(c, t, err)
               ? -1
               : 0;
}

/* All ignored files except included ones and our own. */
int cleanup_dropped(const struct cleaning *c, const struct thread *t, struct strv *ret,
                    struct err *err)
{
    own_cleanup(notes_done) struct thread_notes notes = {0};
    autosalvaged struct salvaged saved = SALVAGED_INIT;
    struct workspace ws = get_workspace(c, t);
    if (access(t->path, F_OK) < 0)
        return 0;
    notes_find(&notes, t);
    struct salvage_job job = get_salvage_job(c, &ws, &notes, t->base_commit);
    if (salvage_dropped(&job, &saved, err))
        return -1;
    for (size_t i = 0; i < saved.dropped.n; i++) {
        if (!fanout_made(t, saved.dropped.v[i]))
            strv_push(ret, saved.dropped.v[i]);
    }
    return 0;
}
