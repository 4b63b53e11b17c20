#include "run/checkout/checkout_move.h"

#include "base/mem.h"
#include "git/checkout/branch_use.h"
#include "git/config/frozen_config.h"
#include "run/checkout/base_lock.h"
#include "run/checkout/checkout_lock.h"
#include "run/checkout/checkout_note.h"
#include "run/checkout/repair/checkout_repair.h"
#include "run/checkout/repair/checkout_take_back.h"
#include "run/state/record.h"
#include "run/state/run_state.h"
#include "sys/clock.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"
#include "sys/own_fd.h"
#include "sys/proc/spawn.h"
#include "sys/time_limits.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { GIT_MS = 10 * 60 * 1000, GRACE_MS = 5000, LOG_MAX = 1 << 20, ID_MAX = 64 };

/* Gits of others mostly end after a few milliseconds, unless they wait for an editor. */
enum { QUIET_PAUSE_MS = 5, EXIT_FAILED = 1 << 8 };

/* Reads HEAD itself, which needs no process. */
bool checkout_move_is_here(const struct git_repo *repo, const char *ref)
{
    autofree char *path = mem_printf("%s/HEAD", repo->git_dir);
    autofree char *expected = mem_printf("ref: %s\n", ref);
    autobuf struct buf head = BUF_INIT;
    return file_read(path, 4096, &head, NULL) == 0 && strcmp(head.s, expected) == 0;
}

/* git prints "worktree PATH" and "branch REF" lines, with an empty line after each entry. The
 * first entry is the main work tree: git only guesses its path. */
