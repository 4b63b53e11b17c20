/*
 * Ends an attempt: in success, in failure or in a conflict. After a failure, we salvage the work
 * first.
 */
#ifndef RUN_ATTEMPT_END_H
#define RUN_ATTEMPT_END_H

struct action;
struct attempt;
struct engine_event;
struct run;

/* These carry out actions of the engine. */
void do_save(struct run *run, const struct action *a, const struct engine_event *ev);
void do_leave_conflict(struct run *run, const struct action *a, const struct engine_event *ev);
void do_fail_conflict(struct run *run, const struct action *a, const struct engine_event *ev);
void do_end_unlanded(struct run *run, const struct action *a, const struct engine_event *ev);

/* The commit is in the tip: salvages the rest of the workspace and removes the workspace, while the
 * attempt waits for the base to have the commit. attempt_drop_branches() deletes the branch. */
void attempt_leave(struct attempt *attempt);
void attempt_landed(struct attempt *attempt); /* the base has the commit */
void attempt_drop_branches(struct run *run);

/* Ends the attempt without a result: salvages its work with the reason `why` and removes its
 * workspace. Then the task may start again. */
void attempt_discard(struct attempt *attempt, const char *why);
void attempt_tidy(struct attempt *attempt); /* removes the workspace of a task that ended well */

#endif
