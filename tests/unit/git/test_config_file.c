#include "git/config/config_file.h"

#include "base/mem.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"

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

static const char text[] = "[core]\n\tbare = false\n\tEditor = vi\n[remote \"A.b\"]\n\turl = x\n"
                           "\tfetch = 1\n\tfetch = 2\n[alias]\n\tst\n";

static void read_text(struct git_settings *s, const char *from)
{
    assert_int_equal(git_settings_read(s, from, strlen(from), NULL), 0);
}

static void settings_are_read(void **state)
{
    (void)state;
    autosettings struct git_settings s = GIT_SETTINGS_INIT;
    struct err err = {0};
    read_text(&s, text);
    assert_string_equal(git_settings_get(&s, "core.editor").v->value, "vi");
    assert_string_equal(git_settings_get(&s, "alias.st").v->value, "true");
    struct git_values fetch = git_settings_get(&s, "remote.A.b.fetch");
    assert_int_equal(fetch.n, 2);
    assert_string_equal(fetch.v[0].value, "1");
    assert_string_equal(fetch.v[1].value, "2");
    assert_int_equal(git_settings_get(&s, "core.none").n, 0);
    autosettings struct git_settings bad = GIT_SETTINGS_INIT;
    assert_int_equal(git_settings_read(&bad, "[core", 5, &err), -1);
    assert_int_equal(err.code, ERR_INPUT);
}

static void note(void *ctx, const char *key, struct git_values from, struct git_values to)
{
    buf_addf(ctx, "%s:%zu:%zu ", key, from.n, to.n);
}

static void differences_are_found(void **state)
{
    (void)state;
    autosettings struct git_settings before = GIT_SETTINGS_INIT, now = GIT_SETTINGS_INIT;
    autobuf struct buf seen = BUF_INIT;
    read_text(&before, text);
    read_text(&now, "[core]\n\tbare = true\n\teditor = vi\n[remote \"A.b\"]\n\turl = x\n"
                    "\tfetch = 1\n[zoo]\n\tx = 1\n");
    git_settings_compare(&before, &before, note, &seen);
    assert_string_equal(seen.s, "");
    git_settings_compare(&before, &now, note, &seen);
    assert_string_equal(seen.s, "alias.st:1:0 core.bare:1:1 remote.A.b.fetch:2:1 zoo.x:0:1 ");
}

static void single_settings_are_put_back(void **state)
{
    autofree char *path = mem_printf("%s/config", (char *)*state);
    autosettings struct git_settings before = GIT_SETTINGS_INIT, after = GIT_SETTINGS_INIT;
    autobuf struct buf file = BUF_INIT;
    static const char changed[] = "[remote \"A.b\"]\n\tfetch = 9\n[core]\n\tevil = 1\n\tmine = 2\n";
    assert_int_equal(file_create(path, changed, strlen(changed), NULL), 0);
    read_text(&before, text);
    assert_int_equal(git_settings_put(path, "remote.A.b.fetch",
                                      git_settings_get(&before, "remote.A.b.fetch"), NULL),
                     0);
    assert_int_equal(git_settings_put(path, "core.evil", (struct git_values){0}, NULL), 0);
    assert_int_equal(git_settings_put(path, "core.none", (struct git_values){0}, NULL), 0);
    assert_int_equal(file_read(path, 4096, &file, NULL), 0);
    read_text(&after, file.s);
    assert_int_equal(git_settings_get(&after, "remote.A.b.fetch").n, 2);
    assert_int_equal(git_settings_get(&after, "core.evil").n, 0);
    assert_string_equal(git_settings_get(&after, "core.mine").v->value, "2");
}

/* In one step: whoever reads the file, or kills us, in between finds the one or the other. */
static void a_setting_is_put_back_in_its_place(void **state)
{
    autofree char *path = mem_printf("%s/config", (char *)*state);
    autosettings struct git_settings before = GIT_SETTINGS_INIT;
    autobuf struct buf file = BUF_INIT;
    static const char changed[] = "[user]\n\tname = Y\n\tname = Z\n[core]\n\tmine = 2\n";
    assert_int_equal(file_create(path, changed, strlen(changed), NULL), 0);
    read_text(&before, "[user]\n\tname = X\n");
    assert_int_equal(
        git_settings_put(path, "user.name", git_settings_get(&before, "user.name"), NULL), 0);
    assert_int_equal(file_read(path, 4096, &file, NULL), 0);
    assert_string_equal(file.s, "[user]\n\tname = X\n[core]\n\tmine = 2\n");
}

/* Only what is still what it was is replaced, and never under the lock of another. */
static void a_file_is_replaced_or_left(void **state)
{
    autofree char *path = mem_printf("%s/config", (char *)*state);
    autofree char *lock = mem_printf("%s.lock", path);
    autobuf struct buf was = BUF_INIT, new = BUF_INIT, file = BUF_INIT;
    struct stat st;
    bool done;
    buf_addstr(&was, "was");
    buf_addstr(&new, "new");
    assert_int_equal(git_settings_replace(path, &was, &new, 0644, &done, NULL), 0);
    assert_false(done);
    assert_int_equal(git_settings_replace(path, NULL, &was, 0644, &done, NULL), 0);
    assert_true(done);
    assert_int_equal(file_create(lock, "", 0, NULL), 0);
    assert_int_equal(git_settings_replace(path, &was, &new, 0644, &done, NULL), 0);
    assert_false(done);
    assert_int_equal(unlink(lock), 0);
    assert_int_equal(git_settings_replace(path, &was, &new, 0640, &done, NULL), 0);
    assert_true(done);
    assert_int_equal(git_settings_replace(path, &was, &new, 0644, &done, NULL), 0);
    assert_false(done);
    assert_int_equal(access(lock, F_OK), -1);
    assert_int_equal(file_read(path, 4096, &file, NULL), 0);
    assert_string_equal(file.s, "new");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640);
}

static void programs_and_secrets_are_known(void **state)
{
    (void)state;
    assert_true(git_setting_is_program("filter.a b.c.clean"));
    assert_true(git_setting_is_program("includeif.gitdir:/x/.path"));
    assert_true(git_setting_is_program("merge.x.driver"));
    assert_false(git_setting_is_program("merge.conflictstyle"));
    assert_false(git_setting_is_program("alias.st"));
    assert_true(git_setting_is_secret("http.https://x/.extraheader"));
    assert_true(git_setting_is_secret("remote.origin.url"));
    assert_false(git_setting_is_secret("core.bare"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_are_read),
        cmocka_unit_test(differences_are_found),
        cmocka_unit_test_setup_teardown(single_settings_are_put_back, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_setting_is_put_back_in_its_place, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(a_file_is_replaced_or_left, make_folder, remove_folder),
        cmocka_unit_test(programs_and_secrets_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
