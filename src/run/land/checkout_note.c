#include "run/land/checkout_note.h"

#include "base/map.h"
#include "base/mem.h"
#include "git/merge/merge.h"
#include "git/state_paths.h"
#include "run/land/checkout_move.h"
#include "run/land/checkout_move_now.h"
#include "run/land/checkout_repair.h"
#include "sys/fs/file.h"
#include "sys/guard/proc_table.h"
#include "workspace/commit/commit.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

enum { NOTE_MAX = 4 * PATH_MAX };

static char *note_path(const struct git_repo *repo)
{
    return state_file_path(repo->common, "forwarding");
}

/* Each with a NUL behind it: a path may have any other character. */
int checkout_note_note(const struct git_repo *repo, const char *ref, const char *from,
                       const char *to, const char *path, bool *ret_made, struct err *err)
{
    const char *const fields[] = {ref, from, to, path};
    autofree char *file = note_path(repo);
    autobuf struct buf text = BUF_INIT;
    struct err why = {0};
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        buf_add(&text, fields[i], strlen(fields[i]) + 1);
    *ret_made = file_create(file, text.s, text.len, &why) == 0;
    return *ret_made || why.errnum == EEXIST ? 0 : err_set(err, why.code, "%s", why.msg);
}

void checkout_note_forget(const struct git_repo *repo)
{
    autofree char *file = note_path(repo);
    (void)unlink(file); /* who finds it finds nothing to do */
}

/* What the note says. */
struct half {
    struct buf text;
    const char *ref, *from, *to, *path;
};

static bool read_note(const struct git_repo *repo, struct half *h)
{
    autofree char *file = note_path(repo);
    const char **const fields[] = {&h->ref, &h->from, &h->to, &h->path};
    if (access(file, F_OK) < 0 || file_read(file, NOTE_MAX, &h->text, NULL))
        return false;
    const char *p = h->text.s, *end = p + h->text.len;
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        if (p >= end)
            return false;
        *fields[i] = p;
        p += strlen(p) + 1;
    }
    return p == end;
}

static struct git_place place_of(const struct git_repo *there)
{
    return (struct git_place){
        .git_dir = there->git_dir, .common = there->common, .work_tree = there->root};
}

static void add_names(struct map *names, const struct buf *list, void *value)
{
    for (const char *s = list->s; s < list->s + list->len; s += strlen(s) + 1)
        (void)map_put(names, s, strlen(s), value);
}

/* Whether the index has something of the move: a path that it changes is there as it is to be. */
static int shows_it(const struct git_repo *there, const char *from, const char *to, bool *ret_yes,
                    struct err *err)
{
    struct git_place at = place_of(there);
    autobuf struct buf moved = BUF_INIT, other = BUF_INIT;
    automap struct map differs = {0};
    *ret_yes = false;
    if (commit_paths(&at, from, to, &moved, err) ||
        git_call(&at, &other, err, "diff-index", "--cached", "-z", "--name-only", "--no-renames",
                 "--no-ext-diff", to, "--", NULL))
        return -1;
    add_names(&differs, &other, &differs);
    for (const char *s = moved.s; !*ret_yes && s < moved.s + moved.len; s += strlen(s) + 1)
        *ret_yes = !map_get(&differs, s, strlen(s));
    return 0;
}

/* Where others have put something on the branch since, what was to be there as well: empty where
 * the two do not merge, or the branch was taken back. */
static int find_target(const struct git_repo *there, const struct half *h, const char *now,
                       struct buf *ret_to, bool *ret_done, struct err *err)
{
    struct git_place at = place_of(there);
    automerge struct merge_result m = MERGE_RESULT_INIT;
    bool ahead = false;
    *ret_done = true;
    if (git_is_ancestor(&at, h->from, now, &ahead, err) ||
        git_is_ancestor(&at, h->to, now, ret_done, err))
        return -1;
    if (strcmp(now, h->from) == 0)
        buf_addstr(ret_to, h->to);
    if (ret_to->len || !ahead || *ret_done)
        return 0;
    if (merge_trees(&at, now, h->to, &m, err))
        return -1;
    const char *const parents[] = {now, h->to, NULL};
    return m.clean ? git_commit_tree(&at, m.tree.s, parents,
                                     "Finish a landing that was interrupted\n", ret_to, err)
                   : 0;
}

