#include "workspace/overlay/base_tree.h"

#include "base/mem.h"
#include "git/tree/work_scan.h"
#include "sys/clock.h"
#include "sys/fs/btrfs.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"
#include "sys/own_dir.h"
#include "sys/proc/capture.h"
#include "workspace/overlay/base_tree_delta.h"
#include "workspace/overlay/upper_scan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define UNFINISHED ".new" /* name suffix of a draft */

enum { OUTPUT_MAX = 1 << 20, INDEX_MAX = 1 << 30, HASH_MAX = 32, COMMIT_MAX = 128 };

void base_tree_done(struct base_tree *p)
{
    free(p->dir);
    free(p->commit);
    own_close(&p->lock);
    *p = (struct base_tree)BASE_TREE_INIT;
}

char *base_tree_tree(const struct base_tree *p)
{
    return mem_printf("%s/tree", p->dir);
}

char *base_tree_index(const struct base_tree *p)
{
    return mem_printf("%s/index", p->dir);
}

static int copy_whole(const char *from, const char *to, struct err *err)
{
    autobuf struct buf bytes = BUF_INIT;
    return dirs_remove(to, err) || file_read(from, INDEX_MAX, &bytes, err) ||
                   file_create(to, bytes.s, bytes.len, err)
               ? -1
               : 0;
}

/* The copy gets a new mtime. That is safe: all entries are older than the original's mtime says. */
int base_tree_copy_index(const struct base_tree *p, const char *to, struct err *err)
{
    autofree char *from = base_tree_index(p);
    autoclose int in = -1;
    if (file_open(AT_FDCWD, from, O_RDONLY, &in, err))
        return -1;
    autoclose int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    struct stat st;
    if (out < 0 || fstat(in, &st) < 0)
        return err_sys(err, "copy '%s'", from);
    for (off_t left = st.st_size; left > 0;) {
        ssize_t n = copy_file_range(in, NULL, out, NULL, (size_t)left, 0);
        if (n <= 0) /* not possible between these file systems */
            return copy_whole(from, to, err);
        left -= n;
    }
    return 0;
}

static bool read_hash(const char *index, size_t len, unsigned char *ret)
{
    autoclose int fd = -1;
    off_t end = file_open(AT_FDCWD, index, O_RDONLY, &fd, NULL) ? -1 : lseek(fd, 0, SEEK_END);
    return end >= (off_t)len && pread(fd, ret, len, end - (off_t)len) == (ssize_t)len;
}

/* git can be configured to write zeros in place of the checksum. */
bool base_tree_is_index(const struct base_tree *p, const char *path)
{
    static const unsigned char none[HASH_MAX];
    unsigned char own[HASH_MAX], other[HASH_MAX];
    autofree char *index = base_tree_index(p);
    size_t len = strlen(p->commit) / 2;
    return len <= HASH_MAX && read_hash(index, len, own) && read_hash(path, len, other) &&
           memcmp(own, other, len) == 0 && memcmp(own, none, len) != 0;
}

/* A file of another commit's base tree, beside the one in `dir`. */
static char *get_sibling_path(const char *dir, const char *commit, const char *name)
{
    return mem_printf("%.*s/%s/%s", (int)(strrchr(dir, '/') - dir), dir, commit, name);
}

/* Reads the commit below a delta; false if this is not a delta. */
static bool read_below(const char *dir, struct buf *ret)
{
    autofree char *path = mem_printf("%s/below", dir);
    return access(path, F_OK) == 0 && file_read(path, COMMIT_MAX, ret, NULL) == 0;
}

char *base_tree_tree_below(const struct base_tree *p)
{
    autobuf struct buf commit = BUF_INIT;
    return read_below(p->dir, &commit) ? get_sibling_path(p->dir, commit.s, "tree") : NULL;
}

char *base_tree_index_below(const struct base_tree_draft *d)
{
    return get_sibling_path(d->dir, d->from, "index");
}

