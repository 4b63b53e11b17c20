/*
 * Random indexes and random merges: our results without git must be those of git. The numbers are
 * pseudo-random and always the same, so that a failure is reproducible.
 */
#include "base/mem.h"
#include "git/batch.h"
#include "git/git.h"
#include "git/merge/merge.h"
#include "git/merge/merge_plain_trees.h"
#include "git/tree/index_tree.h"
#include "git/tree/tree_diff.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"
#include "sys/proc/capture.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "random.h"

enum { ROUNDS = 40, BLOBS = 4 };

static char folder[] = "/tmp/test_git_objects.XXXXXX";

struct repo {
    char *dir, *index;
    struct git_place at;
    char *blobs[BLOBS];
    size_t id_len;
};

#define good(call) assert_true((call) == 0 || (print_message("%s\n", err.msg), 0))

static char *run(struct repo *r, const struct buf *in, ...)
{
    autostrv struct strv args = {0};
    autobuf struct buf out = BUF_INIT, errout = BUF_INIT;
    struct err err = {0};
    int status = 0;
    va_list ap;
    va_start(ap, in);
    for (const char *s; (s = va_arg(ap, const char *));)
        strv_push(&args, s);
    va_end(ap);
    struct git_place at = r->at;
    at.batch = NULL;
    good(git_feed(&at, &args, in, &out, &errout, &status, &err));
    if (status)
        fail_msg("git %s: %s", args.v[0], errout.s);
    out.s[strcspn(out.s, "\n")] = '\0';
    return buf_steal(&out);
}

static void repo_open(struct repo *r, const char *format)
{
    autofree char *option = mem_printf("--object-format=%s", format);
    char *const argv[] = {"git", "init", "--quiet", "--bare", option, NULL, NULL};
    char *full[7];
    struct buf out = BUF_INIT, errout = BUF_INIT, none = BUF_INIT;
    struct err err = {0};
    int status;
    memcpy(full, argv, sizeof(argv));
    r->dir = mem_printf("%s/%s", folder, format);
    r->index = mem_printf("%s/index", r->dir);
    full[5] = r->dir;
    good(proc_capture(full, NULL, 1 << 20, &out, &errout, &status, &err));
    assert_int_equal(status, 0);
    r->at = (struct git_place){.git_dir = r->dir, .work_tree = folder, .index = r->index};
    r->at.batch = git_batch_new(r->dir);
    for (unsigned i = 0; i < BLOBS; i++) {
        buf_cut(&none, 0);
        buf_addf(&none, "content %u\n", i);
        r->blobs[i] = run(r, &none, "hash-object", "-w", "--stdin", NULL);
    }
    r->id_len = strlen(r->blobs[0]);
    buf_done(&none);
    buf_done(&out);
    buf_done(&errout);
}

static void repo_close(struct repo *r)
{
    git_batch_free(r->at.batch);
    for (unsigned i = 0; i < BLOBS; i++)
        free(r->blobs[i]);
    free(r->dir);
    free(r->index);
}

/* Names that sort differently as files and as folders. */
static void add_path(struct buf *out)
{
    static const char *const names[] = {"a", "a.b", "a-b", "a0", "ab", "b", "z\xc3\xa9", "c"};
    for (unsigned depth = pick(4);; depth--) {
        buf_addstr(out, names[pick(8)]);
        if (!depth)
            return;
        buf_addch(out, '/');
    }
}

/* Puts some paths into the index, or takes some out of it. */
static void change(struct repo *r, unsigned n, bool removes)
{
    static const char *const modes[] = {"100644", "100644", "100755", "120000"};
    autobuf struct buf lines = BUF_INIT;
    while (n--) {
        bool gone = removes && pick(6) == 0;
        const char *blob = r->blobs[pick(BLOBS)];
        buf_addf(&lines, "%s %s\t", gone ? "0" : modes[pick(4)], blob);
        add_path(&lines);
        buf_addch(&lines, '\n');
    }
    free(run(r, &lines, "update-index", "--replace", "--index-info", NULL));
}

static void check_tree(struct repo *r)
{
    autobuf struct buf tree = BUF_INIT, none = BUF_INIT;
    struct err err = {0};
    bool done = false;
    good(index_tree(r->at.batch, r->index, r->id_len, &tree, &done, &err));
    assert_true(done);
    autofree char *expected = run(r, &none, "write-tree", NULL); /* leaves its trees in the index */
    assert_string_equal(tree.s, expected);
}

