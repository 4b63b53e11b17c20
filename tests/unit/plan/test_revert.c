/* Whether a task would undo what others landed, path by path. */
#include "base/mem.h"
#include "plan/revert.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

/* An entry as "MODE ID" in one word: "f1" is a file with content 1, "x1" the same, executable, "l1"
 * a symlink, "s1" a submodule; "" is nothing. */
static const struct path_entry *entry(const char *word, struct path_entry *e, char id[2])
{
    if (!*word)
        return NULL;
    (void)snprintf(id, 2, "%s", word + 1);
    *e = (struct path_entry){.mode = *word == 'f'   ? "100644"
                                     : *word == 'x' ? "100755"
                                     : *word == 'l' ? "120000"
                                                    : "160000",
                             .id = id};
    return e;
}

static void each_path_is_judged(void **state)
{
    static const struct {
        const char *what, *start, *landed, *made;
        enum revert expected;
    } cases[] = {
        {"nobody changed it", "f1", "f1", "f1", REVERT_NONE},
        {"only the task changed it", "f1", "f1", "f2", REVERT_NONE},
        {"only the task added it", "", "", "f1", REVERT_NONE},
        {"only the task removed it", "f1", "f1", "", REVERT_NONE},
        {"only the task made it executable", "f1", "f1", "x1", REVERT_NONE},
        {"only others changed it", "f1", "f2", "f2", REVERT_NONE},
        {"only others added it", "", "f1", "f1", REVERT_NONE},
        {"only others removed it", "f1", "", "", REVERT_NONE},
        {"both made the same of it", "f1", "f2", "f2", REVERT_NONE},
        {"both removed it", "f1", "", "", REVERT_NONE},

        {"others' change is gone", "f1", "f2", "f1", REVERT_WHOLE},
        {"others' file is gone", "", "f1", "", REVERT_WHOLE},
        {"what others removed is back", "f1", "", "f1", REVERT_WHOLE},
        {"others' executable bit is gone", "f1", "x1", "f1", REVERT_WHOLE},
        {"... beside a change of the task's", "f1", "x1", "f2", REVERT_WHOLE},
        {"others' change is gone, and it is executable", "f1", "f2", "x1", REVERT_WHOLE},
        {"others' symlink is a file again", "f1", "l2", "f1", REVERT_WHOLE},
        {"others' file is a symlink again", "l1", "f2", "l1", REVERT_WHOLE},
        {"others' submodule is gone", "", "s1", "", REVERT_WHOLE},
        {"a submodule is at its old commit", "s1", "s2", "s1", REVERT_WHOLE},
        {"others' executable content in the task's old mode", "f1", "x2", "f3", REVERT_WHOLE},

        {"both changed it", "f1", "f2", "f3", REVERT_LINES},
        {"both changed it, and the task its mode", "f1", "f2", "x3", REVERT_LINES},
        {"both moved a submodule", "s1", "s2", "s3", REVERT_LINES},

        {"both added it", "", "f1", "f2", REVERT_NONE},
        {"the task removed what others changed", "f1", "f2", "", REVERT_NONE},
        {"the task changed what others removed", "f1", "", "f2", REVERT_NONE},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct path_entry e[3];
        char ids[3][2];
        enum revert got = revert_judge(entry(cases[i].start, &e[0], ids[0]),
                                       entry(cases[i].landed, &e[1], ids[1]),
                                       entry(cases[i].made, &e[2], ids[2]));
        if (got != cases[i].expected)
            fail_msg("%s: %d, not %d", cases[i].what, got, cases[i].expected);
    }
}

static void a_move_has_to_take_the_change_with_it(void **state)
{
    static const struct {
        const char *what, *start, *landed, *made, *moved;
        bool expected;
    } cases[] = {
        {"moved with what it had before", "f1", "f2", "", "f1", true},
        {"... and made executable", "f1", "f2", "", "x1", true},
        {"moved with others' change", "f1", "f2", "", "f2", false},
        {"moved with both changes", "f1", "f2", "", "f3", false},
        {"not changed by others", "f1", "f1", "", "f1", false},
        {"others changed its mode alone", "f1", "x1", "", "f1", false},
        {"others removed it as well", "f1", "", "", "f1", false},
        {"copied, and still there", "f1", "f2", "f2", "f1", false},
        {"others added it", "", "f2", "", "f1", false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct path_entry e[4];
        char ids[4][2];
        bool got = revert_moves_old(
            entry(cases[i].start, &e[0], ids[0]), entry(cases[i].landed, &e[1], ids[1]),
            entry(cases[i].made, &e[2], ids[2]), entry(cases[i].moved, &e[3], ids[3]));
        if (got != cases[i].expected)
            fail_msg("%s: %d", cases[i].what, got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_path_is_judged),
        cmocka_unit_test(a_move_has_to_take_the_change_with_it),
    };
    return cmocka_run_group_tests_name("revert", tests, NULL, NULL);
}
