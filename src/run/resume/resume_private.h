/*
 * What the engine and the files of resuming share.
 */
#ifndef RUN_RESUME_RESUME_PRIVATE_H
#define RUN_RESUME_RESUME_PRIVATE_H

#include "run/resume/decide.h"
#include "run/run_private.h"

/* decide.c */
void resume_free(struct resume *resume);

/* The workspace that a task had, as far as it is there; to be released. */
void resume_workspace(const struct run *run, const char *id, const struct evidence_task *past,
                      struct workspace *ws);

/* Whether there is something of its workspace, or its branch. */
bool resume_has_leftovers(const struct run *run, const struct evidence_task *past);

/* Whether it is all there. */
bool resume_is_whole(const struct run *run, const struct evidence_task *past);

/* Whether a person has begun something in it that git keeps notes of. */
bool resume_is_worked_in(const struct run *run, const struct evidence_task *past);

/* Whether the machine was started anew since it was at work there: what was written last may not
 * have come to the disk. What rests since its run was stopped has. */
bool resume_was_restarted(const struct run *run, const struct evidence_task *past);

bool resume_has_landed(const struct evidence *past, const struct evidence_task *p);

const char *resume_commit(const struct evidence_task *past); /* what is to land */

/* run/rework/one_task.c: one task, because a person wants it to go on. Decides what becomes of it,
 * when all has been decided as if it were not for it; then writes that down, and puts it on its
 * way. */
int resume_one_decide(struct run *run, const struct resume_options *opts, struct err *err);
void resume_one_go(struct run *run, uint32_t task);

/* write_down.c: in place of what a new run begins with, what is true is written down. */
int resume_begin(struct run *run, struct err *err);

/* Makes a text of a task another one, or NULL, also where it is shown. */
void resume_set(char **slot, const char **shown, const char *value);

/* Nothing of what a task had counts any more; its attempts and what they cost do. */
void resume_forget(struct task_run *tr);

/* restart.c: the last attempt of a task as a job, with what is there of its workspace. */
struct attempt *resume_reopen(struct run *run, uint32_t task);
/* The same, where the past is not that of a resume. */
struct attempt *resume_reopen_as(struct run *run, uint32_t task, const struct evidence_task *past);

/* When the loop and the observers are there, each task is put on its way. */
void resume_go(struct run *run);

#endif