/* How it ends. What cannot be done now is left to who has the turn next. */
enum end { NOTHING_TO_DO, MOVED, NOT_NOW };

/* The files are half there, and no git but ours can change the checkout. */
static int mend_locked(const struct checkout_lock *l, const struct git_repo *there,
                       const struct half *h, const char *now, enum end *ret, struct err *err)
{
    struct git_place at = {.common = there->common};
    struct forward_move move = {.ref = h->ref, .from = now, .why = "anabranch: finish a landing"};
    autofree char *state = state_path(there->common);
    autofree char *index = mem_printf("%s/index", l->aside);
    autobuf struct buf to = BUF_INIT;
    autostrv struct strv env = {0};
    bool some = false, shown = false, moved = false, done;
    int status;
    git_environment(&env);
    if (find_target(there, h, now, &to, &done, err))
        return -1;
    if (!to.len && !done)
        return 0;
    move.to = to.len ? to.s : h->to;
    if ((to.len && shows_it(there, now, to.s, &shown, err)) ||
        checkout_lock_prepare(l, there->common, now, &env, err) ||
        checkout_repair(there, index, state, to.len ? now : h->from, move.to, to.len > 0, &some,
                        err) ||
        (to.len && (shown || some) &&
         checkout_move_now(l, &at, &move, &env, NULL, &status, &moved, err)))
        return -1;
    *ret = moved ? MOVED : NOTHING_TO_DO;
    return some && !moved ? checkout_lock_install(l, err) : 0;
}

/* The git whose engine is dead has this in its environment. Those of the user, who may look at a
 * log in another window, change nothing as long as we have the lock. */
static bool still_writes(const struct git_repo *there)
{
    autofree char *mark = mem_printf("GIT_WORK_TREE=%s", there->root);
    const char *const marks[] = {mark, NULL};
    autoprocs struct proc_table found = {0};
    proc_table_marked(&found, marks);
    return found.all.n > 0;
}

static int mend_in(const struct base_lock *turn, const struct git_repo *there, const struct half *h,
                   const char *now, enum end *ret, struct err *err)
{
    autofree char *aside = checkout_move_aside(there);
    autolock struct checkout_lock lock = {0};
    bool taken;
    if (!there->root || !checkout_move_is_here(there, h->ref))
        return 0;
    base_lock_clear(turn, there, h->ref);
    *ret = NOT_NOW; /* the very git that was given up may still be writing */
    if (checkout_lock_take(&lock, there->git_dir, there->root, aside, &taken, err))
        return -1;
    if (!taken)
        return 0;
    if (!checkout_lock_await_quiet(&lock) && still_writes(there)) {
        if (lock.was_left)
            checkout_lock_leave(&lock);
        return 0;
    }
    *ret = NOTHING_TO_DO;
    return mend_locked(&lock, there, h, now, ret, err);
}

int checkout_note_mend(const struct base_lock *turn, const struct git_repo *repo,
                       struct buf *ret_from, struct err *err)
{
    struct git_place at = {.git_dir = repo->common};
    autobuf struct buf now = BUF_INIT;
    struct half h = {.text = BUF_INIT};
    struct git_repo there = {0};
    enum end end = NOTHING_TO_DO;
    int rc = 0;
    if (turn->fd < 0)
        return 0;
    if (read_note(repo, &h) && git_resolve(&at, h.ref, &now, NULL) == 0 &&
        git_open(&there, h.path, NULL) == 0)
        rc = mend_in(turn, &there, &h, now.s, &end, err);
    if (end == MOVED)
        buf_add(ret_from, now.s, now.len);
    if (h.text.len && end != NOT_NOW)
        checkout_note_forget(repo);
    if (end != NOT_NOW && there.git_dir)
        checkout_lock_clear(there.git_dir);
    if (end != NOT_NOW || !there.git_dir || strcmp(there.git_dir, repo->git_dir) != 0)
        checkout_lock_clear(repo->git_dir);
    git_close(&there);
    buf_done(&h.text);
    return rc ? err_wrap(err, "a move of the base that was killed") : 0;
}
