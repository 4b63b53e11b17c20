#include "cli/top/top.h"

#include "base/mem.h"
#include "cli/frame/color.h"
#include "cli/top/paint.h"
#include "git/state_paths.h"
#include "sys/clock.h"

#include <signal.h>
#include <string.h>

enum { TICK_MS = 200, FILES_MS = 1000, DIFF_MS = 2000, MEETINGS_MS = 3000, FILES_AT_ONCE = 8 };

static void update_log(struct top *top)
{
    struct screen *s = &top->screen;
    const struct board_task *t = &top->feed.board.tasks[s->task];
    if (top->log_task != (int64_t)s->task || top->log_attempt != t->attempt) {
        log_tail_close(&top->log);
        screen_text_clear(&s->text);
        top->log_task = s->task;
        top->log_attempt = t->attempt;
        if (!t->attempt)
            return;
        autofree char *path = attempt_file_path(top->feed.dir, t->id, t->attempt, "out");
        log_tail_open(&top->log, top->feed.dir, path, t->engine);
    }
    (void)log_tail_more(&top->log, &s->text);
}

static void clear_log(struct top *top)
{
    if (top->log_task >= 0)
        screen_text_clear(&top->screen.text);
    log_tail_close(&top->log);
    top->log_task = -1;
}

/* We refresh the diff of a running task again and again, the diff of an ended task only once. */
static void update_diff(struct top *top, int64_t now)
{
    struct screen *s = &top->screen;
    bool is_new = top->diff_task != (int64_t)s->task;
    bool is_over = board_is_over(top->feed.board.tasks[s->task].state);
    clear_log(top);
    if (!is_new && (is_over || now - top->diff_at < DIFF_MS || git_questions_is_busy(top->git)))
        return;
    if (is_new)
        screen_text_clear(&s->text);
    top->diff_task = s->task;
    top->diff_at = now;
    git_questions_diff(top->git, s->task, &s->text);
}

static void clear_diff(struct top *top)
{
    if (top->diff_task >= 0)
        screen_text_clear(&top->screen.text);
    git_questions_forget_diff(top->git);
    top->diff_task = -1;
}

static void update_text(struct top *top, int64_t now)
{
    const struct screen *s = &top->screen;
    bool task = s->kind == SCREEN_TASK && s->shown;
    if (!task || s->part != PART_DIFF)
        clear_diff(top);
    if (task && s->part == PART_LOG)
        update_log(top);
    else if (task && s->part == PART_DIFF)
        update_diff(top, now);
    else
        clear_log(top);
}

/* The file count of an ended task does not change, so we ask for it only once. */
static void update_file_counts(struct top *top, int64_t now)
{
    struct board *b = &top->feed.board;
    size_t requested = 0;
    if (now - top->files_at < FILES_MS || git_questions_is_busy(top->git))
        return;
    top->files_at = now;
    for (uint32_t t = 0; t < b->n && requested < FILES_AT_ONCE; t++) {
        const struct board_task *bt = &b->tasks[t];
        bool busy = bt->state == TASK_RUNNING;
        if (bt->wanted && (busy || (bt->files < 0 && bt->commit))) {
            git_questions_files(top->git, t);
            requested++;
        }
    }
}

static void update_conflicts(struct top *top, int64_t now)
{
    if (top->screen.kind != SCREEN_CONFLICTS || git_questions_is_busy(top->git) ||
        (top->meetings_at && now - top->meetings_at < MEETINGS_MS))
        return;
    top->meetings_at = now;
    git_questions_meetings(top->git);
}

static void draw_screen(struct top *top)
{
    struct screen *s = &top->screen;
    autocanvas struct canvas c;
    size_t columns, rows;
    paint_size(&columns, &rows);
    screen_size(s, columns, rows);
    s->now = clock_wall();
    canvas_init(&c, columns);
    screen_draw(s, &c);
    paint_show(&c);
}

static void update_screen_data(struct top *top)
{
    int64_t now = clock_mono();
    update_text(top, now);
    if (top->look->repo.common) {
        update_file_counts(top, now);
        update_conflicts(top, now);
    }
}

static void poll_feed(struct top *top)
{
    bool news;
    if (board_feed_poll(&top->feed, &news, &top->err)) {
        loop_stop(top->loop);
        return;
    }
    if (news)
        screen_arrange(&top->screen);
}

/* We redraw on every tick, because times change even if nothing happens. ncurses writes only the
 * differences. */
static void on_tick(void *ctx)
{
    struct top *top = ctx;
    watch_again(top->tick, TICK_MS);
    poll_feed(top);
    update_screen_data(top);
    draw_screen(top);
}

static void on_keys(void *ctx)
{
    struct top *top = ctx;
    for (int key; (key = paint_key());) {
        struct screen_wish wish = screen_key(&top->screen, key);
        if (wish.kind)
            top_wish(top, &wish);
    }
    poll_feed(top);
    update_screen_data(top);
    draw_screen(top);
}

static void on_resize(void *ctx)
{
    draw_screen(ctx);
}

static void on_interrupt(void *ctx)
{
    struct top *top = ctx;
    loop_stop(top->loop);
}

/* We show new results before the next tick. */
static void on_changed(void *ctx)
{
    draw_screen(ctx);
}

static int run_loop(struct top *top, struct err *err)
{
    if (paint_open(color_wanted(stdout), err))
        return -1;
    top->tick = loop_timer(top->loop, 0, on_tick, top);
    struct watch *watches[] = {
        top->tick,
        loop_readable(top->loop, STDIN_FILENO, on_keys, top),
        loop_signal(top->loop, SIGWINCH, on_resize, top),
        loop_signal(top->loop, SIGINT, on_interrupt, top),
    };
    int rc = loop_run(top->loop, err);
    for (size_t i = 0; i < ARRAY_LEN(watches); i++)
        watch_free(watches[i]);
    paint_close();
    return rc || top->err.code ? -1 : 0;
}

int top_show(struct lookup *look, const char *run)
{
    struct top top = {.look = look, .log_task = -1, .diff_task = -1, .log = {.fd = -1}};
    struct err err = {0};
    if (board_feed_open(&top.feed, look->store, look->state_dir, run, &err)) {
        board_feed_close(&top.feed);
        return cli_fail_by(&err);
    }
    top.loop = loop_new();
    screen_init(&top.screen, &top.feed.board);
    top.git =
        git_questions_new(top.loop, &top.feed.board, &look->repo, top.feed.dir, on_changed, &top);
    top.feed.board.meetings.known = !look->repo.common; /* without a repository we cannot ask git */
    int rc = run_loop(&top, &err);
    if (rc && top.err.code)
        err = top.err;
    log_tail_close(&top.log);
    git_questions_free(top.git);
    screen_done(&top.screen);
    loop_free(top.loop);
    board_feed_close(&top.feed);
    return rc ? cli_fail_by(&err) : EXIT_OK;
}
