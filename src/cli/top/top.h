/*
 * The dashboard on the terminal. It follows a run through the store and the logs, and sends the
 * user's requests to the run.
 */
#ifndef CLI_TOP_TOP_H
#define CLI_TOP_TOP_H

#include "base/node/node.h"
#include "cli/common/lookup.h"
#include "sys/proc/loop.h"
#include "view/dashboard/board_feed.h"
#include "view/dashboard/git_questions.h"
#include "view/dashboard/log_tail.h"

struct top {
    struct lookup *look;
    struct board_feed feed;
    struct screen screen;
    struct loop *loop;
    struct watch *tick;
    struct git_look *git;
    struct log_tail log;
    int64_t log_task; /* the task and attempt of the open log; -1: none */
    int log_attempt;
    int64_t diff_task, diff_at;
    int64_t files_at, meetings_at; /* time of the last request; monotonic ms */
    struct err err;
};

/* Shows the run until the user leaves. Exit codes as in cli/common/lookup.h. */
int top_show(struct lookup *look, const char *run);

/* Carries out an action of the user, in top_actions.c. */
void top_wish(struct top *top, const struct screen_wish *wish);

#endif