static bool is_untouched(const char *tree, const char *index, const char *id)
{
    autoworkscan struct work_scan scan = {0};
    return work_scan_open(&scan, tree, index, id) && !scan.changed.n && !scan.untracked.n;
}

/* Checks the delta and also the base tree below it. */
static int is_delta_as_written(const struct base_tree *p, const struct git_place *at,
                               const char *id, const char *commit, bool *ret_yes, struct err *err)
{
    autofree char *tree = base_tree_tree(p), *index = base_tree_index(p);
    autofree char *below = get_sibling_path(p->dir, commit, "index"),
                  *files = base_tree_tree_below(p);
    autobuf struct buf its_id = BUF_INIT;
    if (git_tree_of(at, commit, &its_id, err))
        return -1;
    *ret_yes = work_scan_is_plain(index, id) && is_untouched(files, below, its_id.s) &&
               base_tree_delta_fits(tree, index, below, strlen(p->commit));
    return 0;
}

/* We check every file, once in a run: a file that somebody has changed would appear in every
 * workspace. */
static int is_as_written(const struct base_tree *p, const struct git_place *at, bool made_now,
                         bool *ret_yes, struct err *err)
{
    autofree char *tree = base_tree_tree(p), *index = base_tree_index(p);
    autobuf struct buf id = BUF_INIT, below = BUF_INIT;
    autotracked struct tracked tracked = TRACKED_INIT;
    if (git_tree_of(at, p->commit, &id, err))
        return -1;
    if (read_below(p->dir, &below))
        return is_delta_as_written(p, at, id.s, below.s, ret_yes, err);
    *ret_yes = made_now ? tracked_open(&tracked, index, id.s) : is_untouched(tree, index, id.s);
    return 0;
}

int base_tree_take(struct base_tree *p, const struct git_place *at, const char *state_dir,
                   const char *commit, bool made_now, bool *ret_there, struct err *err)
{
    struct base_tree found = {.dir = mem_printf("%s/pristine/%s", state_dir, commit),
                              .commit = mem_str(commit),
                              .lock = -1};
    autofree char *lock = mem_printf("%s/lock", found.dir);
    *ret_there = false;
    bool there = dirs_share_lock(lock, &found.lock, NULL) == 0 && found.lock >= 0;
    if (there && is_as_written(&found, at, made_now, ret_there, err)) {
        base_tree_done(&found);
        return -1;
    }
    if (*ret_there)
        *p = found;
    else
        base_tree_done(&found);
    return 0;
}

void base_tree_draft_done(struct base_tree_draft *d)
{
    if (d->dir)
        (void)dirs_remove(d->dir, NULL);
    free(d->dir);
    free(d->commit);
    free(d->from);
    own_close(&d->lock);
    *d = (struct base_tree_draft)BASE_TREE_DRAFT_INIT;
}

/* A base tree that nobody uses, or an abandoned draft. */
struct idle {
    char *name;
    int lock;
    struct timespec used;
};

static void idle_done(struct idle *i)
{
    free(i->name);
    own_close(&i->lock);
    *i = (struct idle){.lock = -1};
}

/* True if it is idle; then we hold its lock exclusively. */
static bool lock_idle(struct idle *i, const char *dir, const char *name)
{
    autofree char *lock = mem_printf("%s/%s/lock", dir, name);
    autofree char *index = mem_printf("%s/%s/index", dir, name);
    struct stat st;
    *i = (struct idle){.lock = -1};
    if (dirs_try_lock(lock, &i->lock, NULL) || i->lock < 0)
        return false;
    i->name = mem_str(name);
    if (lstat(index, &st) == 0)
        i->used = st.st_mtim;
    return true;
}

bool base_tree_is_finished(const char *name)
{
    size_t len = strlen(name), end = strlen(UNFINISHED);
    return len <= end || strcmp(name + len - end, UNFINISHED) != 0;
}

/* Moves a base tree to tmp/, so that nobody finds it any more. The caller deletes it later,
 * because that takes long. */
