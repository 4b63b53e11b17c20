/* Would a task undo the landed work of others? Path by path. */
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

        {"others added it, and the task changed it", "", "f1", "f2", REVERT_LINES},
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

/* The lines of a text in which a blank ends each line. */
static struct lines split(const char *text, struct line *room)
{
    struct lines lines = {room, 0};
    for (size_t len; *text; text += len + (text[len] == ' ')) {
        len = strcspn(text, " ");
        room[lines.n++] = (struct line){text, len};
    }
    return lines;
}

/* An edit as "AT removed lines|inserted lines". */
static struct line_edit parse_edit(const char *text, struct line room[2][16])
{
    static char words[2][2][128];
    static int turn;
    char *removed = words[turn ^= 1][0], *inserted = words[turn][1];
    struct line_edit edit = {.at = (size_t)(text[0] - '0')};
    const char *bar = strchr(text, '|');
    (void)snprintf(removed, 128, "%.*s", (int)(bar - text - 2), text + 2);
    (void)snprintf(inserted, 128, "%s", bar + 1);
    edit.removed = split(removed, room[0]);
    edit.inserted = split(inserted, room[1]);
    return edit;
}

static void an_edit_is_undone_by_one_that_covers_it(void **state)
{
    static const struct {
        const char *what, *undo, *made;
        bool expected;
    } cases[] = {
        {"the same edit", "4 five|5", "4 five|5", true},
        {"the old line beside an own one", "4 five|5", "4 five six|5 SIX", true},
        {"the old line behind an own one", "4 five|5", "3 four five|FOUR 5", true},
        {"a file that lost lines of others", "4 new lines|", "4 new lines|", true},
        {"lines of others that are back", "4 |old lines", "4 |old lines", true},
        {"... and an own line", "4 |old lines", "4 |old lines mine", true},

        {"another place", "4 five|5", "9 ten|5", false},
        {"another line instead", "4 five|5", "4 five|V", false},
        {"both lines", "4 five|5", "4 five|five 5", false},
        {"both lines in another order", "4 five|5", "4 five|5 five", false},
        {"only a part of the old lines", "4 five|5 6", "4 five|5 7", false},
        {"only a part of the removed lines", "4 new lines|", "4 new|", false},
        {"lines of others, replaced", "4 new lines|", "4 new lines|mine", false},
        {"lines of others, removed with their function", "4 new lines|", "2 c d new lines|", false},
        {"a bracket", "4 { five|{", "3 four { five|x { y", false},
        {"repeated lines", "1 x|a a b", "1 x y|a a a b y", true},
        {"repeated lines that end before", "1 x|a a b", "1 x y|a a a", false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct line rooms[2][2][16];
        struct line_edit undo = parse_edit(cases[i].undo, rooms[0]);
        struct line_edit made = parse_edit(cases[i].made, rooms[1]);
        if (revert_undoes(&undo, &made) != cases[i].expected)
            fail_msg("%s", cases[i].what);
    }
}

/* Edits of one line each, at the lines 0, 2, 4, ... */
static void build_edits(const char *const inserted[], size_t n, struct line lines[],
                        struct line_edit edits[])
{
    static const struct line old = {"landed", 6};
    for (size_t i = 0; i < n; i++) {
        lines[i] = (struct line){inserted[i], strlen(inserted[i])};
        edits[i] =
            (struct line_edit){.at = 2 * i, .removed = {&old, 1}, .inserted = {&lines[i], 1}};
    }
}

static void any_edit_of_a_file_counts(void **state)
{
    enum { EDITS = 3 };
    static const char *const start[EDITS] = {"a", "b", "c"};
    struct line lines[2][EDITS];
    struct line_edit undo[EDITS], made[EDITS];
    (void)state;
    build_edits(start, EDITS, lines[0], undo);
    for (size_t undone = 0; undone <= EDITS; undone++) {
        const char *words[EDITS] = {"x", "y", "z"};
        if (undone < EDITS)
            words[undone] = start[undone];
        build_edits(words, EDITS, lines[1], made);
        assert_int_equal(revert_undoes_any(undo, EDITS, made, EDITS), undone < EDITS);
        if (undone < EDITS)
            assert_true(revert_undoes_any(undo, EDITS, &made[undone], 1));
    }
    assert_false(revert_undoes_any(undo, EDITS, NULL, 0));
    assert_false(revert_undoes_any(NULL, 0, made, EDITS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_path_is_judged),
        cmocka_unit_test(a_move_has_to_take_the_change_with_it),
        cmocka_unit_test(an_edit_is_undone_by_one_that_covers_it),
        cmocka_unit_test(any_edit_of_a_file_counts),
    };
    return cmocka_run_group_tests_name("revert", tests, NULL, NULL);
}
