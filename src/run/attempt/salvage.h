/*
 * Salvages the work of an attempt before its workspace is removed. The functions return false after
 * an error, which they report: the workspace must stay.
 */
#ifndef RUN_ATTEMPT_SALVAGE_H
#define RUN_ATTEMPT_SALVAGE_H

#include <stdbool.h>

struct attempt;
struct run;

bool attempt_salvage(struct attempt *attempt);      /* everything in the workspace */
bool attempt_salvage_rest(struct attempt *attempt); /* everything that did not land */
bool attempt_salvage_commit(struct attempt *attempt,
                            const char *commit); /* this commit, if the work tree is gone */

/* Saves the changes since `start`. `why` goes into the commit message. */
bool attempt_salvage_since(struct attempt *attempt, const char *start, const char *why);

/* An unused ref for the salvaged work of an attempt. An engine that died may have salvaged the
 * attempt before. */
char *salvage_ref(const struct run *run, const char *id, int number);

#endif