static void test_index(void **state)
{
    struct repo *r = *state;
    for (int round = 0; round < ROUNDS; round++) {
        autobuf struct buf none = BUF_INIT;
        free(run(r, &none, "update-index", "--index-version", round % 2 ? "4" : "2", NULL));
        change(r, 1 + pick(round % 5 ? 4 : 60), true);
        check_tree(r);
    }
}

static char *commit_index(struct repo *r, const char *parent)
{
    autobuf struct buf none = BUF_INIT, id = BUF_INIT;
    struct err err = {0};
    const char *const parents[] = {parent, NULL};
    autofree char *tree = run(r, &none, "write-tree", NULL);
    good(git_commit_tree(&r->at, tree, parents, "message", &id, &err));
    return buf_steal(&id);
}

/* A child of the base with a few changes. */
static char *child(struct repo *r, const char *base, bool removes)
{
    autobuf struct buf none = BUF_INIT;
    free(run(r, &none, "read-tree", base, NULL));
    change(r, 1 + pick(3), removes);
    return commit_index(r, base);
}

static void test_merge(void **state)
{
    struct repo *r = *state;
    struct err err = {0};
    unsigned plain_ones = 0;
    for (int round = 0; round < ROUNDS; round++) {
        automerge struct merge_result by_git = MERGE_RESULT_INIT;
        autobuf struct buf tree = BUF_INIT, none = BUF_INIT;
        bool plain = false;
        free(run(r, &none, "read-tree", "--empty", NULL));
        change(r, 5 + pick(40), false);
        autofree char *base = commit_index(r, NULL);
        autofree char *ours = child(r, base, round % 2), *theirs = child(r, base, round % 3 == 0);
        good(merge_plain_trees(r->at.batch, base, ours, theirs, &tree, &plain, &err));
        good(merge_trees(&r->at, ours, theirs, &by_git, &err));
        if (!plain)
            continue;
        plain_ones++;
        assert_true(by_git.clean);
        assert_string_equal(tree.s, by_git.tree.s);
    }
    assert_in_range(plain_ones, ROUNDS / 8, ROUNDS - 1); /* both kinds were seen */
}

/* A commit of "MODE PATH" with the first blob for all, NULL at the end. */
static char *commit_of(struct repo *r, const char *parent, ...)
{
    autobuf struct buf lines = BUF_INIT, none = BUF_INIT;
    va_list ap;
    va_start(ap, parent);
    for (const char *s; (s = va_arg(ap, const char *));)
        buf_addf(&lines, "%.*s %s\t%s\n", (int)strcspn(s, " "), s, r->blobs[0], strchr(s, ' ') + 1);
    va_end(ap);
    free(run(r, &none, "read-tree", "--empty", NULL));
    free(run(r, &lines, "update-index", "--index-info", NULL));
    return commit_index(r, parent);
}

static void check_left_to_git(struct repo *r, const char *base, const char *ours,
                              const char *theirs)
{
    autobuf struct buf tree = BUF_INIT;
    struct err err = {0};
    bool plain = true;
    good(merge_plain_trees(r->at.batch, base, ours, theirs, &tree, &plain, &err));
    assert_false(plain);
    assert_int_equal(tree.len, 0);
}

/* The folder that they are moved out of is the same on both sides: git says that they conflict. */
static void test_merge_moves(void **state)
{
    struct repo *r = *state;
    autofree char *base = commit_of(r, NULL, "100644 a/moves", "100755 a/stays", NULL);
    autofree char *there = commit_of(r, base, "100755 a/stays", "100644 b/moves", NULL);
    autofree char *elsewhere = commit_of(r, base, "100755 a/stays", "100644 c/moves", NULL);
    autofree char *gone = commit_of(r, base, "100755 a/stays", "120000 d", NULL);
    check_left_to_git(r, base, there, elsewhere);
    check_left_to_git(r, base, there, gone);
    check_left_to_git(r, base, gone, there);
}

/* git's index has no such modes, but trees have: those of git's first years, or of other programs.
 */
static char *commit_old(struct repo *r, const char *parent, const char *added)
{
    autobuf struct buf lines = BUF_INIT, id = BUF_INIT;
    struct err err = {0};
    const char *const parents[] = {parent, NULL};
    buf_addf(&lines, "100664 blob %s\told\n", r->blobs[0]);
    if (added)
        buf_addf(&lines, "100644 blob %s\t%s\n", r->blobs[1], added);
    autofree char *tree = run(r, &lines, "mktree", NULL);
    good(git_commit_tree(&r->at, tree, parents, "message", &id, &err));
    return buf_steal(&id);
}

static void test_merge_old_modes(void **state)
{
    struct repo *r = *state;
    autofree char *base = commit_old(r, NULL, NULL), *ours = commit_old(r, base, "x"),
                  *theirs = commit_old(r, base, "y");
    check_left_to_git(r, base, ours, theirs);
}

