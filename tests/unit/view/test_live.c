#include "view/live.h"

#include "base/node/node_build.h"
#include "base/text/text.h"
#include "plan_build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { START = 1000000 }; /* when the runs here begin, in ms since 1970 */

struct fixture {
    struct built b;
    struct plan plan;
    struct graph g;
    struct problems ps;
    struct live l;
    struct arena events;
};

static void begin(struct fixture *f, const bool *wanted, bool color)
{
    problems_init(&f->ps, "plan");
    assert_int_equal(plan_decode(&f->plan, f->b.root, &f->b.arena, &f->ps), 0);
    assert_int_equal(graph_init(&f->g, &f->plan, &f->ps), 0);
    live_init(&f->l, &f->plan, &f->g, wanted, color);
    struct event ev = {.time = START, .kind = EV_RUN_STARTED};
    live_event(&f->l, &ev);
}

/* A plan of n tasks that do not wait for each other. */
static void begin_wide(struct fixture *f, size_t n)
{
    *f = (struct fixture){0};
    built_init(&f->b);
    for (size_t i = 0; i < n; i++)
        (void)built_task(&f->b);
    begin(f, NULL, false);
}

static void drop(struct fixture *f)
{
    live_done(&f->l);
    graph_done(&f->g);
    plan_done(&f->plan);
    problems_done(&f->ps);
    arena_done(&f->b.arena);
    arena_done(&f->events);
}

/* An event at a time after the start, with its data. */
static struct node *tell_at(struct fixture *f, int64_t ms, enum event_kind kind, const char *task,
                            int attempt, struct node *data)
{
    struct event ev = {
        .time = START + ms, .kind = kind, .task = task, .attempt = attempt, .data = data};
    live_event(&f->l, &ev);
    return data;
}

static struct node *data_of(struct fixture *f, const char *key, const char *value)
{
    struct node *data = node_new_map(&f->events);
    node_put_string(&f->events, data, key, value);
    return data;
}

static void start(struct fixture *f, int64_t ms, const char *task)
{
    (void)tell_at(f, ms, EV_TASK_PREPARING, task, 1, NULL);
    (void)tell_at(f, ms, EV_TASK_STARTED, task, 1, NULL);
}

static void act(struct fixture *f, int64_t ms, const char *task, const char *action)
{
    (void)tell_at(f, ms, EV_TASK_ACTION, task, 1, data_of(f, "action", action));
}

static void exit_with(struct fixture *f, int64_t ms, const char *task, int64_t code)
{
    struct node *data = node_new_map(&f->events);
    node_put_int(&f->events, data, "exit_code", code);
    node_put_int(&f->events, data, "ms", ms);
    (void)tell_at(f, ms, EV_TASK_EXITED, task, 1, data);
}

static void expect_block(struct fixture *f, int64_t ms, size_t columns, size_t rows,
                         const char *expected)
{
    autobuf struct buf out = BUF_INIT;
    live_block(&f->l, START + ms, columns, rows, &out);
    assert_string_equal(out.s, expected);
}

static void expect_paint(struct fixture *f, int64_t ms, size_t columns, size_t rows,
                         const char *expected)
{
    autobuf struct buf out = BUF_INIT;
    live_paint(&f->l, START + ms, columns, rows, &out);
    assert_string_equal(out.s, expected);
}

/* The block */

static struct node *limit_data(struct fixture *f, int64_t lane, int64_t delay)
{
    struct node *data = data_of(f, "engine", lane ? "codex" : "claude");
    node_put_string(&f->events, data, "class", "limit");
    node_put_string(&f->events, data, "reason", "no more");
    node_put_int(&f->events, data, "lane", lane);
    node_put_int(&f->events, data, "delay_ms", delay);
    return data;
}

/* For how long a tool works, and when a model is tried again, is said at the end, which is not cut.
 */
