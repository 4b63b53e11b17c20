/* Staging without git gives the same result as `git add -A`, over random changes. */
#include "workspace/commit/stage.h"

#include "base/mem.h"
#include "git/batch.h"
#include "git/git.h"
#include "workspace/fill/memory_fill.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"
#include "shell.h"

enum { ROUNDS = 40 };

static uint64_t seed;

static unsigned any(unsigned n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % n;
}

static void run(void **state, const char *line)
{
    free(shell(*state, line));
}

/* The repository */

#define BEGIN                                                                                      \
    "mkdir -p d/e 'x y' && echo 1 >a && echo 2 >d/b && echo 3 >d/e/c && echo 4 >'x y/z' && "       \
    ": >empty && ln -s a link && echo 5 >run && chmod +x run && "

static int make_repository(void **state, const char *format)
{
    if (make_folder(state))
        return -1;
    autofree char *line = mem_printf(
        "git init -q --object-format=%s . && " BEGIN "git add . && git commit -q -m 1", format);
    run(state, line);
    return 0;
}

static int make_sha1(void **state)
{
    return make_repository(state, "sha1");
}

static int make_sha256(void **state)
{
    return make_repository(state, "sha256");
}

/* The repository's own checkout stands for a workspace. */
struct place {
    struct git_repo repo;
    struct workspace ws;
    char *tree;
};

static void place_open(struct place *p, void **state)
{
    struct err err = {0};
    assert_int_equal(git_open(&p->repo, *state, &err), 0);
    assert_non_null(p->repo.root);
    p->ws = (struct workspace){.path = p->repo.root,
                               .admin = p->repo.git_dir,
                               .common = p->repo.common,
                               .batch = git_batch_new(p->repo.git_dir)};
    p->tree = shell(*state, "git rev-parse HEAD^{tree}");
    p->tree[strcspn(p->tree, "\n")] = '\0';
}

static void place_close(struct place *p)
{
    git_batch_free(p->ws.batch);
    git_close(&p->repo);
    free(p->tree);
}

static bool stage(const struct place *p, const char *index, const char *excludes)
{
    struct stage_job job = {
        .ws = &p->ws, .core = &p->repo.core, .tree = p->tree, .excludes = excludes, .index = index};
    autobuf struct buf tree = BUF_INIT;
    struct err err = {0};
    bool done = false;
    assert_int_equal(stage_plainly(&job, &tree, &done, &err), 0);
    assert_int_equal(tree.len, 0);
    return done;
}

/* The tree of what is staged, with a newline behind it; NULL: it is left to git. */
static char *stage_tree(const struct place *p, const struct work_scan *scan, const char *excludes)
{
    struct stage_job job = {
        .ws = &p->ws, .core = &p->repo.core, .tree = p->tree, .excludes = excludes, .scan = scan};
    autobuf struct buf tree = BUF_INIT;
    struct err err = {0};
    bool done = false;
    assert_int_equal(stage_plainly(&job, &tree, &done, &err), 0);
    assert_int_equal(done, tree.len > 0);
    buf_addch(&tree, '\n');
    return done ? buf_steal(&tree) : NULL;
}

/* Random changes */

static const char *any_name(void)
{
    static const char *const names[] = {"a",     "b",   "c",     "d/b", "d/e/c", "d/n",
                                        "d/e/n", "n",   "n/m/o", "n1",  "x y/z", "x y/n",
                                        "link",  "run", "empty", "k"};
    return names[any(ARRAY_LEN(names))];
}