static bool is_there(struct repo *r, const char *object)
{
    autostrv struct strv args = {0};
    struct err err = {0};
    int status = -1;
    strv_pushl(&args, "cat-file", "-e", object, NULL);
    good(git_try(&r->at, &args, NULL, NULL, &status, &err));
    return status == 0;
}

static void remove_object(struct repo *r, const char *id)
{
    autofree char *path = mem_printf("%s/objects/%.2s/%s", r->dir, id, id + 2);
    assert_int_equal(unlink(path), 0);
}

/* An agent's `git gc --prune=now` removes an object that no ref reaches yet: git makes it again.
 */
static void check_pruned(struct repo *r, const char *tree)
{
    autobuf struct buf again = BUF_INIT, none = BUF_INIT;
    struct err err = {0};
    bool done = true;
    remove_object(r, tree);
    good(index_tree(r->at.batch, r->index, r->id_len, &again, &done, &err));
    assert_false(done);
    assert_int_equal(again.len, 0);
    autofree char *made = run(r, &none, "write-tree", NULL); /* from now on the index has its id */
    assert_string_equal(made, tree);
    assert_true(is_there(r, tree));
}

static void test_pruned(void **state)
{
    struct repo *r = *state;
    autobuf struct buf tree = BUF_INIT, none = BUF_INIT;
    struct err err = {0};
    bool done = false;
    free(run(r, &none, "read-tree", "--empty", NULL));
    change(r, 30, false);
    good(index_tree(r->at.batch, r->index, r->id_len, &tree, &done, &err));
    check_pruned(r, tree.s);
    check_pruned(r, tree.s);
}

/* So can be the content of a file, while others are still being added: git says so. */
static void test_pruned_blob(void **state)
{
    struct repo *r = *state;
    enum { MANY = 600 };
    autobuf struct buf text = BUF_INIT, lines = BUF_INIT, none = BUF_INIT, tree = BUF_INIT;
    struct err err = {0};
    bool done = false;
    buf_addstr(&text, "soon gone\n");
    autofree char *blob = run(r, &text, "hash-object", "-w", "--stdin", NULL);
    for (int i = 0; i < MANY; i++)
        buf_addf(&lines, "100644 %s\tfolder/%d\n", i == MANY - 1 ? blob : r->blobs[0], i);
    free(run(r, &none, "read-tree", "--empty", NULL));
    free(run(r, &lines, "update-index", "--index-info", NULL));
    good(index_tree(r->at.batch, r->index, r->id_len, &tree, &done, &err));
    assert_true(done);
    remove_object(r, blob);
    buf_cut(&tree, 0);
    good(index_tree(r->at.batch, r->index, r->id_len, &tree, &done, &err));
    assert_false(done);
    assert_int_equal(tree.len, 0);
    free(run(r, &text, "hash-object", "-w", "--stdin", NULL));
}

/* A git whose hash-object takes nothing: newer ones refuse trees that write-tree makes, such as one
 * with a symlink .gitattributes. */
static void make_picky_git(const char *dir)
{
    static const char script[] = "#!/bin/sh\n"
                                 "case \" $* \" in *' hash-object '*) exit 1 ;; esac\n"
                                 "PATH=${PATH#*:} exec git \"$@\"\n";
    autofree char *path = mem_printf("%s/git", dir);
    struct err err = {0};
    good(dirs_make(dir, &err));
    (void)unlink(path);
    good(file_create(path, script, strlen(script), &err));
    assert_int_equal(chmod(path, 0755), 0);
}

static void test_refused(void **state)
{
    struct repo *r = *state;
    autofree char *base = commit_of(r, NULL, "100644 a", NULL);
    autofree char *ours = commit_of(r, base, "100644 a", "100644 b", NULL);
    autofree char *theirs = commit_of(r, base, "100644 a", "100644 c", NULL);
    autofree char *dir = mem_printf("%s/picky", folder), *path = mem_str(getenv("PATH"));
    autofree char *picky = mem_printf("%s:%s", dir, path);
    autobuf struct buf tree = BUF_INIT;
    struct git_batch *batch = r->at.batch;
    struct err err = {0};
    bool done = true;
    make_picky_git(dir);
    setenv("PATH", picky, 1);
    r->at.batch = git_batch_new(r->dir);
    check_left_to_git(r, base, ours, theirs);
    autofree char *commit = commit_of(r, base, "100644 x", NULL);
    assert_true(is_there(r, commit));
    change(r, 1, false);
    good(index_tree(r->at.batch, r->index, r->id_len, &tree, &done, &err));
    assert_false(done);
    git_batch_free(r->at.batch);
    r->at.batch = batch;
    setenv("PATH", path, 1);
}