static void what_takes_long_is_counted(void **state)
{
    (void)state;
    struct fixture f;
    begin_wide(&f, 2);
    start(&f, 0, "0");
    start(&f, 0, "1");
    struct node *data = data_of(&f, "action", "Bash make -C some/where/far/away test");
    node_put_bool(&f.events, data, "tool", true);
    node_put_int(&f.events, data, "ms", 5000);
    (void)tell_at(&f, 6000, EV_TASK_ACTION, "0", 1, data);
    data = data_of(&f, "action", "waits for its model: try 2 of 10");
    node_put_string(&f.events, data, "until", "1970-01-01T00:16:55.000Z");
    (void)tell_at(&f, 6000, EV_TASK_ACTION, "1", 1, data);
    expect_block(&f, 10000, 80, 24,
                 "  0         running     10s     in Bash make -C some/where/far/away test for 9s\n"
                 "  1         running     10s     waits for its model: try 2 of 10 in 5s\n"
                 "10s: 0 of 2 done, 2 running\n");
    expect_block(&f, 241000, 60, 24,
                 "  0         running     4m 1s   in Bash make -C s... for 4m\n"
                 "  1         running     4m 1s   waits for its model: try...\n"
                 "4m 1s: 0 of 2 done, 2 running\n");
    data = data_of(&f, "action", "Bash make");
    node_put_bool(&f.events, data, "tool", false);
    node_put_int(&f.events, data, "ms", 241000);
    (void)tell_at(&f, 241000, EV_TASK_ACTION, "0", 1, data);
    (void)tell_at(&f, 241000, EV_TASK_WAITING, "1", 1, data_of(&f, "question", "May\x1b I?"));
    expect_block(&f, 241000, 80, 24,
                 "  0         running     4m 1s   Bash make\n"
                 "  1         running     4m 1s   waits for a person: May\\e I?\n"
                 "4m 1s: 0 of 2 done, 2 running\n");
    assert_non_null(strstr(f.l.scroll.s, "waits for a person: May\\e I?\n"));
    drop(&f);
}

/* Times of day are the machine's: the hours of START are 00:16 in Greenwich. */
static void limits_are_counted_down(void **state)
{
    (void)state;
    struct fixture f;
    assert_int_equal(setenv("TZ", "UTC", 1), 0);
    begin_wide(&f, 3);
    start(&f, 0, "0");
    start(&f, 0, "1");
    (void)tell_at(&f, 1000, EV_LIMIT_OPENED, NULL, 0, limit_data(&f, 0, 720000));
    (void)tell_at(&f, 1000, EV_TASK_PARKED, "0", 1, limit_data(&f, 0, 720000));
    expect_block(&f, 1000, 80, 24,
                 "  0         waiting     resumes in 12m  limit: no more\n"
                 "  1         running     1s\n"
                 "claude: limit until 00:28, 12m; 1 task parked\n"
                 "1s: 0 of 3 done, 1 running, 2 waiting\n");
    (void)tell_at(&f, 2000, EV_LIMIT_OPENED, NULL, 0, limit_data(&f, 1, 172800000));
    (void)tell_at(&f, 2000, EV_TASK_PARKED, "1", 1, limit_data(&f, 0, 719000));
    expect_block(&f, 61000, 80, 24,
                 "  0         waiting     resumes in 11m  limit: no more\n"
                 "  1         waiting     resumes in 11m  limit: no more\n"
                 "claude: limit until 00:28, 11m; 2 tasks parked\n"
                 "codex: limit until Jan  3, 00:16, 1d 23h\n"
                 "1m 1s: 0 of 3 done, 3 waiting\n");
    expect_block(&f, 61000, 80, 4,
                 "claude: limit until 00:28, 11m; 2 tasks parked\n"
                 "codex: limit until Jan  3, 00:16, 1d 23h\n"
                 "1m 1s: 0 of 3 done, 3 waiting\n");
    (void)tell_at(&f, 721000, EV_TASK_STARTED, "0", 2, NULL);
    (void)tell_at(&f, 722000, EV_LIMIT_CLOSED, NULL, 0, limit_data(&f, 0, 0));
    (void)tell_at(&f, 722000, EV_LIMIT_CLOSED, NULL, 0, limit_data(&f, 1, 0));
    (void)tell_at(&f, 722000, EV_TASK_STARTED, "1", 2, NULL);
    expect_block(&f, 723000, 80, 24,
                 "  0         running     2s      attempt 2\n"
                 "  1         running     1s      attempt 2\n"
                 "12m 3s: 0 of 3 done, 2 running, 1 waiting\n");
    drop(&f);
}