/* One command of the shell; what it cannot do is not done. */
static void any_change(struct buf *out)
{
    const char *name = any_name();
    switch (any(11)) {
    case 0:
    case 1:
    case 2:
        buf_addf(out, "mkdir -p \"$(dirname '%s')\"; echo %u >'%s'\n", name, any(3), name);
        break;
    case 3:
        buf_addf(out, "rm -f '%s'\n", name);
        break;
    case 4:
        buf_addf(out, "chmod %s '%s'\n", any(2) ? "+x" : "-x", name);
        break;
    case 5:
        buf_addf(out, "ln -sf elsewhere%u '%s'\n", any(3), name);
        break;
    case 6:
        buf_addf(out, "mv '%s' '%s'\n", name, any_name());
        break;
    case 7:
        buf_addf(out, "touch '%s'\n", name);
        break;
    case 8: {
        static const char *const folders[] = {"d", "x y", "n", "d/e"};
        const char *folder = folders[any(4)];
        buf_addf(out, "rm -rf '%s'; echo %u >'%s'\n", folder, any(3), folder);
        break;
    }
    case 9:
        buf_addf(out, "rm -f '%s'; mkdir -p '%s'/m; echo %u >'%s'/m/o\n", name, name, any(3), name);
        break;
    default:
        buf_addf(out, "rm -rf %s\n", any(3) ? any(2) ? "d/e" : "n" : "d");
        break;
    }
}

/* Patterns of few letters, so that they often match. */
static void any_patterns(struct buf *out)
{
    static const char *const parts[] = {"a", "b", "n",     "d",   "e", "c", "*", "?", "**",  "/",
                                        "/", "/", "[a-n]", "\\n", " ", "k", "o", "m", "x y", "1"};
    for (unsigned lines = any(4); lines; lines--) {
        if (!any(3))
            buf_addch(out, '!');
        for (unsigned n = 1 + any(4); n; n--)
            buf_addstr(out, parts[any(ARRAY_LEN(parts))]);
        buf_addstr(out, any(5) ? "\n" : "\r\n");
    }
}

static void write_patterns(struct buf *out, const char *path)
{
    autobuf struct buf patterns = BUF_INIT;
    any_patterns(&patterns);
    buf_addf(out, "mkdir -p \"$(dirname '%s')\"; cat >'%s' <<'END'\n%sEND\n", path, path,
             patterns.s);
}

static void change_all(void **state)
{
    static const char *const places[] = {".gitignore", "d/.gitignore", "n/.gitignore",
                                         ".git/info/exclude", ".git/own"};
    autobuf struct buf script = BUF_INIT;
    for (unsigned n = any(6); n; n--)
        any_change(&script);
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        if (any(2))
            write_patterns(&script, places[i]);
    }
    buf_addstr(&script, "true\n");
    autofree char *line = mem_printf("{ %s } 2>/dev/null", script.s);
    run(state, line);
}

/* Returns the entries of an index, and git's status between it and the work tree. */
static char *look(void **state, const char *index)
{
    autofree char *line = mem_printf(
        "export GIT_INDEX_FILE=.git/%s; git ls-files -s && git write-tree && "
        "git -c core.excludesFile=.git/own status --porcelain=v1 && git fsck --cache 2>&1",
        index);
    return shell(*state, line);
}

static void compare_index(void **state, const struct place *p, uint64_t began)
{
    autofree char *here = mem_printf("%s/here", p->repo.git_dir);
    autofree char *own = mem_printf("%s/own", p->repo.git_dir);
    if (!stage(p, here, own))
        return;
    autofree char *ours = look(state, "here"), *gits = look(state, "there");
    if (strcmp(ours, gits) != 0)
        fail_msg("seed %llu:\n%s\nbut git:\n%s", (unsigned long long)began, ours, gits);
}

/* Compares our tree with git's, and checks that each of its objects exists and is valid. */
static void compare_tree(void **state, const char *ours, uint64_t began)
{
    autofree char *gits = shell(*state, "GIT_INDEX_FILE=.git/there git write-tree");
    autofree char *fsck = mem_printf("git fsck --strict %s", ours);
    if (strcmp(ours, gits) != 0) {
        autofree char *line =
            mem_printf("git diff-tree -r %.*s %s", (int)strlen(gits) - 1, gits, ours);
        autofree char *diff = shell(*state, line);
        fail_msg("seed %llu: git's and ours:\n%s", (unsigned long long)began, diff);
    }
    run(state, fsck);
}

