#include "git/tree/work_scan.h"

#include "base/mem.h"
#include "git/format/index.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"
#include "sys/proc/capture.h"

#include <fcntl.h>
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
#include "sys/own_fd.h"

/* All files are old, so that none of them is racy. */
#define AGE                                                                                        \
    "find . -name .git -prune -o -exec touch -h -t 200101010000 {} + && "                          \
    "git update-index -q --refresh"

static void run(void **state, const char *line)
{
    free(shell(*state, line));
}

static int fill_repository(void **state, const char *format)
{
    autofree char *line = mem_printf(
        "git init -q --object-format=%s . && mkdir -p d/e && echo 1 >a && "
        "echo 2 >d/e/b && echo 3 >d/e/bc && echo 4 >d/z && echo 5 >d.c && : >empty && "
        "ln -s a link && echo 6 >x && chmod +x x && git add . && git commit -q -m 1 && " AGE,
        format);
    run(state, line);
    return 0;
}

static int make_repository(void **state)
{
    return make_folder(state) ? -1 : fill_repository(state, "sha1");
}

/* On tmpfs the size of a folder tells the number of its names (sys/fs/dir_names.h). */
static int make_memory_repository(void **state)
{
    return make_memory_folder(state) ? -1 : fill_repository(state, "sha1");
}

static int make_sha256_repository(void **state)
{
    return make_folder(state) ? -1 : fill_repository(state, "sha256");
}

static char *index_of(void **state)
{
    return mem_printf("%s/.git/index", (const char *)*state);
}

static void write_index(void **state, const char *bytes, size_t len)
{
    autofree char *path = index_of(state);
    autoclose int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, len), len);
}

/* Returns the found paths, each with a blank after it, and "|" before untracked ones; NULL: ask
 * git.
 */
static char *scan(void **state)
{
    autofree char *tree = shell(*state, "git rev-parse HEAD^{tree}"), *index = index_of(state);
    autobuf struct buf out = BUF_INIT;
    autoworkscan struct work_scan found;
    tree[strcspn(tree, "\n")] = '\0';
    if (!work_scan_open(&found, *state, index, tree))
        return NULL;
    for (size_t i = 0; i < found.changed.n; i++)
        buf_addf(&out, "%s ", found.changed.v[i]);
    buf_addch(&out, '|');
    for (size_t i = 0; i < found.untracked.n; i++)
        buf_addf(&out, " %s", found.untracked.v[i]);
    return buf_steal(&out);
}

static void assert_found(void **state, const char *expected)
{
    autofree char *found = scan(state);
    assert_string_equal(found ? found : "git is to be asked", expected);
}

/* After a line of shell. */
static void assert_left_to_git(void **state, const char *line)
{
    assert_found(state, "|");
    run(state, line);
    autofree char *found = scan(state);
    if (found)
        fail_msg("after '%s' it found: %s", line, found);
    run(state, "git read-tree --empty && git reset -q --hard && git clean -q -fd && " AGE);
}

/* Found files */

static void in_every_version_nothing_is_found(void **state)
{
    assert_found(state, "|");
    run(state, "git update-index --index-version 4");
    assert_found(state, "|");
    run(state, "git update-index --index-version 3");
    assert_found(state, "|");
}

static void every_kind_of_change_is_found(void **state)
{
    run(state, "echo longer >a && rm d/e/b && chmod -x x && touch d/z && ln -sf d.c link && "
               "rm empty && mkdir empty");
    assert_found(state, "a d/e/b d/z empty link x |");
}

static void same_size_and_time_do_not_hide_it(void **state)
{
    run(state, "printf '7\\n' >a && touch -t 200101010000 a");
    assert_found(state, "a |");
}

static void a_folder_is_named_once(void **state)
{
    run(state, "rm -r d/e");
    assert_found(state, "d/e/ |");
    run(state, "echo file >d/e");
    assert_found(state, "d/e/ | d/e");
    run(state, "rm -r d && ln -s . d");
    assert_found(state, "d/ | d");
}

static void what_nobody_tracks_is_found(void **state)
{
    run(state, "mkdir -p new/deep d/none && echo 1 >new/deep/file && echo 2 >d/e/ba && "
               "ln -s d d- && echo 3 >.gitx");
    assert_found(state, "| d/e/ba d/none/ .gitx d- new/");
}

/* One gone and one new: as many names as there were. */
static void a_rename_is_found(void **state)
{
    run(state, "mv d/e/b d/e/b2");
    assert_found(state, "d/e/b | d/e/b2");
    run(state, "mv d/e/b2 d/e/c");
    assert_found(state, "d/e/b | d/e/c");
}

