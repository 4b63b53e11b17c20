/* The use of the budgets of tasks and of the run, and the steps that follow from it. */
#include "plan/engine/limits/budget.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { NONE = PLAN_UNSET, UNKNOWN = -1 };

/* Two tasks; only the first one has a budget. */
static void init(struct budgets *b, const struct budget *task, const struct budget *run)
{
    struct task tasks[2] = {{.budget = *task}, {.budget = {NONE, NONE}}};
    struct plan plan = {.tasks = tasks, .task_count = ARRAY_LEN(tasks), .budget = *run};
    budgets_init(b, &plan);
}

/* A report of the agent of a task. */
struct step {
    uint32_t task;
    const char *agent; /* "works", "finished" (with a result), "ended" or "stopped" */
    struct spent spent;
    const char *answer; /* a letter for each member, NULL: nothing is new; see add_letters() */
};

static void add_letters(const struct budget_answer *a, char *ret)
{
    const struct {
        bool is_set;
        char letter;
    } letters[] = {
        {a->task_warned, 'w'},
        {a->overrun == OVERRUN_TASK, 'o'},
        {a->overrun == OVERRUN_RUN, 'O'},
        {a->task_exceeded, 'x'},
        {a->stop, 's'},
        {a->run_warned, 'W'},
        {a->run_exceeded, 'X'},
    };
    for (size_t i = 0; i < ARRAY_LEN(letters); i++) {
        if (letters[i].is_set)
            *ret++ = letters[i].letter;
    }
    *ret = 0;
}

static void report(struct budgets *b, const struct step *s, struct spent *counted, bool *overran,
                   const char *what)
{
    struct budget_report r = {.spent = s->spent,
                              .works = strcmp(s->agent, "ended") != 0,
                              .finished = strcmp(s->agent, "finished") == 0,
                              .stopped = strcmp(s->agent, "stopped") == 0,
                              .overran = *overran};
    struct budget_answer answer;
    char letters[8];
    bool is_new = budgets_add(b, s->task, counted, &r, &answer);
    if (is_new != (s->answer != NULL))
        fail_msg("%s: %s", what, is_new ? "something is new" : "nothing is new");
    if (!is_new)
        return;
    add_letters(&answer, letters);
    *overran = *overran || answer.overrun;
    if (strcmp(letters, s->answer) != 0)
        fail_msg("%s: '%s', not '%s'", what, letters, s->answer);
}

