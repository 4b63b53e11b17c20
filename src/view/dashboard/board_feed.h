/*
 * struct board_feed: fills a board from the store, and keeps it up to date with a run that another
 * process carries out.
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
    struct plan_file pf; /* as the run has it */
    struct board board;
    int64_t seq; /* of the last event that was taken */
    bool open;
};

/* ERR_INPUT where the run's folder is gone, or there is no such run. To be released in every case.
 */
int board_feed_open(struct board_feed *f, struct store *store, const char *state_dir,
                    const char *run, struct err *err);
void board_feed_close(struct board_feed *f);

/* Takes what is new; *ret_news is whether anything is. */
int board_feed_poll(struct board_feed *f, bool *ret_news, struct err *err);

#endif
