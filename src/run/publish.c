/*
 * The base branch: it follows the tip, and the tip takes in what others put on it. Where the branch
 * is checked out, only a fast-forward by git itself moves it, which refuses rather than touch a
 * file that the user has changed.
 */
#include "run/run_private.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/shell.h"
#include "data/merge.h"
#include "run/adopt.h"
#include "run/shared.h"
#include "sys/dirs.h"
#include "sys/file.h"
#include "sys/patience.h"
#include "sys/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    TRIES = 5,
    TURN_PAUSE_MS = 5,
    LOCK_MS = 10000,
    LOCK_PAUSE_MS = 20,
    GIT_MS = 10 * 60 * 1000,
    GRACE_MS = 5000,
    WORDS_MAX = 1 << 20,
};

static int set_tip(struct run *run, const char *commit, struct err *err)
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
    return 0;
}

static void set_published(struct run *run, const char *commit)
{
    free(run->published);
    run->published = mem_str(commit);
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
    set_published(run, theirs);
    return set_tip(run, commit.s, err);
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
    set_published(run, now->s);
    return ours ? set_tip(run, now->s, err) : 0;
}

/* --- the user's checkout ------------------------------------------------------------------ */

/* Whether the work tree that the run was started in has a branch checked out, by its own HEAD: the
 * usual case of the base, and no process is needed to see it. */
static bool is_checked_out_here(const struct run *run, const char *ref)
{
    autofree char *path = mem_printf("%s/HEAD", run->pf->repo.git_dir);
    autofree char *expected = mem_printf("ref: %s\n", ref);
    autobuf struct buf head = BUF_INIT;
    return file_read(path, 4096, &head, NULL) == 0 && strcmp(head.s, expected) == 0;
}

/* "worktree PATH", "branch REF" lines, each entry with an empty one behind it. The first is the
 * main one, of which git only guesses where it is. */
int publish_checkout(const struct run *run, const char *ref, struct buf *ret_path, struct err *err)
{
    struct git_place at = run_place(run);
    const struct git_repo *repo = &run->pf->repo;
    bool in_main = strcmp(repo->git_dir, repo->common) == 0;
    autobuf struct buf out = BUF_INIT;
    if (is_checked_out_here(run, ref)) {
        buf_addstr(ret_path, repo->root);
        return 0;
    }
    if (git_call(&at, &out, err, "worktree", "list", "--porcelain", "-z", NULL))
        return -1;
    const char *path = NULL, *first = out.s + 9;
    for (const char *s = out.s; s < out.s + out.len; s += strlen(s) + 1) {
        if (strncmp(s, "worktree ", 9) == 0)
            path = s + 9;
        else if (path && !ret_path->len && strncmp(s, "branch ", 7) == 0 && strcmp(s + 7, ref) == 0)
            buf_addstr(ret_path, path == first && in_main ? repo->root : path);
    }
    return 0;
}

/* --- moving it ---------------------------------------------------------------------------- */

static void move_base(void *ctx);

static void finish(struct run *run)
{
    struct publication *p = &run->publication;
    own_close(&p->turn);
    p->busy = false;
    p->then(run);
}

static void fail(struct run *run, const struct err *err)
{
    run_fail(run, err);
    finish(run);
}

/* git's words where another git is at work in the checkout, or was and died there; or NULL. */
static const char *lock_in_the_way(const struct run *run)
{
    const char *words = run->refusal ? strstr(run->refusal, "Unable to create '") : NULL;
    return words && strstr(words, ".lock': File exists") ? words : NULL;
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
    const char *words = lock_in_the_way(run);
    if (!words || run->jobs || run->stopping || clock_mono() >= p->deadline)
        return false;
    tell_waiting(run, "git: ", words);
    watch_free(p->wait);
    p->wait = loop_timer(run->loop, LOCK_PAUSE_MS, move_base, run);
    return true;
}

/* There from the start of a fast-forward to its good end: who finds it knows that files may have
 * been written by half. */
static char *mark_path(const struct run *run)
{
    return mem_printf("%s/forwarding", run->dir);
}

static int mark(struct run *run, struct err *err)
{
    autofree char *path = mark_path(run);
    struct err why = {0};
    run->publication.marked = file_create(path, "", 0, &why) == 0;
    return run->publication.marked || why.errnum == EEXIST ? 0
                                                           : err_set(err, why.code, "%s", why.msg);
}

/* What git refuses it has not begun. */
static void unmark(struct run *run, bool moved)
{
    autofree char *path = mark_path(run);
    bool refused = run->refusal && strstr(run->refusal, "would be overwritten");
    if (moved || (run->publication.marked && (refused || lock_in_the_way(run))))
        (void)unlink(path);
}

/* What git refuses to touch may be what it wrote there itself, before it was killed or the disk was
 * full. */
static bool adopts(struct run *run)
{
    struct publication *p = &run->publication;
    struct err err = {0};
    bool some = false;
    if (p->adopted || !run->refusal || lock_in_the_way(run) ||
        !is_checked_out_here(run, run->base_ref))
        return false;
    p->adopted = true;
    autofree char *mark = mark_path(run);
    if (adopt(run, p->seen.s, p->target, access(mark, F_OK) == 0, &some, &err))
        record_error(run, -1, &err);
    return some;
}

/* git reads the index before it locks it: what someone committed in between has then left the index
 * again, though HEAD has it. */
