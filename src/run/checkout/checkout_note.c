#include "run/checkout/checkout_note.h"

#include "base/mem.h"
#include "git/merge/merge.h"
#include "git/state_paths.h"
#include "run/checkout/base_lock.h"
#include "run/checkout/checkout_lock.h"
#include "run/checkout/checkout_move.h"
#include "run/checkout/checkout_move_now.h"
#include "run/checkout/repair/checkout_follow.h"
#include "run/checkout/repair/checkout_repair.h"
#include "run/checkout/repair/checkout_take_back.h"
#include "sys/fs/file.h"
#include "sys/guard/proc_table.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

enum { NOTE_MAX = 4 * PATH_MAX };

static char *note_path(const struct git_repo *repo)
{
    return state_file_path(repo->common, "forwarding");
}

/* Each field ends with a NUL: a path may contain any other character. */
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
    (void)unlink(file); /* a note that stays does no harm: its move is done */
}

/* The fields of a note. */
struct note {
    struct buf text;
    const char *ref, *from, *to, *path;
};

static bool read_note(const struct git_repo *repo, struct note *note)
{
    autofree char *file = note_path(repo);
    const char **const fields[] = {&note->ref, &note->from, &note->to, &note->path};
    if (access(file, F_OK) < 0 || file_read(file, NOTE_MAX, &note->text, NULL))
        return false;
    const char *p = note->text.s, *end = p + note->text.len;
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        if (p >= end)
            return false;
        *fields[i] = p;
        p += strlen(p) + 1;
    }
    return p == end;
}

static struct git_place git_place_of(const struct git_repo *there)
{
    return (struct git_place){
        .git_dir = there->git_dir, .common = there->common, .work_tree = there->root};
}

/* Finds the commit to which we move the branch. If others have put commits on the branch since,
 * that is a merge. *ret_to stays empty if the two do not merge, or if someone took the branch
 * back. */
static int find_target(const struct git_repo *there, const struct note *note, const char *now,
                       struct buf *ret_to, bool *ret_done, struct err *err)
{
    struct git_place at = git_place_of(there);
    automerge struct merge_result m = MERGE_RESULT_INIT;
    bool ahead = false;
    *ret_done = true;
    if (git_is_ancestor(&at, note->from, now, &ahead, err) ||
        git_is_ancestor(&at, note->to, now, ret_done, err))
        return -1;
    if (strcmp(now, note->from) == 0)
        buf_addstr(ret_to, note->to);
    if (ret_to->len || !ahead || *ret_done)
        return 0;
    if (merge_trees(&at, now, note->to, &m, err))
        return -1;
    const char *const parents[] = {now, note->to, NULL};
    return m.clean ? git_commit_tree(&at, m.tree.s, parents,
                                     "Finish a landing that was interrupted\n", ret_to, err)
                   : 0;
}

/* The outcome. The next holder of the base lock does what we cannot do now. */
enum outcome { NOTHING_TO_DO, MOVED, NOT_NOW };

/* Finishes a move that wrote only some files. We hold the checkout's lock, so no other git can
 * change the checkout. */
static int finish_locked_move(const struct checkout_lock *l, const struct git_repo *there,
                              const struct note *note, const char *now, enum outcome *ret,
                              struct err *err)
{
    struct git_place at = {.common = there->common};
    struct forward_move move = {
        .ref = note->ref, .from = now, .why = "anabranch: finish a landing"};
    autofree char *state = state_path(there->common);
    autofree char *index = mem_printf("%s/index", l->aside);
    autobuf struct buf to = BUF_INIT;
    autostrv struct strv env = {0};
    bool repaired = false, shown = false, moved = false, done;
    int status;
    git_environment(&env);
    if (find_target(there, note, now, &to, &done, err))
        return -1;
    if (!to.len && !done)
        return 0;
    move.to = to.len ? to.s : note->to;
    if ((to.len && checkout_index_shows_move(there, now, to.s, &shown, err)) ||
        checkout_lock_prepare(l, there->common, now, &env, err) ||
        checkout_repair(there, index, state, to.len ? now : note->from, move.to, to.len > 0,
                        &repaired, err) ||
        (to.len && (shown || repaired) &&
         checkout_move_now(l, &at, &move, &env, NULL, &status, &moved, err)))
        return -1;
    *ret = moved ? MOVED : NOTHING_TO_DO;
    return repaired && !moved ? checkout_lock_install(l, err) : 0;
}

/* True if the git of a dead engine still runs: it has this variable in its environment. Gits of
 * the user, who may read a log in another window, change nothing while we hold the lock. */
static bool dead_engines_git_runs(const struct git_repo *there)
{
    autofree char *mark = mem_printf("GIT_WORK_TREE=%s", there->root);
    const char *const marks[] = {mark, NULL};
    autoprocs struct proc_table found = {0};
    proc_table_marked(&found, marks);
    return found.all.n > 0;
}

static int finish_move_in(const struct base_lock *turn, const struct git_repo *there,
                          const struct note *note, const char *now, enum outcome *ret,
                          struct err *err)
{
    autofree char *aside = checkout_move_aside(there);
    autolock struct checkout_lock lock = {0};
    bool taken;
    if (!there->root)
        return 0;
    base_lock_clear(turn, there, note->ref);
    *ret = NOT_NOW; /* the git of the dead engine may still be writing */
    if (checkout_lock_take(&lock, there->git_dir, there->root, aside, &taken, err))
        return -1;
    if (!taken)
        return 0;
    if (!checkout_lock_await_quiet(&lock) && dead_engines_git_runs(there)) {
        if (lock.was_left)
            checkout_lock_leave(&lock);
        return 0;
    }
    *ret = NOTHING_TO_DO;
    return checkout_move_is_here(there, note->ref)
               ? finish_locked_move(&lock, there, note, now, ret, err)
               : checkout_take_back(&lock, there->common, note->from, note->to, err);
}

int checkout_note_mend(const struct base_lock *turn, const struct git_repo *repo,
                       struct buf *ret_from, struct err *err)
{
    struct git_place at = {.git_dir = repo->common};
    autobuf struct buf now = BUF_INIT;
    struct note note = {.text = BUF_INIT};
    struct git_repo there = {0};
    enum outcome outcome = NOTHING_TO_DO;
    int rc = 0;
    if (turn->fd < 0)
        return 0;
    if (read_note(repo, &note) && git_resolve(&at, note.ref, &now, NULL) == 0 &&
        git_open(&there, note.path, NULL) == 0)
        rc = finish_move_in(turn, &there, &note, now.s, &outcome, err);
    if (outcome == MOVED)
        buf_add(ret_from, now.s, now.len);
    if (note.text.len && outcome != NOT_NOW)
        checkout_note_forget(repo);
    if (outcome != NOT_NOW && there.git_dir)
        checkout_lock_clear(there.git_dir);
    if (outcome != NOT_NOW || !there.git_dir || strcmp(there.git_dir, repo->git_dir) != 0)
        checkout_lock_clear(repo->git_dir);
    git_close(&there);
    buf_done(&note.text);
    return rc ? err_wrap(err, "finish an interrupted move of the base") : 0;
}