static void each_report_is_answered(void **state)
{
    static const struct {
        const char *what;
        struct budget task, run;
        struct step steps[4];
    } cases[] = {
        {"no budget", {NONE, NONE}, {NONE, NONE}, {{0, "works", {900000, 1, 0, 0, 99}, ""}}},
        {"nothing of a budget of nothing", {NONE, 0}, {NONE, NONE}, {{0, "works", {0}, NULL}}},
        {"something of a budget of no tokens",
         {NONE, 0},
         {NONE, NONE},
         {{0, "works", {.in = 1}, "wxs"}}},
        {"a budget of no money, and a cost of nothing",
         {0, NONE},
         {NONE, NONE},
         {{0, "works", {.in = 1}, "wxs"}}},
        {"below four fifths", {NONE, 100}, {NONE, NONE}, {{0, "works", {.in = 40, .out = 39}, ""}}},
        {"four fifths exactly",
         {NONE, 100},
         {NONE, NONE},
         {{0, "works", {.in = 40, .out = 40}, "w"}}},
        {"warned once",
         {NONE, 100},
         {NONE, NONE},
         {{0, "works", {.in = 80}, "w"}, {0, "works", {.in = 99}, ""}}},
        {"all of it exactly",
         {NONE, 100},
         {NONE, NONE},
         {{0, "works", {.in = 50, .out = 50}, "wxs"}}},
        {"more than all of it", {NONE, 100}, {NONE, NONE}, {{0, "works", {.in = 500}, "wxs"}}},
        {"the same report again",
         {NONE, 100},
         {NONE, NONE},
         {{0, "works", {.in = 50}, ""}, {0, "works", {.in = 50}, NULL}}},
        {"a report counts from the begin of the attempt",
         {NONE, 100},
         {NONE, NONE},
         {{0, "works", {.in = 50}, ""},
          {0, "works", {.in = 60}, ""},
          {0, "works", {.in = 60, .out = 20}, "w"}}},
        {"tokens written to a cache",
         {NONE, 100},
         {NONE, NONE},
         {{0, "works", {.cache_made = 80}, "w"}}},
        {"tokens read from a cache",
         {NONE, 100},
         {NONE, NONE},
         {{0, "works", {.cache_read = 900}, ""}}},
        {"money below four fifths", {10, NONE}, {NONE, NONE}, {{0, "works", {.usd = 7.99}, ""}}},
        {"four fifths of the money", {10, NONE}, {NONE, NONE}, {{0, "works", {.usd = 8}, "w"}}},
        {"all the money", {10, NONE}, {NONE, NONE}, {{0, "works", {.usd = 10}, "wxs"}}},
        {"an unknown cost",
         {10, NONE},
         {NONE, NONE},
         {{0, "works", {.in = 9999, .usd = UNKNOWN}, ""}}},
        {"both budgets, and all tokens",
         {10, 100},
         {NONE, NONE},
         {{0, "works", {.in = 100}, "wxs"}}},
        {"both budgets, and all money",
         {10, 100},
         {NONE, NONE},
         {{0, "works", {.in = 1, .usd = 10}, "wxs"}}},
        {"both budgets, and most of each",
         {10, 100},
         {NONE, NONE},
         {{0, "works", {.in = 80}, "w"}, {0, "works", {.in = 81, .usd = 9}, ""}}},

        {"an agent that is asked to stop reports more",
         {NONE, 100},
         {NONE, NONE},
         {{0, "works", {.in = 100}, "wxs"}, {0, "stopped", {.in = 120}, ""}}},
        {"it stops for another reason",
         {NONE, 100},
         {NONE, NONE},
         {{0, "stopped", {.in = 120}, "w"}}},
        {"it has ended, within the budget",
         {NONE, 100},
         {NONE, NONE},
         {{0, "ended", {.in = 100}, "w"}}},
        {"it has ended, over the budget",
         {NONE, 100},
         {NONE, NONE},
         {{0, "ended", {.in = 101}, "wox"}}},
        {"it has a result, within the budget",
         {NONE, 100},
         {NONE, NONE},
         {{0, "finished", {.in = 100}, "w"}}},
        {"it has a result, over the budget, and says so twice",
         {NONE, 100},
         {NONE, NONE},
         {{0, "finished", {.in = 101}, "wox"}, {0, "ended", {.in = 102}, ""}}},
        {"it has ended, over its money",
         {10, NONE},
         {NONE, NONE},
         {{0, "ended", {.usd = 10.01}, "wox"}}},

        {"the run at four fifths", {NONE, NONE}, {NONE, 100}, {{0, "works", {.in = 80}, "W"}}},
        {"two tasks of the run",
         {NONE, NONE},
         {NONE, 100},
         {{0, "works", {.in = 50}, ""},
          {1, "works", {.in = 30}, "W"},
          {1, "works", {.in = 50}, "X"}}},
        {"money of the run", {NONE, NONE}, {10, NONE}, {{0, "works", {.usd = 10}, "WX"}}},
        {"agents of an exceeded run report more",
         {NONE, NONE},
         {NONE, 100},
         {{0, "works", {.in = 100}, "WX"},
          {0, "stopped", {.in = 120}, ""},
          {1, "ended", {.in = 1}, ""}}},
        {"the end of an agent exceeds the run",
         {NONE, NONE},
         {NONE, 100},
         {{0, "ended", {.in = 50}, ""}, {1, "ended", {.in = 60}, "OWX"}}},
        {"the end of an agent uses up the run",
         {NONE, NONE},
         {NONE, 100},
         {{0, "ended", {.in = 50}, ""}, {1, "ended", {.in = 50}, "WX"}}},
        {"a result exceeds the run",
         {NONE, NONE},
         {NONE, 100},
         {{0, "finished", {.in = 101}, "OWX"}}},
        {"task and run together", {NONE, 100}, {NONE, 100}, {{0, "works", {.in = 100}, "wxsWX"}}},
        {"the end exceeds task and run",
         {NONE, 100},
         {NONE, 100},
         {{0, "ended", {.in = 101}, "woxWX"}}},
        {"the end exceeds the run, and not the task",
         {NONE, 1000},
         {NONE, 100},
         {{0, "ended", {.in = 101}, "OWX"}}},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct budgets b;
        struct spent counted[2] = {0};
        bool overran[2] = {0};
        init(&b, &cases[i].task, &cases[i].run);
        for (const struct step *s = cases[i].steps; s < cases[i].steps + 4 && s->agent; s++)
            report(&b, s, &counted[s->task], &overran[s->task], cases[i].what);
        budgets_done(&b);
    }
}