static unsigned compare(void **state)
{
    struct place p = {0};
    unsigned done = 0;
    place_open(&p, state);
    autofree char *own = mem_printf("%s/own", p.repo.git_dir);
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint64_t began = seed;
        run(state,
            "rm -f .git/here .git/there .git/own .git/info/exclude && git reset -q --hard && "
            "git clean -q -ffdx");
        change_all(state);
        autofree char *tree = stage_tree(&p, NULL, own);
        if (!tree)
            continue;
        done++;
        run(state, "cp -p .git/index .git/there && "
                   "GIT_INDEX_FILE=.git/there git -c core.excludesFile=.git/own add -A");
        compare_tree(state, tree, began);
        compare_index(state, &p, began);
    }
    place_close(&p);
    return done;
}

static void test_as_git_does(void **state)
{
    seed = 20261115;
    unsigned done = compare(state);
    assert_true(done > ROUNDS / 2); /* or it would have been left to git all the time */
}

/* Work left to git */

static void test_left_to_git(void **state)
{
    static const char *const changes[] = {
        "echo '*.t text' >.gitattributes",
        "mkdir -p d/q && echo '* -text' >d/q/.gitattributes",
        "mkdir .git/info 2>/dev/null; echo '* eol=crlf' >.git/info/attributes",
        "git init -q nested && echo 1 >nested/x",
        "echo 1 >staged && git add staged",
        "rm a && git init -q a && echo 1 >a/b",
        "mkfifo pipe",
        "echo 1 >'git~1'",
    };
    for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
        struct place p = {0};
        run(state, "rm -rf .git/info nested a && git reset -q --hard && git clean -q -ffdx");
        place_open(&p, state);
        run(state, changes[i]);
        autofree char *index = mem_printf("%s/here", p.repo.git_dir);
        autofree char *tree = stage_tree(&p, NULL, NULL);
        if (stage(&p, index, NULL) || tree)
            fail_msg("was not left to git: %s", changes[i]);
        assert_int_not_equal(access(index, F_OK), 0);
        place_close(&p);
    }
}

/* An index has all entries of a folder that goes. */
static void test_folder_in_index(void **state)
{
    struct place p = {0};
    place_open(&p, state);
    autofree char *index = mem_printf("%s/here", p.repo.git_dir);
    run(state, "rm -r d");
    assert_false(stage(&p, index, NULL));
    assert_int_not_equal(access(index, F_OK), 0);
    place_close(&p);
}

/* The caller's knowledge */

static void test_given_scan(void **state)
{
    struct place p = {0};
    struct work_scan scan = {.no_attributes = true};
    place_open(&p, state);
    run(state, "echo 7 >a && echo 8 >new && rm -r d && mkdir d && echo 9 >d/k && echo 6 >run");
    strv_pushl(&scan.changed, "a", "d/", NULL);
    strv_pushl(&scan.untracked, "new", "d/k", NULL);
    autofree char *tree = stage_tree(&p, &scan, NULL);
    autofree char *gits = shell(*state, "git add a new d && git write-tree");
    assert_non_null(tree);
    assert_string_equal(tree, gits);
    scan.no_attributes = false;
    autofree char *unsure = stage_tree(&p, &scan, NULL);
    assert_null(unsure);
    work_scan_close(&scan);
    place_close(&p);
}

/* A scan that is wrong does no harm. */
static void test_wrong_scan(void **state)
{
    static const char *const wrong[] = {"nowhere", "nowhere/", "a/", "d"};
    struct place p = {0};
    place_open(&p, state);
    run(state, "rm -r d && echo 1 >d");
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct work_scan scan = {.no_attributes = true};
        strv_push(&scan.changed, wrong[i]);
        autofree char *tree = stage_tree(&p, &scan, NULL);
        if (tree)
            fail_msg("was not left to git: %s", wrong[i]);
        work_scan_close(&scan);
    }
    place_close(&p);
}

