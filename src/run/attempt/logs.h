/*
 * Logs beside the run's own folder, where the user wants them: <id>-stdout.log and <id>-stderr.log,
 * for us alone, without secrets.
 */
#ifndef RUN_ATTEMPT_LOGS_H
#define RUN_ATTEMPT_LOGS_H

#include "run/run_private.h"

/* In the user's folder, where there is one: begins the files of an agent that has just started,
 * anew for the first attempt of a task; adds what it has printed since; adds the rest. What cannot
 * be written is told, and is no failure of the task. */
void logs_begin(struct attempt *job);
void logs_more(struct attempt *job);
void logs_end(struct attempt *job); /* nothing where they have not begun */

/* Takes the secrets out of what the commands of an attempt, in that folder, have printed. They must
 * have ended. What cannot be written is told. */
void logs_mask(struct run *run, const char *dir);

/* The same for all attempts of a run that is gone on with: its engine may have died before. */
void logs_mask_all(struct run *run);

/* Appends a text, masked, each of its lines harmless and with a line end. */
void logs_shown(const struct run *run, const char *s, size_t len, struct buf *out);

/* Appends the last lines that explain a failure: of the verification, of the setup, or of the
 * agent. Masked, each harmless and with a line end. */
void logs_explain(const struct attempt *job, enum failure failure, struct buf *out);

/* At the end of a run that is to keep no logs: takes away those of tasks that succeeded. */
void logs_discard(struct run *run);

#endif