static bool is_equal(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

static void usage_adds_up(void **state)
{
    (void)state;
    const struct budget none = {NONE, NONE};
    struct budgets b;
    struct budget_answer answer;
    struct spent first = {0}, second = {0}, other = {0};
    init(&b, &none, &none);
    assert_true(b.tasks[0].usd < 0); /* unknown, and not nothing */
    assert_true(budgets_add(&b, 0, &first, &(struct budget_report){.spent = {10, 2, 300, 5, 0.5}},
                            &answer));
    assert_true(budgets_add(&b, 0, &first, &(struct budget_report){.spent = {20, 4, 300, 5, 0.75}},
                            &answer));
    assert_true(
        budgets_add(&b, 0, &second, &(struct budget_report){.spent = {1, 1, 0, 0, 1}}, &answer));
    assert_true(budgets_add(&b, 1, &other,
                            &(struct budget_report){.spent = {100, 0, 0, 0, UNKNOWN}}, &answer));
    assert_int_equal(b.tasks[0].tokens_in, 26);
    assert_int_equal(b.tasks[0].tokens_out, 5);
    assert_true(is_equal(b.tasks[0].usd, 1.75));
    assert_true(b.tasks[1].usd < 0);
    assert_int_equal(budget_use_tokens(&b.run), 131);
    assert_true(is_equal(budget_use_usd(&b.run), 1.75));
    budgets_done(&b);
}

static void each_budget_is_spent_or_has_money_left(void **state)
{
    static const struct {
        const char *what;
        struct budget task, run;
        int64_t tokens;
        double usd;
        bool spent;
        double left;
    } cases[] = {
        {"no budget", {NONE, NONE}, {NONE, NONE}, 1000, 1000, false, -1},
        {"an unused budget of money", {2, NONE}, {NONE, NONE}, 0, UNKNOWN, false, 2},
        {"some of it", {2, NONE}, {NONE, NONE}, 0, 0.5, false, 1.5},
        {"all of it", {2, NONE}, {NONE, NONE}, 0, 2, true, 0},
        {"more than it", {2, NONE}, {NONE, NONE}, 0, 3, true, 0},
        {"no money at all", {0, NONE}, {NONE, NONE}, 0, UNKNOWN, true, 0},
        {"no tokens at all", {NONE, 0}, {NONE, NONE}, 0, UNKNOWN, true, -1},
        {"one token less", {NONE, 100}, {NONE, NONE}, 99, 50, false, -1},
        {"all tokens", {NONE, 100}, {NONE, NONE}, 100, 50, true, -1},
        {"all tokens, and money left", {2, 100}, {NONE, NONE}, 100, 0.5, true, 1.5},
        {"the run's tokens", {2, NONE}, {NONE, 100}, 100, 0.5, true, 1.5},
        {"the run's money does not limit a task", {NONE, NONE}, {2, NONE}, 0, 1, false, -1},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct budgets b;
        init(&b, &cases[i].task, &cases[i].run);
        budgets_set(&b, 0, cases[i].tokens / 2, cases[i].tokens - cases[i].tokens / 2,
                    cases[i].usd);
        (void)budgets_recall(&b);
        if (budgets_are_spent(&b, 0) != cases[i].spent)
            fail_msg("%s: not spent: %d", cases[i].what, cases[i].spent);
        if (!is_equal(budgets_left(&b, 0), cases[i].left))
            fail_msg("%s: %f left", cases[i].what, budgets_left(&b, 0));
        budgets_done(&b);
    }
}

static void a_resumed_run_warns_and_stops_again(void **state)
{
    static const struct {
        int64_t budget, first, second;
        const char *answer;
    } cases[] = {
        {NONE, 50, 50, ""},  {100, 0, 0, ""},     {100, 40, 39, ""}, {100, 40, 40, "W"},
        {100, 50, 50, "WX"}, {100, 90, 90, "WX"}, {0, 0, 0, "WX"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct budgets b;
        char letters[8];
        init(&b, &(struct budget){NONE, NONE}, &(struct budget){NONE, cases[i].budget});
        budgets_set(&b, 0, cases[i].first, 0, UNKNOWN);
        budgets_set(&b, 1, 0, cases[i].second, UNKNOWN);
        struct budget_answer answer = budgets_recall(&b);
        add_letters(&answer, letters);
        if (strcmp(letters, cases[i].answer) != 0 || b.run.exceeded != answer.run_exceeded)
            fail_msg("case %zu: '%s', not '%s'", i, letters, cases[i].answer);
        budgets_done(&b);
    }
}

/* The task has used 100 tokens and 10 dollars, of budgets of 100 tokens and 10 dollars. */
static void a_raised_budget_warns_and_ends_anew(void **state)
{
    static const struct {
        const char *what;
        int64_t task; /* -1: the run */
        struct budget to;
        struct budget expected;
        bool spent;
        const char *answer; /* to one more token */
    } cases[] = {
        {"tokens of the task", 0, {UNKNOWN, 200}, {10, 200}, true, "wxs"},
        {"both of the task, widely", 0, {100, 1000}, {100, 1000}, false, ""},
        {"both of the task, scarcely", 0, {12, 120}, {12, 120}, false, "w"},
        {"both of the run, widely", -1, {100, 1000}, {100, 1000}, false, "xs"},
        {"both of the run, scarcely", -1, {12, 120}, {12, 120}, false, "xsW"},
        {"money of the run alone", -1, {100, UNKNOWN}, {100, 100}, true, "xs"},
        {"nothing", -1, {UNKNOWN, UNKNOWN}, {10, 100}, true, "xs"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct budget used = {10, 100}, none = {NONE, NONE};
        bool of_run = cases[i].task < 0;
        struct budgets b;
        struct spent counted = {0};
        bool overran = false;
        init(&b, &used, of_run ? &used : &none);
        report(&b, &(struct step){0, "works", {.in = 100, .usd = 10}, of_run ? "wxsWX" : "wxs"},
               &counted, &overran, cases[i].what);
        budgets_raise(&b, cases[i].task, &cases[i].to);
        const struct budget_use *u = of_run ? &b.run : &b.tasks[0];
        if (!is_equal(u->budget.usd, cases[i].expected.usd) ||
            u->budget.tokens != cases[i].expected.tokens)
            fail_msg("%s: not as wanted", cases[i].what);
        if ((of_run ? b.run.exceeded : budgets_are_spent(&b, 0)) != cases[i].spent)
            fail_msg("%s: is spent: %d", cases[i].what, !cases[i].spent);
        report(&b, &(struct step){0, "works", {.in = 101, .usd = 10}, cases[i].answer}, &counted,
               &overran, cases[i].what);
        budgets_done(&b);
    }
}

static void the_text_tells_the_budget_that_is_nearest(void **state)
{
    static const struct {
        struct budget budget;
        int64_t tokens;
        double usd;
        const char *text;
    } cases[] = {
        {{NONE, 10000}, 12000, UNKNOWN, "12.0k tokens of 10.0k"},
        {{NONE, 100}, 101, 55, "101 tokens of 100"},
        {{3, NONE}, 500, 3.1, "$3.10 of $3.00"},
        {{1, NONE}, 500, 0.8, "$0.80 of $1.00"},
        {{10, 100}, 90, 7.99, "90 tokens of 100"},
        {{10, 100}, 90, 8, "$8.00 of $10.00"},
        {{0, 100}, 90, UNKNOWN, "$0.00 of $0.00"},
        {{NONE, 0}, 0, UNKNOWN, "0 tokens of 0"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autobuf struct buf text = BUF_INIT;
        struct budget_use u = {
            .budget = cases[i].budget, .tokens_in = cases[i].tokens, .usd = cases[i].usd};
        budget_use_describe(&u, &text);
        assert_string_equal(text.s, cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_report_is_answered),
        cmocka_unit_test(usage_adds_up),
        cmocka_unit_test(each_budget_is_spent_or_has_money_left),
        cmocka_unit_test(a_resumed_run_warns_and_stops_again),
        cmocka_unit_test(a_raised_budget_warns_and_ends_anew),
        cmocka_unit_test(the_text_tells_the_budget_that_is_nearest),
    };
    return cmocka_run_group_tests_name("budget", tests, NULL, NULL);
}
