/*
 * struct board_feed: fills a board from the store, and keeps it up to date while another process
 * executes the run.
 */
#ifndef VIEW_DASHBOARD_BOARD_FEED_H
#define VIEW_DASHBOARD_BOARD_FEED_H

#include "project/plan_file.h"
#include "run/state/run_folder.h"
#include "view/dashboard/board.h"

struct board_feed {
    struct store *store; /* not owned */
    char *run, *dir;     /* its id and its folder */
    struct run_folder saved;
    struct plan_file pf; /* the plan as the run executes it */
    struct board board;
    int64_t seq; /* the last event that was read */
    bool open;
};

/* ERR_INPUT if the run or its folder does not exist. Close it also after a failure. */
int board_feed_open(struct board_feed *f, struct store *store, const char *state_dir,
                    const char *run, struct err *err);
void board_feed_close(struct board_feed *f);

/* Reads new events; *ret_news: there were some. */
int board_feed_poll(struct board_feed *f, bool *ret_news, struct err *err);

#endif