/* The same paths, though not in the same order: git sorts files and folders as one. */
static void test_paths(void **state)
{
    struct repo *r = *state;
    struct err err = {0};
    for (int round = 0; round < ROUNDS / 2; round++) {
        autobuf struct buf none = BUF_INIT, ours = BUF_INIT, by_git = BUF_INIT;
        free(run(r, &none, "read-tree", "--empty", NULL));
        change(r, 5 + pick(40), false);
        autofree char *base = commit_index(r, NULL), *after = child(r, base, true);
        good(tree_diff(r->at.batch, base, after, &ours, &err));
        good(git_call(&r->at, &by_git, &err, "diff-tree", "-r", "-z", "--no-renames", "--name-only",
                      base, after, NULL));
        assert_int_equal(ours.len, by_git.len);
        for (const char *p = ours.s; p < ours.s + ours.len; p += strlen(p) + 1)
            assert_non_null(memmem(by_git.s, by_git.len, p, strlen(p) + 1));
    }
}

/* Compares an object that we wrote ourselves with git's view of it. */
static void test_commit(void **state)
{
    struct repo *r = *state;
    autobuf struct buf none = BUF_INIT, text = BUF_INIT;
    struct err err = {0};
    autofree char *commit = commit_index(r, NULL);
    autofree char *who = run(r, &none, "log", "-1", "--format=%an|%ae|%cn|%s", commit, NULL);
    assert_string_equal(who, "A U Thor|author@example.com|C O Mitter|message");
    good(git_batch_read(r->at.batch, commit, &text, &err));
    assert_non_null(strstr(text.s, "\n\nmessage\n"));
    free(run(r, &none, "fsck", "--strict", NULL));
}

static void test_kinds_left_to_git(void **state)
{
    struct repo *r = *state;
    autobuf struct buf none = BUF_INIT, tree = BUF_INIT;
    struct err err = {0};
    bool done = true;
    free(run(r, &none, "update-index", "--index-version", "4", NULL));
    good(index_tree(r->at.batch, r->index, r->id_len, &tree, &done, &err));
    assert_true(done);
    free(run(r, &none, "update-index", "--split-index", NULL));
    good(index_tree(r->at.batch, r->index, r->id_len, &tree, &done, &err));
    assert_false(done);
    free(run(r, &none, "update-index", "--no-split-index", NULL));
    autofree char *conflict = mem_printf("100644 %s 2\tconflict\n", r->blobs[0]);
    buf_addstr(&none, conflict);
    free(run(r, &none, "update-index", "--index-info", NULL));
    good(index_tree(r->at.batch, r->index, r->id_len, &tree, &done, &err));
    assert_false(done);
    free(run(r, &none, "update-index", "--force-remove", "conflict", NULL));
}

static int set_up(void **state)
{
    static struct repo repo;
    const char *format = *state;
    (void)signal(SIGPIPE, SIG_IGN);
    setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
    setenv("GIT_CONFIG_SYSTEM", "/dev/null", 1);
    setenv("GIT_AUTHOR_NAME", "A U Thor", 1);
    setenv("GIT_AUTHOR_EMAIL", "author@example.com", 1);
    setenv("GIT_COMMITTER_NAME", "C O Mitter", 1);
    setenv("GIT_COMMITTER_EMAIL", "committer@example.com", 1);
    random_state = 1;
    repo_open(&repo, format);
    *state = &repo;
    return 0;
}

static int set_up_sha1(void **state)
{
    if (!mkdtemp(folder))
        return -1;
    *state = "sha1";
    return set_up(state);
}

static int set_up_sha256(void **state)
{
    *state = "sha256";
    return set_up(state);
}

static int tear_down(void **state)
{
    repo_close(*state);
    return 0;
}

static int tear_down_all(void **state)
{
    struct err err = {0};
    repo_close(*state);
    return dirs_remove(folder, &err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_index),       cmocka_unit_test(test_merge),
        cmocka_unit_test(test_merge_moves), cmocka_unit_test(test_merge_old_modes),
        cmocka_unit_test(test_pruned),      cmocka_unit_test(test_pruned_blob),
        cmocka_unit_test(test_refused),     cmocka_unit_test(test_paths),
        cmocka_unit_test(test_commit),      cmocka_unit_test(test_kinds_left_to_git),
    };
    int failed = cmocka_run_group_tests_name("sha1", tests, set_up_sha1, tear_down);
    failed += cmocka_run_group_tests_name("sha256", tests, set_up_sha256, tear_down_all);
    return failed;
}
