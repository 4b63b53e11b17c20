#include "threads/upstream.h"

#include "base/mem.h"
#include "sys/proc/capture_many.h"

#include <stdarg.h>
#include <string.h>

#define HEADS   "refs/heads/"
#define REMOTES "refs/remotes/"

void upstream_done(struct upstream *u)
{
    free(u->remote);
    free(u->ref);
    free(u->tracking);
    *u = (struct upstream){0};
}

/* From git's configuration. A branch that follows another branch of this repository has no
 * upstream. */
static int find_configured(struct upstream *u, const struct git_place *at, const char *branch,
                           struct err *err)
{
    autobuf struct buf out = BUF_INIT;
    if (git_call(at, &out, err, "for-each-ref",
                 "--format=%(upstream)%00%(upstream:remotename)%00%(upstream:remoteref)%00", branch,
                 NULL))
        return -1;
    const char *tracking = out.s, *remote = tracking + strlen(tracking) + 1;
    if (!*tracking || !*remote || strcmp(remote, ".") == 0)
        return 0;
    *u = (struct upstream){.remote = mem_str(remote),
                           .ref = mem_str(remote + strlen(remote) + 1),
                           .tracking = mem_str(tracking)};
    return 0;
}

static char *choose_remote(char *names)
{
    char *first = strsep(&names, "\n"), *only = names && *names ? NULL : first;
    for (char *name = first; name; name = strsep(&names, "\n")) {
        if (strcmp(name, "origin") == 0)
            return name;
    }
    return only && *only ? only : NULL;
}

static int find_by_name(struct upstream *u, const struct git_place *at, const char *branch,
                        struct err *err)
{
    autobuf struct buf names = BUF_INIT, commit = BUF_INIT;
    if (git_call(at, &names, err, "remote", NULL))
        return -1;
    const char *remote = choose_remote(names.s);
    if (!remote)
        return 0;
    autofree char *tracking = mem_printf(REMOTES "%s/%s", remote, branch + strlen(HEADS));
    if (git_resolve(at, tracking, &commit, NULL) == 0)
        *u = (struct upstream){
            .remote = mem_str(remote), .ref = mem_str(branch), .tracking = steal_ptr(tracking)};
    return 0;
}

int upstream_find(struct upstream *u, const struct git_place *at, const char *branch,
                  struct err *err)
{
    *u = (struct upstream){0};
    if (find_configured(u, at, branch, err))
        return -1;
    return u->remote ? 0 : find_by_name(u, at, branch, err);
}

/* Runs git with a remote that may never answer: a signal stops it. */
__attribute__((sentinel)) static int run_remote_git(const struct git_place *at, struct buf *out,
                                                    struct err *err, ...)
{
    own_cleanup(proc_job_done) struct proc_job job = PROC_JOB_INIT;
    va_list ap;
    git_prepare(at, &job.argv, &job.env);
    size_t first = job.argv.n;
    va_start(ap, err);
    for (const char *argument; (argument = va_arg(ap, const char *));)
        strv_push(&job.argv, argument);
    va_end(ap);
    int rc = capture_many(&job, 1, err);
    const char *message = job.errout.s + (strncmp(job.errout.s, "fatal: ", 7) == 0 ? 7 : 0);
    if (rc == 0 && job.status != 0)
        rc = err_set(err, ERR_ENV, "git %s: %.*s", job.argv.v[first], (int)strcspn(message, "\n"),
                     message);
    if (rc == 0 && out)
        buf_add(out, job.out.s, job.out.len);
    return rc;
}

/* Fetches nothing but objects, so we ask for the commit first. */
static int fetch_objects(const struct upstream *u, const struct git_place *at,
                         struct buf *ret_commit, struct err *err)
{
    autobuf struct buf line = BUF_INIT;
    if (run_remote_git(at, &line, err, "ls-remote", u->remote, u->ref, NULL))
        return -1;
    if (!line.len)
        return err_set(err, ERR_ENV, "the branch '%s' no longer exists", u->ref + strlen(HEADS));
    buf_add(ret_commit, line.s, strcspn(line.s, "\t"));
    return run_remote_git(at, NULL, err, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head",
                          "--no-auto-maintenance", "--refmap=", u->remote, u->ref, NULL);
}

int upstream_fetch(const struct upstream *u, const struct git_place *at, bool dry_run,
                   struct buf *ret_commit, struct err *err)
{
    int rc = dry_run ? fetch_objects(u, at, ret_commit, err)
                     : run_remote_git(at, NULL, err, "fetch", "--quiet", "--no-tags",
                                      "--no-write-fetch-head", "--no-auto-maintenance", u->remote,
                                      u->ref, NULL);
    if (rc)
        return err_wrap(err, "%s", u->remote);
    return dry_run ? 0 : git_resolve(at, u->tracking, ret_commit, err);
}