static void move_aside(const char *state_dir, const char *dir, const char *name, struct strv *left)
{
    autofree char *path = mem_printf("%s/%s", dir, name);
    autofree char *aside = mem_printf("%s/tmp/pristine-%s.%d.gone", state_dir, name, (int)getpid());
    if (dirs_remove(aside, NULL) == 0 && rename(path, aside) == 0)
        strv_push(left, aside);
}

/* Removes deltas that nobody uses: the base tree below them is about to change. */
static void drop_deltas(const char *state_dir, const char *dir, struct strv *left)
{
    autodir DIR *d = opendir(dir);
    for (struct dirent *e; (e = dir_next(d));) {
        autofree char *below = mem_printf("%s/%s/below", dir, e->d_name);
        struct idle one;
        if (*e->d_name == '.' || access(below, F_OK) < 0 || !lock_idle(&one, dir, e->d_name))
            continue;
        move_aside(state_dir, dir, e->d_name, left);
        idle_done(&one);
    }
}

/* Finds the newest idle base tree in `dir` and removes the other idle ones. */
static void find_idle(const char *state_dir, const char *dir, struct idle *ret, struct strv *left)
{
    drop_deltas(state_dir, dir, left);
    autodir DIR *d = opendir(dir);
    *ret = (struct idle){.lock = -1};
    for (struct dirent *e; (e = dir_next(d));) {
        struct idle one;
        if (*e->d_name == '.' || !lock_idle(&one, dir, e->d_name))
            continue;
        bool better = base_tree_is_finished(e->d_name) &&
                      (!ret->name || clock_is_later(&one.used, &ret->used));
        struct idle worse = better ? *ret : one;
        if (better)
            *ret = one;
        if (worse.name)
            move_aside(state_dir, dir, worse.name, left);
        idle_done(&worse);
    }
}

/* Turns an idle base tree into the draft. Nobody finds it under its old name any more. */
static bool reuse_idle(struct base_tree_draft *d, const char *dir, struct idle *idle)
{
    autofree char *path = mem_printf("%s/%s", dir, idle->name);
    if (rename(path, d->dir) < 0)
        return false;
    d->from = steal_ptr(idle->name);
    d->lock = steal_fd(&idle->lock);
    return true;
}

/* Makes a subvolume if the file system has them: workspaces can then be snapshots of it, and it is
 * quick to delete. */
static int make_empty(struct base_tree_draft *d, struct err *err)
{
    autofree char *tree = mem_printf("%s/tree", d->dir), *lock = mem_printf("%s/lock", d->dir);
    if (dirs_make(d->dir, err) || dirs_lock(lock, &d->lock, err))
        return -1;
    return btrfs_make(tree, NULL) == 0 ? 0 : dirs_make_open(tree, err);
}

/* An older base tree may be a plain folder on a file system that has subvolumes; we do not reuse
 * it. */
static bool can_reuse(const char *dir, const char *name)
{
    autofree char *tree = mem_printf("%s/%s/tree", dir, name);
    return btrfs_is(tree) || !btrfs_fits(dir);
}

int base_tree_begin(struct base_tree_draft *d, const char *state_dir, const char *commit,
                    bool fresh, struct strv *ret_left, struct err *err)
{
    autofree char *dir = mem_printf("%s/pristine", state_dir);
    autofree char *tmp = mem_printf("%s/tmp", state_dir);
    autofree char *turn = mem_printf("%s/lock", state_dir);
    own_cleanup(idle_done) struct idle idle = {.lock = -1};
    autoclose int fd =
        -1; /* otherwise two processes that begin at once would take each other's draft for idle */
    *d = (struct base_tree_draft)BASE_TREE_DRAFT_INIT;
    if (dirs_make(dir, err) || dirs_make(tmp, err) || dirs_lock(turn, &fd, err))
        return -1;
    find_idle(state_dir, dir, &idle, ret_left);
    if (idle.name && (fresh || !can_reuse(dir, idle.name))) {
        move_aside(state_dir, dir, idle.name, ret_left);
        idle_done(&idle);
    }
    d->dir = mem_printf("%s/%s.%d" UNFINISHED, dir, commit, (int)getpid());
    d->commit = mem_str(commit);
    if (idle.name && reuse_idle(d, dir, &idle))
        return 0;
    if (make_empty(d, err) == 0)
        return 0;
    base_tree_draft_done(d);
    return -1;
}