static void a_task_goes_through_its_states(void **state)
{
    (void)state;
    struct fixture f;
    begin_wide(&f, 2);
    expect_block(&f, 0, 80, 24, "0s: 0 of 2 done, 2 waiting\n");
    (void)tell_at(&f, 100, EV_TASK_PREPARING, "0", 1, NULL);
    expect_block(&f, 900, 80, 24,
                 "  0         preparing   0s\n"
                 "0s: 0 of 2 done, 1 running, 1 waiting\n");
    (void)tell_at(&f, 1000, EV_TASK_STARTED, "0", 1, NULL);
    act(&f, 2000, "0", "writing the model");
    expect_block(&f, 65500, 80, 24,
                 "  0         running     1m 5s   writing the model\n"
                 "1m 5s: 0 of 2 done, 1 running, 1 waiting\n");
    exit_with(&f, 66000, "0", 0);
    expect_block(&f, 66000, 80, 24,
                 "  0         committing  1m 5s\n"
                 "1m 6s: 0 of 2 done, 1 running, 1 waiting\n");
    (void)tell_at(&f, 66000, EV_TASK_COMMITTED, "0", 1, NULL);
    expect_block(&f, 66100, 80, 24,
                 "  0         landing     1m 6s\n"
                 "1m 6s: 0 of 2 done, 1 running, 1 waiting\n");
    live_state(&f.l, 0, TASK_VERIFYING);
    expect_block(&f, 66100, 80, 24,
                 "  0         verifying   1m 6s\n"
                 "1m 6s: 0 of 2 done, 1 running, 1 waiting\n");
    (void)tell_at(&f, 67000, EV_TASK_LANDED, "0", 1, NULL);
    live_state(&f.l, 0, TASK_RUNNING); /* too late to matter */
    expect_block(&f, 68000, 80, 24, "1m 8s: 1 of 2 done, 1 waiting\n");
    drop(&f);
}

static void what_went_wrong_is_counted(void **state)
{
    (void)state;
    struct fixture f;
    begin_wide(&f, 5);
    start(&f, 0, "0");
    start(&f, 0, "1");
    start(&f, 0, "2");
    (void)tell_at(&f, 10, EV_TASK_FAILED, "0", 1, NULL);
    (void)tell_at(&f, 10, EV_TASK_SKIPPED, "3", 0, NULL);
    (void)tell_at(&f, 10, EV_TASK_CONFLICTED, "1", 1, NULL);
    expect_block(&f, 3000, 120, 24,
                 "  2         running     3s\n"
                 "3s: 0 of 5 done, 1 failed, 1 in conflict, 1 skipped, 1 running, 1 waiting\n");
    drop(&f);
}

static void a_retry_says_when_and_why(void **state)
{
    (void)state;
    struct fixture f;
    begin_wide(&f, 1);
    start(&f, 0, "0");
    exit_with(&f, 1000, "0", 1);
    struct node *data = data_of(&f, "class", "transient");
    node_put_string(&f.events, data, "reason", "the agent ended with 1");
    node_put_int(&f.events, data, "delay_ms", 5000);
    (void)tell_at(&f, 1000, EV_TASK_RETRIED, "0", 1, data);
    expect_block(&f, 1500, 80, 24,
                 "  0         waiting     resumes in 5s  transient: the agent ended with 1\n"
                 "1s: 0 of 1 done, 1 waiting\n");
    (void)tell_at(&f, 6000, EV_TASK_STARTED, "0", 2, NULL);
    expect_block(&f, 8000, 80, 24,
                 "  0         running     2s      attempt 2\n"
                 "8s: 0 of 1 done, 1 running\n");
    drop(&f);
}