static void a_repository_around_tracked_files_is_found(void **state)
{
    run(state, "git init -q d && mkdir d/e/.git");
    assert_found(state, "| d/e/.git/ d/.git/");
}

/* Races */

static void put32(char *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (char)(value >> (24 - 8 * i));
}

/* Makes the index say of a path what its stat data is now, as if git had read the file just before
 * it was changed. Returns its time. */
static struct timespec forge(void **state, const char *path, bool smudge)
{
    autofree char *index = index_of(state), *file = mem_printf("%s/%s", (char *)*state, path);
    autogitindex struct git_index x;
    struct git_index_entry e;
    struct stat st;
    assert_int_equal(stat(file, &st), 0);
    assert_int_equal(git_index_open(&x, index, 40, NULL), 0);
    while (git_index_next(&x, &e) && strcmp(e.path, path) != 0)
        ;
    char *at = x.bytes.s + ((const char *)e.id - x.bytes.s) - 40;
    put32(at, (uint32_t)st.st_ctim.tv_sec);
    put32(at + 4, (uint32_t)st.st_ctim.tv_nsec);
    put32(at + 8, (uint32_t)st.st_mtim.tv_sec);
    put32(at + 12, (uint32_t)st.st_mtim.tv_nsec);
    put32(at + 36, smudge ? 0 : (uint32_t)st.st_size);
    write_index(state, x.bytes.s, x.bytes.len);
    return st.st_mtim;
}

static void date_index(void **state, struct timespec time)
{
    autofree char *index = index_of(state);
    const struct timespec times[] = {time, time};
    assert_int_equal(utimensat(AT_FDCWD, index, times, 0), 0);
}

static void assert_git_says(void **state, const char *expected)
{
    autofree char *said = shell(*state, "GIT_OPTIONAL_LOCKS=0 git status --porcelain");
    assert_string_equal(said, expected);
}

/* As long as the index is no newer than the file, its stat data says nothing. */
static void what_was_changed_at_once_is_found(void **state)
{
    run(state, "printf '7\\n' >a");
    struct timespec time = forge(state, "a", false);
    date_index(state, time);
    assert_git_says(state, " M a\n");
    assert_found(state, "a |");
    time.tv_sec -= 2;
    date_index(state, time);
    assert_found(state, "a |");
    time.tv_sec += 4; /* now neither can know */
    date_index(state, time);
    assert_git_says(state, "");
    assert_found(state, "|");
}

static void without_fractions_the_second_counts(void **state)
{
    run(state, "printf '7\\n' >a && touch -t 201001010000 a");
    struct timespec time = forge(state, "a", false);
    assert_int_equal(time.tv_nsec, 0);
    time.tv_nsec = 500000000;
    date_index(state, time);
    assert_git_says(state, " M a\n");
    assert_found(state, "a |");
}

static void a_mode_counts_by_itself(void **state)
{
    run(state, "chmod -x x");
    (void)forge(state, "x", false);
    assert_git_says(state, " M x\n");
    assert_found(state, "x |");
}

/* git takes the size away from an entry that was changed at once when it writes the index. */
static void what_git_knows_to_be_changed_is_found(void **state)
{
    run(state, ": >a && touch -t 201001010000 a");
    (void)forge(state, "a", true);
    assert_git_says(state, " M a\n");
    assert_found(state, "a |");
}

/* Questions for git */

static void what_is_not_plain_is_left_to_git(void **state)
{
    assert_left_to_git(state, "echo 2 >a && git add a");
    assert_left_to_git(state, "echo 2 >a && git add a && git write-tree"); /* notes the tree */
    assert_left_to_git(state, "git rm -q --cached a");
    assert_left_to_git(state, "echo new >new && git add -N new");
    assert_left_to_git(state, "git update-index --assume-unchanged a");
    assert_left_to_git(state, "git update-index --skip-worktree a");
    assert_left_to_git(state, "git update-index --split-index");
    assert_left_to_git(state, "rm .git/index");
    assert_left_to_git(state, "id=$(git rev-parse HEAD:a) && rm .git/index && "
                              "printf '100644 %s 1\\ta\\n100644 %s 2\\ta\\n' $id $id |"
                              "git update-index --index-info");
}

static void a_submodule_is_left_to_git(void **state)
{
    run(state, "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),m && "
               "git commit -q -m module");
    assert_null(scan(state));
}

static void too_much_is_left_to_git(void **state)
{
    run(state, "for i in $(seq 64); do echo $i >new$i; done");
    autofree char *found = scan(state);
    assert_non_null(found);
    run(state, "echo longer >a");
    assert_null(scan(state));
}

