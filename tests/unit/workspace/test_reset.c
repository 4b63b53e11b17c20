/* A reset undoes the changes that a scan has found: then git and the next scan find none. */
#include "workspace/reset.h"

#include "base/mem.h"
#include "git/batch.h"

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

/* Files and index are older than all that a test does. */
#define AGE                                                                                        \
    "find . -path ./.git -prune -o -exec touch -h -t 202001010000 {} + && "                        \
    "git update-index -q --refresh && touch -t 202101010000 .git/index"

#define LIST "find . -path ./.git -prune -o -printf '%p %m %l %y\\n' | sort"

static void run(void **state, const char *line)
{
    free(shell(*state, line));
}

static int make_repository(void **state, const char *format)
{
    if (make_folder(state))
        return -1;
    autofree char *init = mem_printf("git init -q --object-format=%s .", format);
    run(state, init);
    run(state, "mkdir -p d/e && echo 1 >a && echo 2 >d/e/b && echo 3 >d/z && : >empty && "
               "ln -s a link && echo 4 >x && chmod +x x && echo '*.o' >.gitignore && "
               "git add . && git commit -q -m 1");
    run(state, AGE " && " LIST " >.git/list && cp -p .git/index .git/filled");
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

/* Scans and repairs; the resulting index is the repository's. */
static bool repair_index(void **state)
{
    autofree char *git = mem_printf("%s/.git", (char *)*state);
    autofree char *index = mem_printf("%s/filled", git), *to = mem_printf("%s/mended", git);
    autofree char *tree = shell(*state, "rm -f .git/mended; git rev-parse HEAD^{tree}");
    autoworkscan struct work_scan scan;
    tree[strcspn(tree, "\n")] = '\0';
    assert_true(work_scan_open(&scan, *state, index, tree));
    struct workspace_reset_job job = {.batch = git_batch_new(git),
                                      .work_tree = *state,
                                      .index = index,
                                      .id_len = strlen(tree),
                                      .to = to};
    bool done = workspace_reset(&job, &scan);
    git_batch_free(job.batch);
    assert_int_equal(access(to, F_OK) == 0, done);
    return done;
}

static void test_as_new(void **state)
{
    static const char *const changes[] = {
        "true",
        "echo longer >a && rm d/e/b && chmod -x x && ln -sf d link && chmod 600 d/z",
        "echo new >new && mkdir -p d/n/m && echo 1 >d/n/m/o && touch d/n/x.o y.o && mkdir none",
        "rm a && mkdir a && echo 1 >a/b && rm link && cp x link && rm x && ln -s a x",
        "printf '7\\n' >a && touch -t 202001010000 a && mv d/z d/y && echo 5 >empty",
        "git init -q nested && echo 1 >nested/f && ln -s /tmp away && mkfifo pipe",
    };
    for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
        run(state, changes[i]);
        if (!repair_index(state))
            fail_msg("was left to git: %s", changes[i]);
        autofree char *said =
            shell(*state, "mv .git/mended .git/index && " LIST " | diff .git/list - && "
                          "git diff-files --name-only && git diff-index --cached HEAD && "
                          "git status --porcelain --ignored && git fsck --cache 2>&1");
        assert_string_equal(said, "");
        run(state, AGE " && cp -p .git/index .git/filled");
    }
}

/* Not a file more than that is what its stat data says. */
static void test_index_is_new(void **state)
{
    run(state, "echo longer >a && rm d/e/b");
    assert_true(repair_index(state));
    run(state, "touch -d '1 minute' .git/mended && cp -p .git/mended .git/filled");
    autofree char *git = mem_printf("%s/.git/filled", (char *)*state);
    autofree char *tree = shell(*state, "git rev-parse HEAD^{tree}");
    autoworkscan struct work_scan scan;
    tree[strcspn(tree, "\n")] = '\0';
    assert_true(work_scan_open(&scan, *state, git, tree));
    assert_int_equal(scan.changed.n + scan.untracked.n, 0);
}

static void test_left_to_git(void **state)
{
    static const char *const changes[] = {
        "rm -r d",
        "rm -r d && ln -s /tmp d",
        "mkdir many && cd many && touch $(seq 300)",
        "p=deep; for i in $(seq 20); do p=$p/deep; done; mkdir -p $p",
    };
    for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
        run(state, changes[i]);
        if (repair_index(state))
            fail_msg("was not left to git: %s", changes[i]);
        run(state,
            "git reset -q --hard && git clean -q -ffdx && " AGE " && cp -p .git/index .git/filled");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_as_new, make_sha1, remove_folder),
        cmocka_unit_test_setup_teardown(test_as_new, make_sha256, remove_folder),
        cmocka_unit_test_setup_teardown(test_index_is_new, make_sha1, remove_folder),
        cmocka_unit_test_setup_teardown(test_left_to_git, make_sha1, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