/* Locks a base tree that a delta can use as its lower layer; others may use it too. */
static bool lock_for_delta(struct idle *i, const char *dir, const char *name)
{
    autofree char *lock = mem_printf("%s/%s/lock", dir, name);
    autofree char *below = mem_printf("%s/%s/below", dir, name);
    autofree char *index = mem_printf("%s/%s/index", dir, name);
    struct stat st;
    *i = (struct idle){.lock = -1};
    if (!base_tree_is_finished(name) || access(below, F_OK) == 0 || lstat(index, &st) < 0 ||
        access(lock, F_OK) < 0 || dirs_try_share_lock(lock, &i->lock, NULL) || i->lock < 0)
        return false;
    i->name = mem_str(name);
    i->used = st.st_mtim;
    return true;
}

/* Finds the newest of them. */
static void find_for_delta(const char *dir, struct idle *ret)
{
    autodir DIR *d = opendir(dir);
    *ret = (struct idle){.lock = -1};
    for (struct dirent *e; (e = dir_next(d));) {
        struct idle one;
        if (*e->d_name == '.' || !lock_for_delta(&one, dir, e->d_name))
            continue;
        bool better = !ret->name || clock_is_later(&one.used, &ret->used);
        struct idle worse = better ? *ret : one;
        if (better)
            *ret = one;
        idle_done(&worse);
    }
}

/* The delta's lock is a hard link to the lock of the base tree below it: whoever uses the delta
 * also keeps the lower one. */
static int make_delta(const struct base_tree_draft *d, struct err *err)
{
    autofree char *tree = mem_printf("%s/tree", d->dir), *below = mem_printf("%s/below", d->dir);
    autofree char *lock = mem_printf("%s/lock", d->dir),
                  *its = get_sibling_path(d->dir, d->from, "lock");
    if (dirs_make(d->dir, err) || dirs_make_open(tree, err) ||
        file_create(below, d->from, strlen(d->from), err))
        return -1;
    return link(its, lock) < 0 ? err_sys(err, "make '%s'", lock) : 0;
}

bool base_tree_begin_delta(struct base_tree_draft *d, const char *state_dir, const char *commit)
{
    autofree char *dir = mem_printf("%s/pristine", state_dir);
    autofree char *turn = mem_printf("%s/lock", state_dir);
    own_cleanup(idle_done) struct idle shared = {.lock = -1};
    autoclose int fd = -1;
    *d = (struct base_tree_draft)BASE_TREE_DRAFT_INIT;
    if (dirs_lock(turn, &fd, NULL))
        return false;
    find_for_delta(dir, &shared);
    if (!shared.name)
        return false;
    *d = (struct base_tree_draft){
        .dir = mem_printf("%s/%s.%d.delta" UNFINISHED, dir, commit, (int)getpid()),
        .commit = mem_str(commit),
        .from = steal_ptr(shared.name),
        .is_delta = true,
        .lock = steal_fd(&shared.lock)};
    if (dirs_remove(d->dir, NULL) == 0 && make_delta(d, NULL) == 0)
        return true;
    base_tree_draft_done(d);
    return false;
}

/* Overrides settings for the user's work tree, and settings that split the index or change its form
 * so that we cannot read it. */
void base_tree_fill(const struct base_tree_draft *d, const struct git_place *at, struct strv *argv,
                    struct strv *env)
{
    autofree char *tree = mem_printf("%s/tree", d->dir), *index = mem_printf("%s/index", d->dir);
    struct git_place here = *at;
    here.work_tree = tree;
    here.index = index;
    git_prepare(&here, argv, env);
    strv_pushl(argv, "-c", "core.sparseCheckout=false", "-c", "core.splitIndex=false", "-c",
               "core.untrackedCache=false", "-c", "index.version=2", "read-tree", "-m", "-u", NULL);
    if (d->from)
        strv_push(argv, d->from);
    strv_push(argv, d->commit);
}

