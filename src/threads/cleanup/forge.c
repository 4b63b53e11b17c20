/*
 * Asks gh what the forge knows of a thread's branch.
 */
#include "threads/cleanup/cleanup_private.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "doc/doc.h"
#include "sys/interrupt.h"
#include "sys/proc/capture_many.h"
#include "threads/converge/forge.h"

#include <errno.h>
#include <string.h>

/* converge has pushed it, or git's configuration or remote-tracking branches say so. */
static int was_pushed(const struct cleaning *c, const struct thread *t, bool *ret_yes,
                      struct err *err)
{
    autofree char *tracking = mem_printf("refs/remotes/*/%s", t->branch + strlen("refs/heads/"));
    autobuf struct buf out = BUF_INIT;
    if (git_call(&c->at, &out, err, "for-each-ref",
                 "--format=%(if)%(upstream:remotename)%(then)pushed%(end)%(if:equals=refs/remotes)"
                 "%(refname:rstrip=-2)%(then)pushed%(end)",
                 t->branch, tracking, NULL))
        return -1;
    *ret_yes = t->pull || strstr(out.s, "pushed");
    return 0;
}

static void read_answer(const struct buf *answer, const char *tip, bool *ret_merged,
                        struct buf *note)
{
    autoarena struct arena a = {0};
    const struct node *root = doc_read_line(&a, answer->s, answer->len);
    if (!root)
        return;
    const char *state = node_get_string(root, "state", "");
    bool same = strcmp(node_get_string(root, "headRefOid", ""), tip) == 0;
    *ret_merged = same && strcmp(state, "MERGED") == 0;
    if (strcmp(state, "OPEN") == 0)
        buf_addstr(note, "; its pull request is open");
    else if (strcmp(state, "CLOSED") == 0)
        buf_addstr(note, "; its pull request was closed");
    else if (strcmp(state, "MERGED") == 0)
        buf_addstr(note, "; its pull request was merged with other commits");
}

/* "No pull request" is an answer. We report any other failure once. */
static void handle_failure(struct cleaning *c, int status, const struct buf *errout)
{
    autofree char *line = mem_dup(errout->s, strcspn(errout->s, "\n"));
    autofree char *message = mem_printf("gh: %s", *line ? line : "it failed");
    if (status == 1 && strstr(errout->s, "no pull requests found"))
        return;
    c->no_forge = true;
    c->opts->warn(c->opts->ctx, message);
}

/* `what`: a branch, or the address of a pull request. *ret_answered is true if there is a pull
 * request. */
static int ask_gh(struct cleaning *c, const char *what, const char *tip, bool *ret_answered,
                  bool *ret_merged, struct buf *note, struct err *err)
{
    own_cleanup(proc_job_done) struct proc_job job = PROC_JOB_INIT;
    struct err why = {0};
    strv_pushl(&job.argv, "gh", "pr", "view", what, "--json", "state,headRefOid", NULL);
    git_outside_environment(&job.env);
    strv_push(&job.env, "GH_PROMPT_DISABLED=1");
    if (capture_many(&job, 1, &why))
        c->no_forge = true; /* gh is not installed */
    else if (job.status != 0)
        handle_failure(c, job.status, &job.errout);
    else
        read_answer(&job.out, tip, ret_merged, note);
    *ret_answered = !c->no_forge && job.status == 0;
    return interrupt_signal() ? err_set(err, ERR_ENV, "%s", why.msg) : 0;
}

/* git's configuration says which forge it is. */
static int find_forge(struct cleaning *c, struct err *err)
{
    autoforge struct forge forge = {0};
    if (c->looked_for_forge)
        return 0;
    c->looked_for_forge = true;
    if (forge_open(&forge, c->opts->repo, err))
        return -1;
    c->no_forge = forge_is_other(&forge);
    return 0;
}

/* gh does not find a pull request from a fork by its branch, but by the address that converge has
 * noted. */
int cleanup_ask_forge(struct cleaning *c, const struct thread *t, const char *tip, bool *ret_merged,
                      struct buf *ret_note, struct err *err)
{
    bool pushed = false, answered = false;
    if (c->no_forge)
        return 0;
    if (was_pushed(c, t, &pushed, err))
        return -1;
    if (!pushed)
        return 0;
    if (find_forge(c, err))
        return -1;
    if (c->no_forge)
        return 0;
    if (ask_gh(c, t->branch + strlen("refs/heads/"), tip, &answered, ret_merged, ret_note, err))
        return -1;
    bool known = t->pull && strncmp(t->pull, "http", 4) == 0;
    if (answered || c->no_forge || !known)
        return 0;
    return ask_gh(c, t->pull, tip, &answered, ret_merged, ret_note, err);
}
