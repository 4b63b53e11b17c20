/* A ref that we hold while someone else wants to move it; and the distance between two commits. */
#include "base/mem.h"
#include "git/batch.h"
#include "git/git.h"
#include "git/merge/first_parents.h"
#include "sys/fs/dirs.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { COMMITS = 5, WAIT_STEPS = 3000 };

static char folder[] = "/tmp/test_git_hold.XXXXXX";

struct repo {
    char *git_dir, *lock;
    struct git_place at;
    char *line[COMMITS]; /* each the first parent of the next */
    char *merge;         /* of the last with the first */
};

#define good(call) assert_true((call) == 0 || (print_message("%s\n", err.msg), 0))

static char *make_commit(struct repo *r, const char *first, const char *second)
{
    const char *const parents[] = {first, second, NULL};
    autobuf struct buf tree = BUF_INIT, id = BUF_INIT;
    struct err err = {0};
    good(git_call(&r->at, &tree, &err, "mktree", NULL));
    good(git_commit_tree(&r->at, tree.s, parents, "one", &id, &err));
    return buf_steal(&id);
}

static int set_up(void **state)
{
    struct repo *r = mem_alloc(sizeof(*r));
    struct err err = {0};
    assert_non_null(mkdtemp(folder));
    r->git_dir = mem_printf("%s/.git", folder);
    r->lock = mem_printf("%s/refs/heads/side.lock", r->git_dir);
    r->at.git_dir = r->git_dir;
    assert_int_equal(setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1), 0);
    assert_int_equal(setenv("GIT_CONFIG_NOSYSTEM", "1", 1), 0);
    static const char *const who[] = {"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME",
                                      "GIT_COMMITTER_EMAIL"};
    for (size_t i = 0; i < ARRAY_LEN(who); i++)
        assert_int_equal(setenv(who[i], "x", 1), 0);
    good(git_call(&r->at, NULL, &err, "init", "-q", "-b", "main", NULL));
    for (int i = 0; i < COMMITS; i++)
        r->line[i] = make_commit(r, i ? r->line[i - 1] : NULL, NULL);
    r->merge = make_commit(r, r->line[COMMITS - 1], r->line[0]);
    r->at.batch = git_batch_new(r->git_dir);
    *state = r;
    return 0;
}

static int tear_down(void **state)
{
    struct repo *r = *state;
    struct err err = {0};
    git_batch_free(r->at.batch);
    good(dirs_remove(folder, &err));
    for (int i = 0; i < COMMITS; i++)
        free(r->line[i]);
    free(r->merge);
    free(r->git_dir);
    free(r->lock);
    free(r);
    return 0;
}

static void put(struct repo *r, const char *ref, const char *commit)
{
    struct err err = {0};
    struct git_place at = {.git_dir = r->git_dir};
    good(git_call(&at, NULL, &err, "update-ref", ref, commit, NULL));
}

static void assert_at(struct repo *r, const char *ref, const char *commit)
{
    autobuf struct buf now = BUF_INIT;
    struct err err = {0};
    good(git_call(&r->at, &now, &err, "rev-parse", ref, NULL));
    assert_string_equal(now.s, commit);
}

/* True if another git can move the ref at once. */
static bool others_move(struct repo *r, const char *to)
{
    struct git_place at = {.git_dir = r->git_dir};
    struct err err = {0};
    return git_call(&at, NULL, &err, "-c", "core.filesRefLockTimeout=0", "update-ref",
                    "refs/heads/side", to, NULL) == 0;
}

static void test_hold(void **state)
{
    struct repo *r = *state;
    struct err err = {0};
    bool held = false;
    put(r, "refs/heads/side", r->line[0]);
    good(git_batch_hold(r->at.batch, "refs/heads/side", r->line[3], &held, &err));
    assert_true(held);
    assert_false(others_move(r, r->line[1]));
    assert_at(r, "refs/heads/side", r->line[0]);
    git_batch_release(r->at.batch);
    assert_true(others_move(r, r->line[1]));
}