/* git distrusts entries as new as the index itself, because a file may have changed in the same
 * moment. Nothing has changed here, so we set the index one second ahead. */
static int date_index_ahead(const struct base_tree_draft *d, struct err *err)
{
    autofree char *index = mem_printf("%s/index", d->dir);
    struct timespec times[2];
    if (clock_gettime(CLOCK_REALTIME, &times[0]) < 0)
        return err_sys(err, "tell the time");
    times[0].tv_sec++;
    times[1] = times[0];
    return utimensat(AT_FDCWD, index, times, 0) < 0 ? err_sys(err, "set the time of '%s'", index)
                                                    : 0;
}

int base_tree_finish(struct base_tree_draft *d, bool *ret_ours, struct strv *ret_left,
                     struct err *err)
{
    autofree char *slash = mem_str(d->dir);
    *strrchr(slash, '/') = '\0';
    autofree char *to = mem_printf("%s/%s", slash, d->commit);
    if (date_index_ahead(d, err))
        return -1;
    *ret_ours = rename(d->dir, to) == 0;
    if (!*ret_ours) {
        if (errno != ENOTEMPTY && errno != EEXIST)
            return err_sys(err, "make '%s'", to);
        strv_push(ret_left, d->dir);
    }
    free(steal_ptr(d->dir)); /* the folder is no longer ours to delete */
    base_tree_draft_done(d);
    return 0;
}

static int run_git(const struct base_tree_draft *d, const struct git_place *at, struct err *err)
{
    autostrv struct strv argv = {0}, env = {0};
    autobuf struct buf out = BUF_INIT, errors = BUF_INIT;
    int status;
    base_tree_fill(d, at, &argv, &env);
    if (proc_capture(argv.v, env.v, OUTPUT_MAX, &out, &errors, &status, err))
        return -1;
    return status ? err_set(err, ERR_ENV, "cannot write the files of %s: %s", d->commit, errors.s)
                  : 0;
}

static int make_once(const struct git_place *at, const char *state_dir, const char *commit,
                     bool fresh, bool *ret_ours, struct strv *left, struct err *err)
{
    autodraft struct base_tree_draft d = BASE_TREE_DRAFT_INIT;
    return base_tree_begin(&d, state_dir, commit, fresh, left, err) || run_git(&d, at, err) ||
                   base_tree_finish(&d, ret_ours, left, err)
               ? -1
               : 0;
}

/* If an existing base tree could not be updated, we make one from nothing. */
static int make_or_retry(struct base_tree *p, const struct git_place *at, const char *state_dir,
                         const char *commit, struct strv *left, struct err *err)
{
    bool there = false, ours = false;
    struct err first = {0};
    if (base_tree_take(p, at, state_dir, commit, false, &there, err))
        return -1;
    for (int fresh = 0; !there && fresh < 2; fresh++) {
        if (make_once(at, state_dir, commit, fresh, &ours, left, fresh ? err : &first) == 0 &&
            base_tree_take(p, at, state_dir, commit, fresh && ours, &there, err))
            return -1;
    }
    if (there)
        return 0;
    return err->msg[0] ? -1
                       : err_set(err, ERR_ENV, "the files of %s cannot be shared: %s", commit,
                                 first.msg[0] ? first.msg : "it contains more than files");
}

int base_tree_make(struct base_tree *p, const struct git_place *at, const char *state_dir,
                   const char *commit, struct err *err)
{
    autostrv struct strv left = {0};
    int rc = make_or_retry(p, at, state_dir, commit, &left, err);
    for (size_t i = 0; i < left.n; i++)
        (void)dirs_remove(left.v[i], NULL); /* `clean` removes what we cannot delete */
    return rc;
}
