/*
 * Functions of src/run/resume that the rest of src/run uses.
 */
#ifndef RUN_RESUME_RESUME_PRIVATE_H
#define RUN_RESUME_RESUME_PRIVATE_H

#include "base/err.h"
#include "run/resume/decide.h"
#include "workspace/workspace.h"

#include <stdbool.h>
#include <stdint.h>

struct attempt;

/* decide.c */
void resume_free(struct resume *resume);

/* Describes what is left of a task's workspace; to be released. */
void resume_workspace(const struct run *run, const char *id, const struct evidence_task *past,
                      struct workspace *ws);

/* True if the branch or a part of the workspace is left. */
bool resume_has_leftovers(const struct run *run, const struct evidence_task *past);

/* True if the workspace is complete. */
bool resume_is_whole(const struct run *run, const struct evidence_task *past);

/* True if somebody has an unfinished merge, rebase or cherry-pick in the workspace. */
bool resume_is_worked_in(const struct run *run, const struct evidence_task *past);

/* True if the machine rebooted since the task was running: its last writes may not be on disk. If
 * the run stopped cleanly while the task was parked, they are. */
bool resume_was_restarted(const struct run *run, const struct evidence_task *past);

bool resume_has_landed(const struct evidence *past, const struct evidence_task *p);

const char *resume_commit(const struct evidence_task *past); /* the commit to land */

/* run/rework/one_task.c: resumes one task for a person. Decides how, after all tasks have been
 * decided as usual; then records that and makes the task wait for its turn. */
int resume_one_decide(struct run *run, const struct resume_options *opts, struct err *err);
void resume_one_go(struct run *run, uint32_t task);

/* write_down.c: records the state of the resumed run, where a new run would record its beginning.
 */
int resume_begin(struct run *run, struct err *err);

/* Resets a task to its start; keeps the number and the cost of its attempts. */
void resume_forget(struct run *run, uint32_t task);

/* restart.c: creates the last attempt of a task again, with what is left of its workspace. */
struct attempt *resume_reopen(struct run *run, uint32_t task);
/* The same for other evidence than that of the resume. */
struct attempt *resume_reopen_as(struct run *run, uint32_t task, const struct evidence_task *past);

/* Records a landing that the dead engine did not record. */
void resume_record_found(struct run *run, uint32_t task);

/* Continues each task as decided, once loop and observers exist. */
void resume_go(struct run *run);

#endif