/* Trees as an old program wrote them are written anew as git does. */
static void test_old_modes(void **state)
{
    struct place p = {0};
    run(state, "tree=$(printf '100664 blob %s\\ta\\n' $(git rev-parse HEAD:a) | git mktree) && "
               "git reset -q --hard $(git commit-tree -m odd $tree) && echo 2 >b && "
               "git cat-file tree HEAD^{tree} | grep -q 100664");
    place_open(&p, state);
    autofree char *tree = stage_tree(&p, NULL, NULL);
    assert_null(tree);
    place_close(&p);
}

static void test_settings(void **state)
{
    static const char *const settings[] = {"core.autocrlf input",   "core.autocrlf true",
                                           "core.fileMode false",   "core.eol crlf",
                                           "core.ignoreCase true",  "core.sharedRepository group",
                                           "core.attributesFile x", "core.fsync all"};
    for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
        struct place p = {0};
        autofree char *set = mem_printf("git config %s", settings[i]);
        autofree char *unset =
            mem_printf("git config --unset %.*s", (int)strcspn(settings[i], " "), settings[i]);
        run(state, set);
        place_open(&p, state);
        assert_false(p.repo.core.plain);
        place_close(&p);
        run(state, unset);
    }
    struct place p = {0};
    place_open(&p, state);
    assert_true(p.repo.core.plain);
    place_close(&p);
}

/* Filling */

static void test_mould(void **state)
{
    struct place p = {0};
    struct memory_fill mould;
    struct err err = {0};
    place_open(&p, state);
    run(state, "git worktree add -q --detach .git/w1 && git worktree add -q --no-checkout --detach "
               ".git/w2");
    struct workspace first = {.path = mem_printf("%s/w1", p.repo.git_dir),
                              .admin = mem_printf("%s/worktrees/w1", p.repo.git_dir)};
    struct workspace next = {.path = mem_printf("%s/w2", p.repo.git_dir),
                             .admin = mem_printf("%s/worktrees/w2", p.repo.git_dir)};
    assert_true(memory_fill_take(&mould, &first, strlen(p.tree)));
    assert_int_equal(memory_fill_fill(&mould, &next, &err), 0);
    autofree char *said =
        shell(*state, "cd .git/w2 && git diff-files && git diff-index --cached HEAD && "
                      "git status --porcelain && git fsck --cache 2>&1 && "
                      "diff -r --no-dereference -x .git ../w1 . && "
                      "find . -name .git -o -printf '%p %m\\n' | sort >../l2 && cd ../w1 && "
                      "find . -name .git -o -printf '%p %m\\n' | sort | diff - ../l2 && echo same");
    assert_string_equal(said, "same\n");
    memory_fill_done(&mould);
    workspace_done(&first);
    workspace_done(&next);
    place_close(&p);
}

static void test_no_mould(void **state)
{
    struct place p = {0};
    struct memory_fill mould;
    run(state, "i=0; while [ $i -lt 300 ]; do echo $i >f$i; i=$((i+1)); done; git add . && "
               "git commit -q -m 2");
    place_open(&p, state);
    assert_false(memory_fill_take(&mould, &p.ws, strlen(p.tree)));
    place_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_as_git_does, make_sha1, remove_folder),
        cmocka_unit_test_setup_teardown(test_as_git_does, make_sha256, remove_folder),
        cmocka_unit_test_setup_teardown(test_left_to_git, make_sha1, remove_folder),
        cmocka_unit_test_setup_teardown(test_folder_in_index, make_sha1, remove_folder),
        cmocka_unit_test_setup_teardown(test_given_scan, make_sha1, remove_folder),
        cmocka_unit_test_setup_teardown(test_given_scan, make_sha256, remove_folder),
        cmocka_unit_test_setup_teardown(test_wrong_scan, make_sha1, remove_folder),
        cmocka_unit_test_setup_teardown(test_old_modes, make_sha1, remove_folder),
        cmocka_unit_test_setup_teardown(test_settings, make_sha1, remove_folder),
        cmocka_unit_test_setup_teardown(test_mould, make_sha1, remove_folder),
        cmocka_unit_test_setup_teardown(test_mould, make_sha256, remove_folder),
        cmocka_unit_test_setup_teardown(test_no_mould, make_sha1, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