static void a_read_only_task_ends_without_landing(void **state)
{
    (void)state;
    struct fixture f;
    begin_wide(&f, 1);
    start(&f, 0, "0");
    exit_with(&f, 1000, "0", 0);
    (void)tell_at(&f, 1000, EV_TASK_DONE, "0", 1, NULL);
    expect_block(&f, 1000, 80, 24, "1s: 1 of 1 done\n");
    assert_string_equal(f.l.scroll.s, "00:00:01  0             done\n");
    drop(&f);
}

static void usage_is_summed_over_attempts(void **state)
{
    (void)state;
    struct fixture f;
    begin_wide(&f, 1);
    start(&f, 0, "0");
    struct node *data = node_new_map(&f.events);
    node_put_int(&f.events, data, "tokens_in", 12000);
    node_put_int(&f.events, data, "tokens_out", 300);
    node_put_real(&f.events, data, "usd", 0.25);
    (void)tell_at(&f, 0, EV_TASK_USAGE, "0", 1, data);
    act(&f, 0, "0", "thinking");
    expect_block(&f, 2000, 80, 24,
                 "  0         running     2s      12.3k tokens  $0.25  thinking\n"
                 "2s: 0 of 1 done, 1 running  12.3k tokens  $0.25\n");
    (void)tell_at(&f, 2000, EV_TASK_STARTED, "0", 2, NULL);
    (void)tell_at(&f, 2000, EV_TASK_USAGE, "0", 2, data);
    expect_block(&f, 2000, 80, 24,
                 "  0         running     0s      attempt 2  12.3k tokens  $0.25\n"
                 "2s: 0 of 1 done, 1 running  24.6k tokens  $0.50\n");
    drop(&f);
}

static void estimates_tell_the_time_left(void **state)
{
    (void)state;
    struct fixture f = {0};
    built_init(&f.b);
    static const char *const estimates[] = {"60s", "30s", "20s"};
    for (size_t i = 0; i < 3; i++)
        built_put(&f.b, built_task(&f.b), "estimate", built_text(&f.b, estimates[i]));
    built_depend(&f.b, f.b.tasks->last, 0); /* 0, 2: 80 s; 1: 30 s */
    begin(&f, NULL, false);
    expect_block(&f, 0, 80, 24, "0s, about 1m 20s left: 0 of 3 done, 3 waiting\n");
    start(&f, 0, "0");
    start(&f, 0, "1");
    (void)tell_at(&f, 0, EV_TASK_LANDED, "1", 1, NULL);
    expect_block(&f, 10000, 80, 24,
                 "  0         running     10s\n"
                 "10s, about 1m 10s left: 1 of 3 done, 1 running, 1 waiting\n");
    expect_block(&f, 100000, 80, 24, /* later than estimated: what comes after it is left */
                 "  0         running     1m 40s\n"
                 "1m 40s, about 20s left: 1 of 3 done, 1 running, 1 waiting\n");
    drop(&f);
}

static void tasks_that_are_not_wanted_do_not_count(void **state)
{
    (void)state;
    struct fixture f = {0};
    const bool wanted[] = {false, true, false};
    built_init(&f.b);
    for (size_t i = 0; i < 3; i++)
        built_put(&f.b, built_task(&f.b), "estimate", built_text(&f.b, i == 1 ? "10s" : "9m"));
    built_depend(&f.b, f.b.tasks->last, 1);
    begin(&f, wanted, false);
    expect_block(&f, 0, 80, 24, "0s, about 10s left: 0 of 1 done, 1 waiting\n");
    drop(&f);
}

/* Sizes */