static void test_move_what_is_held(void **state)
{
    struct repo *r = *state;
    struct err err = {0};
    bool held = false, moved = false;
    put(r, "refs/heads/side", r->line[0]);
    put(r, "refs/heads/tip", r->line[1]);
    struct git_batch_move moves[] = {{"refs/heads/side", r->line[0], r->line[2]},
                                     {"refs/heads/tip", r->line[1], r->line[2]}};
    good(git_batch_hold(r->at.batch, "refs/heads/side", r->line[0], &held, &err));
    assert_true(held);
    good(git_batch_move_refs(r->at.batch, moves, 2, &moved, &err));
    assert_true(moved);
    assert_at(r, "refs/heads/side", r->line[2]);
    assert_at(r, "refs/heads/tip", r->line[2]);
    /* Neither is where it was: all or none, and the lock is gone as well. */
    put(r, "refs/heads/tip", r->line[3]);
    moves[0] = (struct git_batch_move){"refs/heads/side", r->line[2], r->line[3]};
    good(git_batch_hold(r->at.batch, "refs/heads/side", r->line[0], &held, &err));
    assert_true(held);
    good(git_batch_move_refs(r->at.batch, moves, 2, &moved, &err));
    assert_false(moved);
    assert_at(r, "refs/heads/side", r->line[2]);
    assert_true(others_move(r, r->line[0]));
}

static void test_lock_of_others(void **state)
{
    struct repo *r = *state;
    struct err err = {0};
    bool held = true, moved = false;
    struct git_batch *other = git_batch_new(r->git_dir);
    put(r, "refs/heads/side", r->line[0]);
    good(git_batch_hold(other, "refs/heads/side", r->line[0], &held, &err));
    assert_true(held);
    good(git_batch_hold(r->at.batch, "refs/heads/side", r->line[0], &held, &err));
    assert_false(held);
    git_batch_free(other); /* its end gives it up */
    good(git_batch_move_ref(r->at.batch, "refs/heads/side", r->line[0], r->line[1], &moved, &err));
    assert_true(moved);
}

/* We kill the holder: git sees the end of its input, and drops the lock by itself. */
static void test_killed(void **state)
{
    struct repo *r = *state;
    const struct timespec step = {.tv_nsec = 10 * 1000 * 1000};
    int said[2], steps = 0;
    char byte;
    put(r, "refs/heads/side", r->line[0]);
    assert_int_equal(pipe(said), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct git_batch *b = git_batch_new(r->git_dir);
        struct err err = {0};
        bool held = false;
        (void)close(said[0]);
        if (git_batch_hold(b, "refs/heads/side", r->line[1], &held, &err) || !held ||
            write(said[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            (void)pause();
    }
    (void)close(said[1]);
    assert_int_equal(read(said[0], &byte, 1), 1);
    (void)close(said[0]);
    assert_int_equal(access(r->lock, F_OK), 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    while (access(r->lock, F_OK) == 0 && steps++ < WAIT_STEPS)
        (void)nanosleep(&step, NULL);
    assert_true(steps < WAIT_STEPS);
    assert_at(r, "refs/heads/side", r->line[0]);
}

static void test_lineage(void **state)
{
    struct repo *r = *state;
    struct err err = {0};
    struct first_parents l;
    const char *const both[] = {r->line[0], r->line[2]}, *const last[] = {r->line[COMMITS - 1]};
    good(first_parents_find(r->at.batch, r->line[4], both, 2, &l, &err));
    assert_int_equal(l.found, 1);
    assert_true(l.straight);
    good(first_parents_find(r->at.batch, r->merge, both, 1, &l, &err));
    assert_int_equal(l.found, 0);
    assert_false(l.straight);
    good(first_parents_find(r->at.batch, r->line[4], last, 1, &l, &err));
    assert_int_equal(l.found, 0);
    good(first_parents_find(r->at.batch, r->line[3], last, 1, &l, &err));
    assert_int_equal(l.found, -1);
    assert_int_equal(first_parents_find(r->at.batch, "0000", last, 1, &l, &err), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hold),           cmocka_unit_test(test_move_what_is_held),
        cmocka_unit_test(test_lock_of_others), cmocka_unit_test(test_killed),
        cmocka_unit_test(test_lineage),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
