/* The steps that follow a try to move the base. */
#include "base/mem.h"
#include "plan/engine/publication.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

enum { DEADLINE = 10000 };

/* Facts in letters: L the last publication, S the run stops, C the base has changed, G another git
 * has the lock, R git refused, D the deadline is over. */
static struct publication_facts facts_of(const char *letters)
{
    return (struct publication_facts){
        .now = strchr(letters, 'D') ? DEADLINE : 1,
        .last = strchr(letters, 'L'),
        .stopping = strchr(letters, 'S'),
        .base_changed = strchr(letters, 'C'),
        .git_locked = strchr(letters, 'G'),
        .git_refused = strchr(letters, 'R'),
    };
}

static const char *const actions[] = {
    [PUBLICATION_TRY] = "try",
    [PUBLICATION_TAKE_LOCK] = "lock",
    [PUBLICATION_REPAIR] = "repair",
    [PUBLICATION_FINISH] = "finish",
};

static void each_failure_has_a_next_step(void **state)
{
    static const struct publication
        trying = {.state = PUBLICATION_TRYING, .deadline = DEADLINE},
        killed = {.state = PUBLICATION_TRYING, .deadline = DEADLINE, .git_killed = true},
        repaired = {.state = PUBLICATION_TRYING, .deadline = DEADLINE, .repaired = true},
        reported = {.state = PUBLICATION_TRYING, .deadline = DEADLINE, .wait_reported = true},
        stopping = {.state = PUBLICATION_STOPPING, .deadline = DEADLINE, .git_killed = true};
    static const struct {
        const char *what;
        const struct publication *before;
        enum publication_event event;
        const char *facts, *expected; /* action, ms, '!' for a report */
    } cases[] = {
        {"another run lands", &trying, PUBLICATION_OTHER_RUN, "", "lock 5"},
        {"... for a long time", &trying, PUBLICATION_OTHER_RUN, "D", "lock 5 !"},
        {"... which the user knows", &reported, PUBLICATION_OTHER_RUN, "D", "lock 5"},
        {"... and the run stops", &trying, PUBLICATION_OTHER_RUN, "S", "lock 5"},

        {"the user rebases", &trying, PUBLICATION_USER, "", "finish 0"},
        {"... at the end", &trying, PUBLICATION_USER, "L", "lock 50 !"},
        {"... which the user knows", &reported, PUBLICATION_USER, "L", "lock 50"},
        {"... for a long time", &trying, PUBLICATION_USER, "LD", "finish 0"},
        {"... and stops the run", &trying, PUBLICATION_USER, "LS", "finish 0"},

        {"the user commits", &trying, PUBLICATION_COMMIT, "", "try 2"},
        {"a git is at work", &trying, PUBLICATION_OTHER_GIT, "", "try 5"},

        {"a lost race", &trying, PUBLICATION_FAILED, "C", "try 0"},
        {"... and the lock of another git", &trying, PUBLICATION_FAILED, "CG", "try 0"},
        {"... and a refusal", &trying, PUBLICATION_FAILED, "CR", "try 0"},
        {"our git was killed", &killed, PUBLICATION_FAILED, "", "try 0"},
        {"... because the user stopped it", &stopping, PUBLICATION_FAILED, "CR", "finish 0"},

        {"another git has the lock", &trying, PUBLICATION_FAILED, "GR", "finish 0"},
        {"... at the end", &trying, PUBLICATION_FAILED, "LGR", "try 20 !"},
        {"... which the user knows", &reported, PUBLICATION_FAILED, "LG", "try 20"},
        {"... for a long time", &trying, PUBLICATION_FAILED, "LGD", "finish 0"},
        {"... and the run stops", &trying, PUBLICATION_FAILED, "LGS", "finish 0"},

        {"git refused", &trying, PUBLICATION_FAILED, "R", "repair 0"},
        {"... at the end", &trying, PUBLICATION_FAILED, "LR", "repair 0"},
        {"... again", &repaired, PUBLICATION_FAILED, "R", "finish 0"},
        {"... again, after a lost race", &repaired, PUBLICATION_FAILED, "CR", "try 0"},
        {"the checkout is elsewhere", &trying, PUBLICATION_FAILED, "L", "finish 0"},
        {"it was half moved", &repaired, PUBLICATION_REPAIRED, "R", "try 0"},
        {"it was not", &repaired, PUBLICATION_NOT_REPAIRED, "R", "finish 0"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct publication p = *cases[i].before;
        struct publication_facts facts = facts_of(cases[i].facts);
        struct publication_step step = publication_step(&p, cases[i].event, &facts);
        char got[32];
        (void)snprintf(got, sizeof(got), "%s %d%s", actions[step.action], (int)step.wait_ms,
                       step.report ? " !" : "");
        if (strcmp(got, cases[i].expected) != 0)
            fail_msg("case %zu, %s: %s", i, cases[i].what, got);
        assert_int_equal(p.repaired,
                         cases[i].before->repaired || step.action == PUBLICATION_REPAIR);
        assert_int_equal(p.wait_reported, cases[i].before->wait_reported || step.report);
    }
}

/* The number of times that a publication tries, if others move the base each time. */
static int count_tries(const char *letters)
{
    struct publication p = {0};
    struct publication_facts facts = facts_of(letters);
    int tries = 1;
    assert_true(publication_begin(&p, DEADLINE));
    while (publication_step(&p, PUBLICATION_FAILED, &facts).action == PUBLICATION_TRY)
        tries++;
    return tries;
}

static void a_race_is_lost_only_so_often(void **state)
{
    (void)state;
    assert_int_equal(count_tries("C"), 25);
    assert_int_equal(count_tries("CL"), 25);
    assert_int_equal(count_tries("CS"), 5);
    assert_int_equal(count_tries("CD"), 5);
}

static void later_tries_yield_to_commits_and_hold_the_base(void **state)
{
    static const struct {
        int tries;
        bool stopping;
        int64_t now, follow_ms;
        bool yields, holds;
    } cases[] = {
        {0, false, 1, 0, false, false},       {1, false, 1, 0, true, false},
        {2, false, 1, 0, true, true},         {2, false, 1, 39, true, true},
        {2, false, 1, 40, true, false},       {2, true, 1, 0, false, true},
        {2, false, DEADLINE, 0, false, true},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct publication p = {
            .tries = cases[i].tries, .deadline = DEADLINE, .follow_ms = cases[i].follow_ms};
        assert_int_equal(publication_yields(&p, cases[i].stopping, cases[i].now), cases[i].yields);
        assert_int_equal(publication_holds_base(&p), cases[i].holds);
    }
}

static void gits_of_others_are_awaited_longer_the_first_time(void **state)
{
    struct publication p = {0};
    (void)state;
    assert_int_equal(publication_git_wait(&p), 1000);
    p.git_wait_until = 1000;
    assert_true(publication_awaits_git(&p, 999));
    assert_int_equal(publication_git_wait(&p), 1000);
    assert_false(publication_awaits_git(&p, 1000));
    assert_int_equal(publication_git_wait(&p), 50);
    p.git_wait_until = 2000;
    assert_true(publication_awaits_git(&p, 1999));
    assert_int_equal(publication_git_wait(&p), 50);
}

static void giving_up_ends_what_goes_on(void **state)
{
    static const struct {
        enum publication_state before, after;
        enum publication_stop stop;
        enum publication_state end;
    } cases[] = {
        {PUBLICATION_IDLE, PUBLICATION_IDLE, PUBLICATION_STOP_NOTHING, PUBLICATION_IDLE},
        {PUBLICATION_TRYING, PUBLICATION_ENDING, PUBLICATION_STOP_WAITING, PUBLICATION_GIVEN_UP},
        {PUBLICATION_MOVING, PUBLICATION_STOPPING, PUBLICATION_STOP_GIT, PUBLICATION_GIVEN_UP},
        {PUBLICATION_SETTLING, PUBLICATION_ENDING, PUBLICATION_STOP_NOTHING, PUBLICATION_GIVEN_UP},
        {PUBLICATION_STOPPING, PUBLICATION_STOPPING, PUBLICATION_KILL_GIT, PUBLICATION_GIVEN_UP},
        {PUBLICATION_ENDING, PUBLICATION_ENDING, PUBLICATION_STOP_NOTHING, PUBLICATION_GIVEN_UP},
        {PUBLICATION_GIVEN_UP, PUBLICATION_GIVEN_UP, PUBLICATION_STOP_NOTHING,
         PUBLICATION_GIVEN_UP},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct publication p = {.state = cases[i].before};
        assert_int_equal(publication_give_up(&p), cases[i].stop);
        assert_int_equal(p.state, cases[i].after);
        publication_end(&p);
        assert_int_equal(p.state, cases[i].end);
        assert_false(publication_is_busy(&p));
    }
}

static void a_publication_has_a_life(void **state)
{
    struct publication p = {.repaired = true, .tries = 7, .wait_reported = true};
    (void)state;
    assert_false(publication_is_busy(&p));
    assert_true(publication_begin(&p, DEADLINE));
    assert_true(publication_is_busy(&p) && !p.tries && !p.repaired && p.wait_reported);
    publication_git_began(&p);
    assert_int_equal(p.state, PUBLICATION_MOVING);
    publication_settle(&p);
    assert_true(publication_is_busy(&p) && !publication_is_given_up(&p));
    publication_git_ended(&p, true);
    assert_int_equal(p.state, PUBLICATION_TRYING);
    assert_true(p.git_killed);
    publication_end(&p);
    assert_int_equal(p.state, PUBLICATION_IDLE);
    assert_true(publication_begin(&p, DEADLINE));
    assert_false(p.git_killed);

    publication_git_began(&p);
    (void)publication_give_up(&p);
    publication_git_ended(&p, true);
    assert_true(publication_is_busy(&p) && publication_is_given_up(&p));
    p.base_moved = true; /* git was faster */
    publication_end(&p);
    assert_false(publication_begin(&p, DEADLINE));
    assert_false(p.base_moved);
    assert_false(publication_is_busy(&p));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_failure_has_a_next_step),
        cmocka_unit_test(a_race_is_lost_only_so_often),
        cmocka_unit_test(later_tries_yield_to_commits_and_hold_the_base),
        cmocka_unit_test(gits_of_others_are_awaited_longer_the_first_time),
        cmocka_unit_test(giving_up_ends_what_goes_on),
        cmocka_unit_test(a_publication_has_a_life),
    };
    return cmocka_run_group_tests_name("publication", tests, NULL, NULL);
}
