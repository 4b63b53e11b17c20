/*
 * What the engine and the files of resuming share.
 */
#ifndef RUN_RESUME_PRIVATE_H
#define RUN_RESUME_PRIVATE_H

#include "run/resume.h"
#include "run/run_private.h"

/* resume.c */
void resume_free(struct resume *resume);

/* The workspace that a task had, as far as it is there; to be released. */
void resume_workspace(const struct run *run, const char *id, const struct past_task *past,
                      struct workspace *ws);

/* Whether there is something of its workspace, or its branch. */
bool resume_has_leftovers(const struct run *run, const struct past_task *past);

const char *resume_commit(const struct past_task *past); /* what is to land */

/* resume_begin.c: in place of what a new run begins with, what is true is written down. */
int resume_begin(struct run *run, struct err *err);

/* Makes a text of a task another one, or NULL, also where it is shown. */
void resume_set(char **slot, const char **shown, const char *value);

/* resume_go.c: when the loop and the observers are there, each task is put on its way. */
void resume_go(struct run *run);

#endif