static void keep_theirs(struct run *run, const char *now)
{
    struct err err = {0};
    bool some;
    if (run->refusal && is_checked_out_here(run, run->base_ref) &&
        adopt(run, run->publication.seen.s, now, false, &some, &err))
        record_error(run, -1, &err);
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
        keep_theirs(run, now.s);
    if ((p->killed || strcmp(now.s, p->seen.s) != 0) && ++p->tries < TRIES)
        move_base(run);
    else if (adopts(run))
        move_base(run);
    else if (!waits_for_lock(run))
        finish(run);
}

static char *words_path(const struct run *run)
{
    return mem_printf("%s/publish.log", run->dir);
}

/* Asked to end, git takes its lock away; what it has written stays, and is marked. */
static void end_git(struct run *run)
{
    struct publication *p = &run->publication;
    (void)kill(-p->git, p->given_up ? SIGKILL : SIGTERM);
    p->given_up = true;
}

static void on_overdue(void *ctx)
{
    struct run *run = ctx;
    end_git(run);
    watch_again(run->publication.limit, GRACE_MS);
}

static void given_up(struct run *run)
{
    free(run->refusal);
    run->refusal = run->stopping ? mem_str("git had not ended when the run was stopped\n")
                                 : mem_printf("git did not end within %lld s\n",
                                              (long long)patience(GIT_MS) / 1000);
    finish(run);
}

static void forget_child(struct publication *p)
{
    watch_free(p->child);
    watch_free(p->limit);
    p->child = p->limit = NULL;
}

static void on_forwarded(void *ctx, int status)
{
    struct run *run = ctx;
    struct publication *p = &run->publication;
    autofree char *path = words_path(run);
    autobuf struct buf words = BUF_INIT;
    forget_child(p);
    free(run->refusal);
    run->refusal = NULL;
    p->killed = WIFSIGNALED(status);
    if (status == 0) {
        unmark(run, true);
        set_published(run, p->target);
        finish(run);
        return;
    }
    if (file_read(path, WORDS_MAX, &words, NULL) == 0 && words.len)
        run->refusal = buf_steal(&words);
    autofree char *begun = mark_path(run);
    if (p->killed && is_checked_out_here(run, run->base_ref))
        adopt_lock(run, begun);
    unmark(run, false);
    if (p->given_up)
        given_up(run);
    else
        not_moved(run);
}

/* By git itself, beside all else that goes on; what lands meanwhile is for the next time. */
static int fast_forward(struct run *run, const char *path, struct err *err)
{
    const struct git_repo *repo = &run->pf->repo;
    struct publication *p = &run->publication;
    autofree char *words = words_path(run);
    autoclose int fd = open(words, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    autostrv struct strv argv = {0}, env = {0};
    struct spawn sp = {.fds = {SPAWN_NULL, SPAWN_NULL, fd, SPAWN_NONE, SPAWN_NONE},
                       .new_session = true};
    pid_t pid;
    if (fd < 0)
        return err_sys(err, "open '%s'", words);
    strv_pushl(&argv, "git", "-C", path, "-c", "core.fsmonitor=false", "-c",
               "core.hooksPath=/dev/null", "-c", "gc.auto=0", "-c", "maintenance.auto=false", NULL);
    git_wait_for_locks(&argv);
    strv_pushl(&argv, "merge", "--quiet", "--ff-only", "--no-overwrite-ignore", "--no-stat",
               "--no-verify-signatures", "--no-autostash", p->target, NULL);
    git_environment(&env);
    if (strcmp(path, repo->root) == 0) { /* with core.worktree nothing in it says so */
        strv_pushf(&env, "GIT_DIR=%s", repo->git_dir);
        strv_pushf(&env, "GIT_WORK_TREE=%s", repo->root);
    }
    sp.argv = argv.v;
    sp.env = env.v;
    if (mark(run, err) || spawn_start(&sp, &pid, err))
        return -1;
    p->git = pid;
    p->child = loop_child(run->loop, pid, on_forwarded, run);
    p->limit = loop_timer(run->loop, patience(GIT_MS), on_overdue, run);
    return 0;
}

/* Where it is checked out nowhere, a ref moves. */
static int move_ref(struct run *run, struct err *err)
{
    struct git_place at = run_place(run);
    bool moved;
    if (git_move_ref(&at, run->base_ref, run->published, run->publication.target, "anabranch: land",
                     &moved, err))
        return -1;
    if (moved) {
        set_published(run, run->publication.target);
        finish(run);
    } else {
        not_moved(run);
    }
    return 0;
}

static void move_base(void *ctx)
{
    struct run *run = ctx;
    struct publication *p = &run->publication;
    autobuf struct buf path = BUF_INIT;
    struct err err = {0};
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
    if (publish_checkout(run, run->base_ref, &path, &err) ||
        (path.len ? fast_forward(run, path.s, &err) : move_ref(run, &err)))
        fail(run, &err);
}

/* Runs that land on one base take turns; who else moves it is followed. */
static void take_turn(void *ctx)
{
    struct run *run = ctx;
    struct publication *p = &run->publication;
    autofree char *turn = mem_printf("%s/turn", run->state_dir);
    struct err err = {0};
    if (dirs_try_lock(turn, &p->turn, &err)) {
        fail(run, &err);
    } else if (p->turn < 0) {
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
        end_git(run);
    } else if (p->busy) {
        p->given_up = true;
        watch_free(p->wait);
        p->wait = NULL;
        finish(run);
    }
}

void publication_done(struct publication *p)
{
    forget_child(p);
    watch_free(p->wait);
    own_close(&p->turn);
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
