/*
 * struct git_look: what git knows of the tasks on a board, asked beside all else, one question
 * after the other: which files a task has changed, how, and who would conflict with whom. Where
 * agents are at work nothing is believed or changed: no hook, no lock, no object.
 */
#ifndef VIEW_DASHBOARD_GIT_QUESTIONS_H
#define VIEW_DASHBOARD_GIT_QUESTIONS_H

#include "git/git.h"
#include "sys/proc/loop.h"
#include "view/dashboard/board.h"
#include "view/dashboard/screens/screen.h"

struct git_look;

/* run_dir: the run's folder, in which there may be a scratch folder. changed is called when
 * something on the board, or a text, is another. */
struct git_look *git_questions_new(struct loop *loop, struct board *board,
                                   const struct git_repo *repo, const char *run_dir,
                                   void (*changed)(void *ctx), void *ctx);
void git_questions_free(struct git_look *g);

/* Counts the files that a task has changed. */
void git_questions_files(struct git_look *g, uint32_t task);

/* Puts what a task has changed into the text, in place of what was there. Who was asked for last
 * wins. */
void git_questions_diff(struct git_look *g, uint32_t task, struct screen_text *to);
void git_questions_forget_diff(struct git_look *g); /* nobody wants it any more */

void git_questions_meetings(struct git_look *g);

bool git_questions_is_busy(const struct git_look *g);

#endif