static void what_does_not_fit_is_counted(void **state)
{
    (void)state;
    struct fixture f;
    begin_wide(&f, 5);
    static const char *const ids[] = {"0", "1", "2", "3", "4"};
    for (size_t i = 0; i < 5; i++)
        start(&f, 0, ids[i]);
    expect_block(&f, 0, 80, 5,
                 "  0         running     0s\n"
                 "  1         running     0s\n"
                 "  ... and 3 more\n"
                 "0s: 0 of 5 done, 5 running\n");
    expect_block(&f, 0, 80, 7,
                 "  0         running     0s\n"
                 "  1         running     0s\n"
                 "  2         running     0s\n"
                 "  3         running     0s\n"
                 "  4         running     0s\n"
                 "0s: 0 of 5 done, 5 running\n");
    expect_block(&f, 0, 80, 3, "  ... and 5 more\n0s: 0 of 5 done, 5 running\n");
    expect_block(&f, 0, 80, 2, "0s: 0 of 5 done, 5 running\n");
    expect_block(&f, 0, 80, 1, "0s: 0 of 5 done, 5 running\n");
    drop(&f);
}

static void no_line_reaches_the_last_column(void **state)
{
    (void)state;
    struct fixture f;
    begin_wide(&f, 1);
    start(&f, 0, "0");
    act(&f, 0, "0", "汉字汉字汉字汉字汉字");
    expect_block(&f, 0, 39, 24, /* three columns for the text: the second character needs two */
                 "  0         running     0s      汉...\n"
                 "0s: 0 of 1 done, 1 running\n");
    expect_block(&f, 0, 20, 24, "  0         runn...\n0s: 0 of 1 done,...\n");
    for (size_t columns = 1; columns < 60; columns++) {
        autobuf struct buf out = BUF_INIT;
        live_block(&f.l, START, columns, 24, &out);
        for (char *line = out.s, *end; (end = strchr(line, '\n')); line = end + 1) {
            size_t width = text_width(line, (size_t)(end - line));
            assert_true(width < columns || (columns == 1 && width == 1));
        }
    }
    drop(&f);
}

static void long_ids_leave_room(void **state)
{
    (void)state;
    struct fixture f = {0};
    built_init(&f.b);
    struct node *task = node_new(&f.b.arena, NODE_MAP, (struct pos){1, 1});
    built_put(&f.b, task, "id", built_text(&f.b, "a-task-with-quite-a-long-name"));
    built_put(&f.b, task, "prompt", built_text(&f.b, "do it"));
    node_append(f.b.tasks, task);
    begin(&f, NULL, false);
    start(&f, 0, "a-task-with-quite-a-long-name");
    act(&f, 0, "a-task-with-quite-a-long-name", "reading");
    expect_block(&f, 0, 45, 24,
                 "  a-task-with-qui  running     0s      re...\n"
                 "0s: 0 of 1 done, 1 running\n");
    expect_block(&f, 0, 120, 24,
                 "  a-task-with-quite-a-long-name  running     0s      reading\n"
                 "0s: 0 of 1 done, 1 running\n");
    drop(&f);
}

static void text_of_agents_is_harmless(void **state)
{
    (void)state;
    struct fixture f;
    begin_wide(&f, 1);
    start(&f, 0, "0");
    act(&f, 0, "0", "\033[2Jgone\nand more");
    expect_block(&f, 0, 80, 24,
                 "  0         running     0s      \\e[2Jgone\\nand more\n"
                 "0s: 0 of 1 done, 1 running\n");
    (void)tell_at(&f, 0, EV_TASK_FAILED, "0", 1, data_of(&f, "class", "\033]0;title\a"));
    assert_null(strchr(f.l.scroll.s, '\033'));
    drop(&f);
}

/* Drawing */

static void a_frame_replaces_the_last_one(void **state)
{
    (void)state;
    struct fixture f;
    begin_wide(&f, 2);
    expect_paint(&f, 0, 80, 24, "0s: 0 of 2 done, 2 waiting\n");
    expect_paint(&f, 900, 80, 24, ""); /* nothing has changed */
    start(&f, 1000, "0");
    expect_paint(&f, 1000, 80, 24,
                 "\033[1A\r\033[J"
                 "  0         running     0s\n"
                 "1s: 0 of 2 done, 1 running, 1 waiting\n");
    (void)tell_at(&f, 1500, EV_TASK_FAILED, "0", 1, data_of(&f, "class", "auth"));
    expect_paint(&f, 1500, 80, 24,
                 "\033[2A\r\033[J"
                 "00:00:01  0             failed: auth\n"
                 "1s: 0 of 2 done, 1 failed, 1 waiting\n");
    autobuf struct buf out = BUF_INIT;
    live_finish(&f.l, 80, 24, &out);
    assert_string_equal(out.s, "\033[1A\r\033[J");
    drop(&f);
}

