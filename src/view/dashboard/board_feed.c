#include "view/dashboard/board_feed.h"

#include "base/mem.h"
#include "doc/doc.h"
#include "git/state_paths.h"
#include "sys/guard/proc_table.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { DEFAULT_WORKERS = 3 };

static bool apply_event(void *ctx, const struct store_event *row)
{
    struct board_feed *f = ctx;
    autoarena struct arena a = {0};
    struct event ev = {.seq = row->seq,
                       .time = row->time,
                       .kind = event_find(row->name),
                       .run = f->run,
                       .task = row->task,
                       .attempt = row->attempt};
    f->seq = row->seq;
    if (row->data)
        ev.data = doc_read_line(&a, row->data, strlen(row->data));
    if (ev.kind < EV_COUNT_)
        board_event(&f->board, &ev);
    return true;
}

static bool apply_row(void *ctx, const struct store_task *row)
{
    struct board_feed *f = ctx;
    board_row(&f->board, row);
    return true;
}

/* As in a report: a run whose process is gone before its end was interrupted. */
static void show_run(struct board_feed *f, const struct store_run *row)
{
    struct board *b = &f->board;
    bool running = strcmp(row->state, "running") == 0;
    bool alive = row->pid_start && proc_table_start((pid_t)row->pid) == row->pid_start;
    b->live = running && alive;
    b->started = row->started;
    b->finished = row->finished;
    free(b->base);
    b->base = row->base ? mem_str(row->base) : NULL;
    (void)snprintf(b->state, sizeof(b->state), "%s",
                   running && !alive ? "interrupted" : row->state);
}

static int read_run(struct board_feed *f, struct err *err)
{
    autoarena struct arena a = {0};
    struct store_run row;
    int rc = store_find_run(f->store, f->run, &a, &row, err);
    if (rc == 0 && row.id)
        show_run(f, &row);
    return rc;
}

int board_feed_poll(struct board_feed *f, bool *ret_news, struct err *err)
{
    int64_t before = f->seq;
    bool live = f->board.live;
    if (store_each_event(f->store, f->run, f->seq, apply_event, f, err) || read_run(f, err))
        return -1;
    *ret_news = f->seq != before || live != f->board.live;
    if (*ret_news && store_each_task(f->store, f->run, apply_row, f, err))
        return -1;
    board_settle(&f->board);
    return 0;
}

static void apply_selection(struct board_feed *f)
{
    autofree bool *wanted = mem_array(f->board.n, sizeof(*wanted));
    if (!f->saved.only.n)
        return;
    for (size_t i = 0; i < f->saved.only.n; i++) {
        const struct task *t = plan_find(&f->pf.plan, f->saved.only.v[i]);
        if (t)
            wanted[t->index] = true;
    }
    board_want(&f->board, wanted);
}

int board_feed_open(struct board_feed *f, struct store *store, const char *state_dir,
                    const char *run, struct err *err)
{
    autoproblems struct problems ps;
    bool news;
    *f = (struct board_feed){.store = store};
    f->run = mem_str(run);
    f->dir = run_path(state_dir, run);
    problems_init(&ps, "plan.json");
    if (run_folder_load(&f->saved, f->dir, err))
        return -1;
    if (run_folder_plan(&f->saved, f->dir, &f->pf, &ps))
        return err_set(err, ERR_INPUT, "cannot read the saved plan of run %s", run);
    board_init(&f->board, &f->pf.plan, &f->pf.graph, f->run);
    f->open = true;
    size_t workers = f->saved.options.workers;
    f->board.workers = workers                ? (int64_t)workers
                       : f->board.workers > 0 ? f->board.workers
                                              : DEFAULT_WORKERS;
    apply_selection(f);
    return board_feed_poll(f, &news, err);
}

void board_feed_close(struct board_feed *f)
{
    if (f->open)
        board_done(&f->board);
    plan_file_close(&f->pf);
    run_folder_done(&f->saved);
    free(f->run);
    free(f->dir);
}
