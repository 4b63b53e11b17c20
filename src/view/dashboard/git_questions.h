/*
 * struct git_look: answers from git about the tasks on a board, one question after the other, in
 * the background: which files a task has changed and how, and which tasks conflict. We neither
 * trust nor change the worktrees of running agents: no hooks, no locks, no objects.
 */
#ifndef VIEW_DASHBOARD_GIT_QUESTIONS_H
#define VIEW_DASHBOARD_GIT_QUESTIONS_H

#include "git/git.h"
#include "sys/proc/loop.h"
#include "view/dashboard/board.h"
#include "view/dashboard/screens/screen.h"

struct git_look;

/* run_dir: the run's folder; we may make a scratch folder in it. `changed` is called when the
 * board or a text has changed. */
struct git_look *git_questions_new(struct loop *loop, struct board *board,
                                   const struct git_repo *repo, const char *run_dir,
                                   void (*changed)(void *ctx), void *ctx);
void git_questions_free(struct git_look *g);

/* Counts the files that a task has changed. */
void git_questions_files(struct git_look *g, uint32_t task);

/* Replaces the text by the diff of a task. A later call wins. */
void git_questions_diff(struct git_look *g, uint32_t task, struct screen_text *to);
void git_questions_forget_diff(struct git_look *g); /* stops the diff */

void git_questions_meetings(struct git_look *g);

bool git_questions_is_busy(const struct git_look *g);

#endif