int checkout_move_place(const struct git_repo *repo, const char *ref, struct buf *ret_path,
                        struct err *err)
{
    struct git_place at = {.git_dir = repo->common, .live = true};
    bool in_main = strcmp(repo->git_dir, repo->common) == 0;
    autobuf struct buf out = BUF_INIT;
    if (checkout_move_is_here(repo, ref)) {
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

int checkout_move_find(const struct run *run, const char *ref, struct buf *ret_path,
                       struct err *err)
{
    return checkout_move_place(&run->pf->repo, ref, ret_path, err);
}

/* The mark file exists from the start of a fast-forward to its successful end. If a process
 * finds it, some files may be half written. The file holds the commit where the branch was at
 * the start. */
static char *mark_path(const struct run *run)
{
    return mem_printf("%s/forwarding", run->files.dir);
}

static int write_mark(struct run *run, struct err *err)
{
    autofree char *path = mark_path(run);
    struct publisher *p = &run->publisher;
    struct err why = {0};
    p->fast_forward_marked = file_create(path, p->base_seen.s, p->base_seen.len, &why) == 0 ||
                             (why.errnum == ENOSPC && file_create(path, "", 0, &why) == 0);
    return p->fast_forward_marked || why.errnum == EEXIST ? 0
                                                          : err_set(err, why.code, "%s", why.msg);
}

bool checkout_move_may_have_begun(const struct run *run)
{
    static const char *const refusals[] = {"would be overwritten", "Not possible to fast-forward",
                                           "index.lock': File exists"};
    for (size_t i = 0; run->base.refusal && i < ARRAY_LEN(refusals); i++) {
        if (strstr(run->base.refusal, refusals[i]))
            return false;
    }
    return true;
}

/* If git refuses a move, it has not started it. */
static void remove_mark(const struct run *run, bool moved)
{
    autofree char *path = mark_path(run);
    bool begun = checkout_move_may_have_begun(run) && !checkout_move_lock(run);
    if (moved || (run->publisher.fast_forward_marked && !begun))
        (void)unlink(path);
    if (moved || (run->publisher.fast_forward_noted && !begun))
        checkout_note_forget(&run->pf->repo);
}

const char *checkout_move_lock(const struct run *run)
{
    const char *output = run->base.refusal ? strstr(run->base.refusal, "Unable to create '") : NULL;
    return output && strstr(output, ".lock': File exists") ? output : NULL;
}

bool checkout_move_mend(struct run *run)
{
    const struct publisher *p = &run->publisher;
    struct err err = {0};
    bool repaired = false;
    autofree char *mark = mark_path(run);
    if (checkout_repair(&run->pf->repo, NULL, run->files.dir, p->base_seen.s, p->target,
                        access(mark, F_OK) == 0, &repaired, &err))
        record_error(run, -1, &err);
    return repaired;
}

/* A user who commits has the index locked for a moment, so we retry. */
void checkout_move_keep(struct run *run, const char *now)
{
    enum { TRIES = 50 };
    const struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};
    struct err err = {0};
    bool repaired;
    int rc = 0;
    for (int i = 0;
         run->base.refusal && checkout_move_is_here(&run->pf->repo, run->base.ref) && i < TRIES;
         i++) {
        rc = checkout_repair(&run->pf->repo, NULL, run->files.dir, run->publisher.base_seen.s, now,
                             false, &repaired, &err);
        if (rc == 0 || !strstr(err.msg, "index.lock"))
            break;
        (void)nanosleep(&pause, NULL);
    }
    if (rc)
        record_error(run, -1, &err);
}

/* Does the same for a git of ours that was killed before checkout_move_keep() could run. */
static int keep_commits_since_mark(const struct run *run, struct err *err)
{
    autofree char *path = mark_path(run);
    autobuf struct buf marked = BUF_INIT;
    const char *now = run->publisher.base_seen.s;
    bool repaired;
    if (file_read(path, ID_MAX, &marked, NULL) || !marked.len || strcmp(marked.s, now) == 0)
        return 0;
    return checkout_move_is_here(&run->pf->repo, run->base.ref)
               ? checkout_repair(&run->pf->repo, NULL, run->files.dir, marked.s, now, false,
                                 &repaired, err)
               : 0;
}

static char *log_path(const struct run *run)
{
    return mem_printf("%s/publish.log", run->files.dir);
}

/* If we ask git to end, it removes its lock. The files that it has written stay, and the mark
 * stays too. */
void checkout_move_end(struct run *run, enum publication_stop stop)
{
    (void)kill(-run->publisher.git, stop == PUBLICATION_KILL_GIT ? SIGKILL : SIGTERM);
}

static void on_overdue(void *ctx)
{
    struct run *run = ctx;
    checkout_move_end(run, publication_give_up(&run->publisher.publication));
    watch_again(run->publisher.limit, GRACE_MS);
}

static char *describe_give_up(const struct run *run)
{
    return run->engine->stopping ? mem_str("git had not ended when the run was stopped\n")
                                 : mem_printf("git did not end within %lld s\n",
                                              (long long)time_limit(GIT_MS) / 1000);
}

void checkout_move_forget(struct publisher *p)
{
    checkout_lock_release(&p->checkout);
    watch_free(p->child);
    watch_free(p->limit);
    stuck_watch_free(p->stuck);
    p->child = p->limit = NULL;
    p->stuck = NULL;
}

static bool has_left_base(const struct run *run)
{
    return !branch_is_checked_out(run->publisher.checkout.git_dir, run->base.ref);
}

/* The user may have left the base while git moved the checkout: `git switch -c` needs no lock.
 * Returns true if we have taken the move back. */
static bool take_back_if_left(struct run *run)
{
    struct publisher *p = &run->publisher;
    struct err err = {0};
    if (!has_left_base(run) || !checkout_move_may_have_begun(run))
        return false;
    int rc =
        checkout_take_back(&p->checkout, run->pf->repo.common, p->base_seen.s, p->target, &err);
    if (rc)
        record_error(run, -1, &err);
    return rc == 0;
}

static void read_refusal(struct run *run, int status)
{
    autofree char *path = log_path(run);
    autobuf struct buf output = BUF_INIT;
    free(run->base.refusal);
    run->base.refusal = NULL;
    if (status != 0 && file_read(path, LOG_MAX, &output, NULL) == 0 && output.len)
        run->base.refusal = buf_steal(&output);
}

static void finish_move(struct run *run, int status)
{
    struct publisher *p = &run->publisher;
    bool killed = WIFSIGNALED(status),
         given_up = publication_is_given_up(&run->publisher.publication);
    read_refusal(run, status);
    bool taken_back = (!killed || given_up) && take_back_if_left(run);
    publication_git_ended(&run->publisher.publication, killed || (status != 0 && taken_back));
    if (killed && !given_up) /* the move may be half done: checkout_note_mend() finishes it */
        checkout_lock_leave(&p->checkout);
    checkout_move_forget(p);
    if (killed)
        base_lock_clear(&p->lock, &run->pf->repo, run->base.ref);
    else
        base_lock_unmark(&p->lock, status == 0);
    remove_mark(run, status == 0 || taken_back);
    if (status != 0 && given_up) {
        free(run->base.refusal);
        run->base.refusal = describe_give_up(run);
    }
    p->after_move(run, status == 0);
}

void checkout_move_await_quiet(struct run *run)
{
    struct publication *p = &run->publisher.publication;
    p->git_wait_until = clock_mono() + time_limit(publication_git_wait(p));
}

static bool is_quiet(struct run *run)
{
    const struct checkout_lock *l = &run->publisher.checkout;
    return !l->lock || checkout_lock_is_quiet(l) ||
           !publication_awaits_git(&run->publisher.publication, clock_mono());
}

/* Once we have seen another git at work, we look before we lock the checkout again: our lock could
 * make that git fail. */
static bool is_still_busy(struct run *run, const char *path)
{
    struct publisher *p = &run->publisher;
    const struct checkout_lock there = {.root = (char *)path};
    p->git_seen = p->git_seen && !checkout_lock_is_quiet(&there);
    return p->git_seen && publication_awaits_git(&p->publication, clock_mono());
}

bool checkout_move_settles(struct run *run)
{
    if (publication_is_given_up(&run->publisher.publication) || is_quiet(run))
        return false;
    publication_settle(&run->publisher.publication);
    return true;
}

/* Branch and index have moved. We keep the lock until gits that read the old state have ended,
 * so that the lock refuses their writes. */
static void finish_when_quiet(void *ctx)
{
    struct run *run = ctx;
    struct publisher *p = &run->publisher;
    if (checkout_move_settles(run)) {
        watch_free(p->limit);
        p->limit = loop_timer(run->loop, QUIET_PAUSE_MS, finish_when_quiet, run);
        return;
    }
    finish_move(run, 0);
}

/* git has written the files: installs its index and moves the branch. */
static int install_move(struct run *run, bool *ret_moved, struct err *err)
{
    const struct checkout_lock *l = &run->publisher.checkout;
    struct git_place at = {.git_dir = l->git_dir, .common = run->pf->repo.common};
    return checkout_lock_install(l, err) ||
                   git_move_ref(&at, run->base.ref, run->publisher.base_seen.s,
                                run->publisher.target, "anabranch: land", ret_moved, err)
               ? -1
               : 0;
}

static void on_git_exit(void *ctx, int status)
{
    struct run *run = ctx;
    struct publisher *p = &run->publisher;
    struct err err = {0};
    bool moved;
    if (status != 0 || has_left_base(run)) {
        finish_move(run, status ? status : EXIT_FAILED);
        return;
    }
    watch_free(p->child);
    stuck_watch_free(p->stuck);
    p->child = NULL;
    p->stuck = NULL;
    if (install_move(run, &moved, &err)) {
        record_error(run, -1, &err);
        moved = false;
    }
    if (!moved) {
        finish_move(run, EXIT_FAILED);
        return;
    }
    checkout_move_await_quiet(run);
    finish_when_quiet(run);
}

void checkout_move_command(const char *path, const char *git_dir, const char *target,
                           struct strv *argv)
{
    autofree char *own = git_frozen_worktree(git_dir);
    strv_pushl(argv, "git", "-C", path, "-c", "core.fsmonitor=false", "-c",
               "core.hooksPath=/dev/null", "-c", "gc.auto=0", "-c", "maintenance.auto=false", NULL);
    if (own)
        strv_pushl(argv, "-c", NULL), strv_pushf(argv, "include.path=%s", own);
    git_wait_for_locks(argv);
    strv_pushl(argv, "merge", "--quiet", "--ff-only", "--no-overwrite-ignore", "--no-stat",
               "--no-verify-signatures", "--no-autostash", target, NULL);
}

char *checkout_move_git_dir(const struct git_repo *repo, const char *path, struct err *err)
{
    struct git_repo there = {0};
    if (strcmp(path, repo->root) == 0)
        return mem_str(repo->git_dir);
    if (git_open(&there, path, err))
        return NULL;
    char *git_dir = there.git_dir ? mem_str(there.git_dir) : NULL;
    if (!git_dir)
        (void)err_set(err, ERR_ENV, "'%s' is not a work tree", path);
    git_close(&there);
    return git_dir;
}

/* Uses git's wording, which checkout_move_lock() parses. */
static void refuse_by_lock(struct run *run, const char *git_dir)
{
    free(run->base.refusal);
    run->base.refusal =
        mem_printf("fatal: Unable to create '%s/index.lock': File exists.\n", git_dir);
}

void checkout_move_unlock_checkout(struct run *run)
{
    checkout_lock_release(&run->publisher.checkout);
    base_lock_unmark(&run->publisher.lock, false);
}

char *checkout_move_aside(const struct git_repo *repo)
{
    return mem_printf("%s/anabranch/forward", repo->common);
}

static char *aside_path(const struct run *run)
{
    return mem_printf("%s/forward", run->files.dir);
}

void checkout_move_tidy(struct run *run)
{
    autofree char *aside = aside_path(run);
    struct err err = {0};
    if (dirs_remove(aside, &err))
        record_error(run, -1, &err);
}

/* *ret is FORWARD_BUSY if another git is at work there, or if the checkout has switched
 * branches: the caller looks again. */
int checkout_move_lock_checkout(struct run *run, const char *path, bool has_base,
                                enum checkout_move_try *ret, struct err *err)
{
    struct publisher *p = &run->publisher;
    autofree char *git_dir = checkout_move_git_dir(&run->pf->repo, path, err);
    autofree char *aside = aside_path(run);
    struct err why = {0};
    bool taken;
    *ret = FORWARD_BUSY;
    if (is_still_busy(run, path))
        return 0;
    if (keep_commits_since_mark(run, &why))
        record_error(run, -1, &why);
    if (!git_dir || base_lock_mark(&p->lock, err) ||
        checkout_lock_take(&p->checkout, git_dir, path, aside, &taken, err))
        return -1;
    *ret = taken ? FORWARD_BUSY : FORWARD_LOCKED;
    if (!taken)
        refuse_by_lock(run, git_dir);
    else if (!is_quiet(run))
        p->git_seen = true;
    else if (branch_is_checked_out(git_dir, run->base.ref) == has_base)
        *ret = FORWARD_READY;
    if (*ret != FORWARD_READY)
        checkout_move_unlock_checkout(run);
    return 0;
}

int checkout_move_start(struct run *run, const char *path, void (*forwarded)(struct run *, bool),
                        struct err *err)
{
    struct publisher *p = &run->publisher;
    autofree char *log = log_path(run);
    autoclose int fd = -1;
    if (file_open(AT_FDCWD, log, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, &fd, err))
        return -1;
    autostrv struct strv argv = {0}, env = {0};
    struct spawn sp = {.fds = {SPAWN_NULL, SPAWN_NULL, fd, SPAWN_NONE, SPAWN_NONE},
                       .new_session = true};
    pid_t pid;
    struct err none = {0};
    checkout_move_command(path, p->checkout.git_dir, p->target, &argv);
    git_environment(&env);
    if (checkout_lock_prepare(&p->checkout, run->pf->repo.common, p->base_seen.s, &env, err))
        return -1;
    sp.argv = argv.v;
    sp.env = env.v;
    /* On a full disk we cannot write the note; the mark is enough. */
    (void)checkout_note_note(&run->pf->repo, run->base.ref, p->base_seen.s, p->target, path,
                             &p->fast_forward_noted, &none);
    if (write_mark(run, err) || base_lock_mark(&p->lock, err) || spawn_start(&sp, &pid, err))
        return -1;
    p->after_move = forwarded;
    p->git = pid;
    p->child = loop_child(run->loop, pid, on_git_exit, run);
    p->stuck = stuck_watch_new(run->loop, pid, log);
    p->limit = loop_timer(run->loop, time_limit(GIT_MS), on_overdue, run);
    publication_git_began(&run->publisher.publication);
    return 0;
}