static void what_cannot_be_read_is_left_to_git(void **state)
{
    if (geteuid() == 0)
        skip(); /* who may read everything */
    run(state, "chmod a-r d/e");
    assert_null(scan(state));
    run(state, "chmod a=r d/e");
    assert_null(scan(state));
    run(state, "chmod a=rwx d/e");
}

static void too_deep_a_folder_is_left_to_git(void **state)
{
    run(state, "d=. && for i in $(seq 250); do d=$d/d; done && mkdir -p $d && echo deep >$d/f && "
               "git add . && git commit -q -m deep");
    assert_null(scan(state));
}

/* Cut off anywhere, it is refused; altered, it is refused or read, and nothing else happens. */
static void a_damaged_index_does_no_harm(void **state)
{
    autofree char *path = index_of(state), *tree = shell(*state, "git rev-parse HEAD^{tree}");
    autobuf struct buf whole = BUF_INIT;
    tree[strcspn(tree, "\n")] = '\0';
    assert_int_equal(file_read(path, SIZE_MAX, &whole, NULL), 0);
    for (size_t i = 0; i < whole.len; i++) {
        autoworkscan struct work_scan cut, altered;
        write_index(state, whole.s, i);
        assert_false(work_scan_open(&cut, *state, path, tree));
        char was = whole.s[i];
        whole.s[i] = (char)~was;
        write_index(state, whole.s, whole.len);
        (void)work_scan_open(&altered, *state, path, tree);
        whole.s[i] = was;
    }
}

/* Two folders could be one, or one two: git does not take such an index. */
static void an_index_out_of_order_is_left_to_git(void **state)
{
    autofree char *path = index_of(state);
    autobuf struct buf bytes = BUF_INIT;
    assert_int_equal(file_read(path, SIZE_MAX, &bytes, NULL), 0);
    char *name = memmem(bytes.s, bytes.len, "d/e/b", sizeof("d/e/b"));
    assert_non_null(name);
    memcpy(name, "d/f/b", 5);
    write_index(state, bytes.s, bytes.len);
    assert_null(scan(state));
}

/* By its length a name goes on, by its end it does not. */
static void a_name_that_ends_too_early_is_left_to_git(void **state)
{
    autofree char *path = index_of(state);
    autobuf struct buf bytes = BUF_INIT;
    assert_int_equal(file_read(path, SIZE_MAX, &bytes, NULL), 0);
    char *name = memmem(bytes.s, bytes.len, "d/e/bc", sizeof("d/e/bc"));
    assert_non_null(name);
    name[1] = '\0';
    write_index(state, bytes.s, bytes.len);
    assert_null(scan(state));
}

/* git looks no longer for what is removed from the index; the folder is as it was. */
static void what_is_not_tracked_any_more_is_found(void **state)
{
    run(state, "git rm -q --cached d/e/b && git commit -q -m 2");
    assert_found(state, "| d/e/b");
}

#define odd(test)       cmocka_unit_test_setup_teardown(test, make_repository, remove_folder)
#define in_memory(test) cmocka_unit_test_setup_teardown(test, make_memory_repository, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        odd(in_every_version_nothing_is_found),
        cmocka_unit_test_setup_teardown(in_every_version_nothing_is_found, make_sha256_repository,
                                        remove_folder),
        odd(every_kind_of_change_is_found),
        odd(same_size_and_time_do_not_hide_it),
        odd(a_folder_is_named_once),
        odd(what_nobody_tracks_is_found),
        odd(a_rename_is_found),
        odd(a_repository_around_tracked_files_is_found),
        odd(what_was_changed_at_once_is_found),
        odd(without_fractions_the_second_counts),
        odd(a_mode_counts_by_itself),
        odd(what_git_knows_to_be_changed_is_found),
        odd(what_is_not_plain_is_left_to_git),
        odd(a_submodule_is_left_to_git),
        odd(too_much_is_left_to_git),
        odd(what_cannot_be_read_is_left_to_git),
        odd(too_deep_a_folder_is_left_to_git),
        odd(a_damaged_index_does_no_harm),
        odd(an_index_out_of_order_is_left_to_git),
        odd(a_name_that_ends_too_early_is_left_to_git),
        odd(what_is_not_tracked_any_more_is_found),
        in_memory(in_every_version_nothing_is_found),
        in_memory(every_kind_of_change_is_found),
        in_memory(a_folder_is_named_once),
        in_memory(what_nobody_tracks_is_found),
        in_memory(a_rename_is_found),
        in_memory(a_repository_around_tracked_files_is_found),
        in_memory(what_is_not_tracked_any_more_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
