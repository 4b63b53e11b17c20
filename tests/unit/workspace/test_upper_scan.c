#include "workspace/overlay/upper_scan.h"

#include "base/mem.h"
#include "sys/contain/overlayfs.h"
#include "workspace/overlay/base_tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"
#include "shell.h"

/* In the folder: the repository, its base tree, and an overlay at `at`. */
struct world {
    char *dir;
    struct base_tree base_tree;
    bool works; /* overlays do here */
};

static char *run(const struct world *w, const char *line)
{
    return shell(w->dir, line);
}

static char *in(const struct world *w, const char *name)
{
    return mem_printf("%s/%s", w->dir, name);
}

static int mount_it(struct world *w, struct err *err)
{
    autofree char *git = in(w, "repo/.git"), *state = in(w, "repo/.git/anabranch");
    autofree char *commit = run(w, "git -C repo rev-parse HEAD");
    struct git_place at = {.git_dir = git};
    commit[strcspn(commit, "\n")] = '\0';
    if (base_tree_make(&w->base_tree, &at, state, commit, err))
        return -1;
    autofree char *lower = base_tree_tree(&w->base_tree), *upper = in(w, "upper");
    autofree char *work = in(w, "work"), *show = in(w, "at");
    struct overlay o = {.lower = lower, .upper = upper, .work = work, .at = show};
    return overlay_mount(&o, err);
}

static int make_world(void **state)
{
    struct world *w = mem_alloc(sizeof(*w));
    void *dir = NULL;
    struct err err = {0};
    *state = w;
    *w = (struct world){.base_tree = BASE_TREE_INIT};
    if (make_folder(&dir))
        return -1;
    w->dir = dir;
    free(run(w, "mkdir upper work at && git init -q repo && cd repo && mkdir -p d/e deep/er && "
                "echo 1 >a && echo 2 >d/e/b && echo 3 >d/e/c && echo 4 >d/z && echo 5 >d.c && "
                "ln -s a link && echo 6 >deep/er/x && git add . && git commit -q -m 1"));
    w->works = overlay_enter(&err) == 0 && mount_it(w, &err) == 0;
    return 0;
}

static int end_world(void **state)
{
    struct world *w = *state;
    autofree char *at = in(w, "at");
    void *dir = w->dir;
    int rc = overlay_unmount(at, NULL);
    base_tree_done(&w->base_tree);
    rc |= remove_folder(&dir);
    free(w);
    return rc;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_sorted(struct buf *out, const struct strv *list)
{
    if (list->n)
        qsort(list->v, list->n, sizeof(*list->v), compare);
    for (size_t i = 0; i < list->n; i++)
        buf_addf(out, "%s ", list->v[i]);
}

/* Returns the found paths, each with a blank after it, and "|" before untracked ones; "?": scan the
 * tree. */
static char *scan(const struct world *w)
{
    autofree char *tree = run(w, "git -C repo rev-parse HEAD^{tree}");
    autofree char *index = base_tree_index(&w->base_tree), *upper = in(w, "upper");
    autobuf struct buf out = BUF_INIT;
    autoworkscan struct work_scan found = {0};
    tree[strcspn(tree, "\n")] = '\0';
    autotracked struct tracked tracked = TRACKED_INIT;
    if (!tracked_open(&tracked, index, tree) || !upper_scan_open(&found, upper, &tracked))
        return mem_str("?");
    add_sorted(&out, &found.changed);
    buf_addstr(&out, "| ");
    add_sorted(&out, &found.untracked);
    return buf_steal(&out);
}

static const struct {
    const char *what, *line, *found;
} cases[] = {
    {"nothing", "true", "| "},
    {"reading", "cat a d/e/b && ls -R .", "| "},
    {"changed", "echo 2 >a", "a | "},
    {"touched", "touch d/e/b", "d/e/b | "},
    {"mode", "chmod +x d/z", "d/z | "},
    {"new", "echo n >d/e/n", "| d/e/n "},
    {"new, and gone", "echo n >n && rm n", "| "},
    {"symlink", "ln -sf b link", "link | "},
    {"deleted", "rm d/e/b a", "a d/e/b | "},
    {"deleted folder", "rm -r d", "d/ | "},
    {"deleted inner folder", "rm -r d/e", "d/e/ | "},
    {"new folder", "mkdir -p n/m && echo n >n/m/o && echo n >n/p", "| n/ "},
    {"empty folder", "mkdir n", "| n/ "},
    {"folder made again", "rm -r d/e && mkdir d/e && echo 2 >d/e/b && echo n >d/e/n",
     "d/e/b d/e/c | d/e/n "},
    {"emptied", "rm d/e/b d/e/c", "d/e/b d/e/c | "},
    {"file to folder", "rm a && mkdir a && echo n >a/n", "a | "},
    {"folder to file", "rm -r d && echo n >d", "d/ | d "},
    {"folder to symlink", "rm -r d && ln -s deep d", "d/ | d "},
    {"file renamed", "mv a b", "a | b "},
    {"new folder renamed", "mkdir n && echo n >n/o && mv n m", "| m/ "},
    {"folder renamed", "mv d moved", "?"},
    {"a repository", "git init -q inner", "| inner/ "},
    {".git", "mkdir d/.git && echo x >d/.git/x", "| d/.git/ "},
    {"odd names", "echo n >'d/a b' && echo n >$(printf 'x\\ny')", "| d/a b x\ny "},
    {"many", "for i in $(seq 70); do echo >n$i; done", "?"},
    {"many in one folder", "mkdir n && for i in $(seq 70); do echo >n/$i; done", "| n/ "},
};

static void each_case(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct world *w = *state;
        if (!w->works)
            skip();
        autofree char *line = mem_printf("cd at && %s", cases[i].line);
        free(run(w, line));
        autofree char *found = scan(w);
        if (strcmp(found, cases[i].found) != 0)
            fail_msg("%s: found '%s', not '%s'", cases[i].what, found, cases[i].found);
        assert_int_equal(end_world(state), 0);
        assert_int_equal(make_world(state), 0);
    }
}

/* The scan cannot compare with a tree that is not the index's. */
static void another_tree(void **state)
{
    struct world *w = *state;
    if (!w->works)
        skip();
    free(run(w, "cd repo && echo 7 >a && git commit -qam 2"));
    autofree char *found = scan(w);
    assert_string_equal(found, "?");
}

static void what_is_below_stays(void **state)
{
    struct world *w = *state;
    if (!w->works)
        skip();
    autofree char *line =
        mem_printf("cd at && echo 2 >a && rm -r d && cat '%s/tree/a' && ls '%s/tree/d'",
                   w->base_tree.dir, w->base_tree.dir);
    autofree char *out = run(w, line);
    assert_string_equal(out, "1\ne\nz\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_case, make_world, end_world),
        cmocka_unit_test_setup_teardown(another_tree, make_world, end_world),
        cmocka_unit_test_setup_teardown(what_is_below_stays, make_world, end_world),
    };
    return cmocka_run_group_tests_name("upper_scan", tests, NULL, NULL);
}