static void lines_of_a_run_without_a_frame_are_kept(void **state)
{
    (void)state;
    struct fixture f;
    autobuf struct buf out = BUF_INIT;
    begin_wide(&f, 1);
    (void)tell_at(&f, 0, EV_TASK_FAILED, "0", 1, data_of(&f, "class", "auth"));
    live_finish(&f.l, 80, 24, &out);
    assert_string_equal(out.s, "00:00:00  0             failed: auth\n");
    drop(&f);
}

static void a_narrower_screen_has_wrapped_the_block(void **state)
{
    (void)state;
    struct fixture f;
    begin_wide(&f, 1);
    start(&f, 0, "0");
    expect_paint(&f, 0, 80, 24,
                 "  0         running     0s\n" /* 26 columns: two rows of 20 */
                 "0s: 0 of 1 done, 1 running\n");
    expect_paint(&f, 0, 20, 24,
                 "\033[4A\r\033[J"
                 "  0         runn...\n"
                 "0s: 0 of 1 done,...\n");
    expect_paint(&f, 0, 20, 2, /* never further up than the screen is high */
                 "\033[1A\r\033[J"
                 "0s: 0 of 1 done,...\n");
    drop(&f);
}

static void what_others_wrote_is_not_erased(void **state)
{
    (void)state;
    struct fixture f;
    begin_wide(&f, 1);
    expect_paint(&f, 0, 80, 24, "0s: 0 of 1 done, 1 waiting\n");
    live_forget(&f.l);
    expect_paint(&f, 0, 80, 24, "0s: 0 of 1 done, 1 waiting\n");
    drop(&f);
}

static void results_have_colours(void **state)
{
    (void)state;
    struct fixture f = {0};
    built_init(&f.b);
    (void)built_task(&f.b);
    (void)built_task(&f.b);
    begin(&f, NULL, true);
    (void)tell_at(&f, 0, EV_TASK_LANDED, "0", 1, data_of(&f, "base", "main"));
    (void)tell_at(&f, 0, EV_TASK_FAILED, "1", 1, data_of(&f, "class", "auth"));
    expect_paint(&f, 0, 80, 24,
                 "\033[32m00:00:00  0              on main\033[0m\n"
                 "\033[31m00:00:00  1             failed: auth\033[0m\n"
                 "\033[2m0s: 1 of 2 done, 1 failed\033[0m\n");
    drop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_takes_long_is_counted),
        cmocka_unit_test(limits_are_counted_down),
        cmocka_unit_test(a_task_goes_through_its_states),
        cmocka_unit_test(what_went_wrong_is_counted),
        cmocka_unit_test(a_retry_says_when_and_why),
        cmocka_unit_test(a_read_only_task_ends_without_landing),
        cmocka_unit_test(usage_is_summed_over_attempts),
        cmocka_unit_test(estimates_tell_the_time_left),
        cmocka_unit_test(tasks_that_are_not_wanted_do_not_count),
        cmocka_unit_test(what_does_not_fit_is_counted),
        cmocka_unit_test(no_line_reaches_the_last_column),
        cmocka_unit_test(long_ids_leave_room),
        cmocka_unit_test(text_of_agents_is_harmless),
        cmocka_unit_test(a_frame_replaces_the_last_one),
        cmocka_unit_test(lines_of_a_run_without_a_frame_are_kept),
        cmocka_unit_test(a_narrower_screen_has_wrapped_the_block),
        cmocka_unit_test(what_others_wrote_is_not_erased),
        cmocka_unit_test(results_have_colours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
